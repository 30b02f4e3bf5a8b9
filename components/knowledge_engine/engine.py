"""LangBot's side: engines that only map. One class does the work, the others fix its backend."""

import time
from typing import TYPE_CHECKING, Any, ClassVar, cast

from langbot_plugin.api.definition.components.knowledge_engine import KnowledgeEngine
from langbot_plugin.api.entities.builtin.rag import (
    DocumentStatus,
    IngestionContext,
    IngestionResult,
    RetrievalContext,
    RetrievalResponse,
)

from adapters import load_backend, retrieve
from adapters.check import PROBE

if TYPE_CHECKING:
    from main import KnowledgeBridge

CONNECTION = "connection"
"""As `backend`: the settings are those of the connection that `connection` names."""
READ_ONLY = "This knowledge base is read-only: add and remove documents in the service itself."


class RemoteEngine(KnowledgeEngine):
    """Searches the service that a knowledge base's `backend` setting names. Keeps nothing between calls."""

    backend: ClassVar[str] = ""

    @classmethod
    def get_capabilities(cls) -> list[str]:
        """No documents can be put in."""
        return []

    async def initialize(self) -> None:
        """Tell the plugin's page which kind of engine it stands beside."""
        cast("KnowledgeBridge", self.plugin).takes_connections = not self.backend

    async def retrieve(self, context: RetrievalContext) -> RetrievalResponse:
        """See `adapters.retrieve`; the call is noted in the journal, however it ends."""
        plugin = cast("KnowledgeBridge", self.plugin)
        started = time.monotonic()
        outcome: RetrievalResponse | BaseException
        try:
            creation = await self._settings(context.creation_settings)
            outcome = await retrieve(context.model_copy(update={"creation_settings": creation}), plugin.access())
        except BaseException as error:
            outcome = error
            if (connection := self._connection(context.creation_settings)) is not None:
                plugin.connections.doubt(plugin, connection)
            raise
        finally:
            plugin.journal.add(plugin.tenant, context, started, outcome)
        return outcome

    async def on_knowledge_base_create(self, kb_id: str, config: dict[str, Any]) -> None:
        """Refuse settings that can't be used; with `check_on_save` also those that a real search fails with."""
        creation = await self._settings(config)
        if load_backend({**creation, "check_on_save": config.get("check_on_save")}, {}).check_on_save:
            await self.retrieve(
                RetrievalContext(
                    query=PROBE, knowledge_base_id=kb_id, creation_settings=config, retrieval_settings={"top_k": 1}
                )
            )

    async def ingest(self, context: IngestionContext) -> IngestionResult:
        """Refuse with one clear sentence."""
        return IngestionResult(
            document_id=context.file_object.metadata.document_id, status=DocumentStatus.FAILED, error_message=READ_ONLY
        )

    async def delete_document(self, kb_id: str, document_id: str) -> bool:  # noqa: ARG002
        """Nothing is deleted."""
        return False

    async def _settings(self, creation: dict[str, Any]) -> dict[str, Any]:
        """The settings that count: the engine's backend, or those of the connection that is named."""
        if self.backend:
            return {**creation, "backend": self.backend}
        name = self._connection(creation)
        if name is None:
            return creation
        plugin = cast("KnowledgeBridge", self.plugin)
        return (await plugin.connections.current(plugin, name)).settings

    def _connection(self, creation: dict[str, Any]) -> str | None:
        """The name of the connection that these settings stand on, if they do."""
        on_one = not self.backend and creation.get("backend") == CONNECTION
        return str(creation.get("connection") or "") if on_one else None


class DifyEngine(RemoteEngine):
    """Searches Dify."""

    backend = "dify"


class RAGFlowEngine(RemoteEngine):
    """Searches RAGFlow."""

    backend = "ragflow"


class FastGPTEngine(RemoteEngine):
    """Searches FastGPT."""

    backend = "fastgpt"


class JinbaEngine(RemoteEngine):
    """Searches Jinba."""

    backend = "jinba"


class ExternalKnowledgeEngine(RemoteEngine):
    """Searches any server of the external knowledge API."""

    backend = "external_knowledge"


class AnythingLLMEngine(RemoteEngine):
    """Searches AnythingLLM."""

    backend = "anything_llm"


class WeKnoraEngine(RemoteEngine):
    """Searches WeKnora."""

    backend = "weknora"
