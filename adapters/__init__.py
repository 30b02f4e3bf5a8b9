"""From LangBot's retrieval context to its retrieval response: the whole path, for every service.

context -> load_backend -> Question -> backend.search -> results.response
"""

import logging
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse
from pydantic import ValidationError

from adapters.anything_llm import AnythingLLM
from adapters.backend import CHOOSING, Backend
from adapters.dify import Dify
from adapters.external_knowledge import ExternalKnowledge
from adapters.fastgpt import FastGPT
from adapters.jinba import Jinba
from adapters.ragflow import RAGFlow
from adapters.weknora import WeKnora
from bridge import results
from bridge.datasets import Dataset
from bridge.errors import BridgeError, SettingsError
from bridge.hits import in_pieces
from bridge.http import Access, Network, Pool
from bridge.settings import problems_of
from bridge.values import counted

__all__ = [
    "BACKENDS",
    "Access",
    "Backend",
    "BridgeError",
    "Dataset",
    "Network",
    "Pool",
    "list_datasets",
    "load_backend",
    "retrieve",
]

log = logging.getLogger(__name__)

CORRECT = "Correct this setting"
"""What to do about settings that can't be used, wherever they stand: in a knowledge base, a connection, a command line."""

BACKENDS: dict[str, type[Backend]] = {
    "dify": Dify,
    "ragflow": RAGFlow,
    "fastgpt": FastGPT,
    "jinba": Jinba,
    "external_knowledge": ExternalKnowledge,
    "anything_llm": AnythingLLM,
    "weknora": WeKnora,
}
"""Every service by the word that settings use for it."""


async def retrieve(context: RetrievalContext, pool: Pool | Access) -> RetrievalResponse:
    """Search the service that the context's settings name.

    At most `top_k` entries with unique ids, finite numbers and `metadata.document_name`; none only where the service
    found none (or the query is blank). Every failure is a BridgeError, logged here once.
    """
    try:
        backend = load_backend(context.creation_settings, context.retrieval_settings)
        question = backend.question(context.query, context.filters)
        if not question.text:
            return results.response([], backend.options)
        async with Access.to(pool).open(backend, question.asked) as http:
            try:
                hits = await in_pieces(question, lambda piece: backend.search(piece, http), http)
            except BridgeError as error:
                raise await backend.explain(http.placed(error), http) from None
            kept = backend.kept(question, hits)
    except BridgeError as error:
        log.warning("knowledge base %s: %s", context.knowledge_base_id, error)
        raise
    if told := question.told(backend.product):
        http.note(told)
    if len(kept) < len(hits):
        http.note(
            f"{counted(len(hits) - len(kept), 'passage')} that {backend.product} returned did not match the filters"
        )
    response = results.response(kept, backend.options, http.notes, http.unread)
    for note in response.metadata.get("notes", ()):
        log.info("knowledge base %s: %s: %s", context.knowledge_base_id, http.where, note)
    response.metadata |= {"service": http.where, "version": http.version, "tries": http.tries}
    return response


async def list_datasets(
    creation: dict[str, Any], retrieval: dict[str, Any], pool: Pool | Access
) -> tuple[list[Dataset], list[str]]:
    """What the key of these settings may read, and notes about the list; `dataset_id` isn't looked at.

    Raises BridgeError: SettingsError also where the service has no list.
    """
    backend = load_backend({**creation, "dataset_id": ()}, retrieval, choosing=True)
    async with Access.to(pool).open(backend) as http:
        return await backend.datasets(http), http.notes


def load_backend(creation: dict[str, Any], retrieval: dict[str, Any], *, choosing: bool = False) -> Backend:
    """The backend that the settings describe; SettingsError names the setting that can't be used, without its value.

    `choosing` is for listing datasets: all settings count but the dataset, and the service must have a list.
    """
    tag = str(creation.get("backend") or "").strip().lower()
    if tag not in BACKENDS:
        raise SettingsError("backend is not known", f"Set it to one of: {', '.join(BACKENDS)}")
    model = BACKENDS[tag]
    if choosing and not model.lists:
        raise model.unlisted()
    settings = {**creation, "backend": tag, "options": retrieval}
    try:
        return model.model_validate(settings, context=CHOOSING if choosing else None)
    except ValidationError as error:
        raise SettingsError(problems_of(error), CORRECT).at(f"{model.product} settings") from None
