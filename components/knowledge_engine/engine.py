"""LangBot's side: engines that only map. One class does the work, the others fix its backend."""

from typing import TYPE_CHECKING, Any, ClassVar, cast

from langbot_plugin.api.definition.components.knowledge_engine import KnowledgeEngine
from langbot_plugin.api.entities.builtin.rag import (
    DocumentStatus,
    IngestionContext,
    IngestionResult,
    RetrievalContext,
    RetrievalResponse,
)

from console import run

if TYPE_CHECKING:
    from main import KnowledgeBridge

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
        self._own.takes_connections = not self.backend

    async def retrieve(self, context: RetrievalContext) -> RetrievalResponse:
        """See `console.run.search`; the call is noted in the journal, however it ends."""
        return await run.search(self._own, context, self.backend)

    async def on_knowledge_base_create(self, kb_id: str, config: dict[str, Any]) -> None:
        """Refuse settings that can't be used; with `check_on_save` also those that a real search fails with."""
        await run.created(self._own, kb_id, config, self.backend)

    async def on_knowledge_base_delete(self, kb_id: str) -> None:
        """Forget what it stood on."""
        await run.deleted(self._own, kb_id)

    async def ingest(self, context: IngestionContext) -> IngestionResult:
        """Refuse with one clear sentence."""
        return IngestionResult(
            document_id=context.file_object.metadata.document_id, status=DocumentStatus.FAILED, error_message=READ_ONLY
        )

    async def delete_document(self, kb_id: str, document_id: str) -> bool:  # noqa: ARG002
        """Nothing is deleted."""
        return False

    @property
    def _own(self) -> "KnowledgeBridge":
        return cast("KnowledgeBridge", self.plugin)


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
