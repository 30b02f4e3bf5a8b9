"""The knowledge bases of the imitated workspace and what WeKnora tells about them."""

from dataclasses import dataclass, field
from typing import Any

from sandbox.corpus import Form, Passage
from sandbox.ids import uuid_of
from sandbox.weknora.errors import WeknoraError, inside

_CREATED_AT = "2026-12-01T00:08:46.161Z"
_PROVIDER_REFUSED = (
    'EmbedBatch API error: Http Status 401 Unauthorized, Response: {"error":{"message":"Incorrect API key provided"}}'
)


@dataclass(frozen=True)
class Base:
    """One knowledge base; `forms` names the documents of the handbook that are in it."""

    name: str
    forms: frozenset[Form] = frozenset(Form)
    has_vectors: bool = True
    has_words: bool = True
    model: str = field(default="sandbox-embedding")
    closed: WeknoraError | None = None
    """Why nobody gets in."""
    broken: WeknoraError | None = None
    """Why no search works."""

    @property
    def id(self) -> str:
        return uuid_of("weknora", self.name)

    def holds(self, passage: Passage) -> bool:
        return passage.document.form in self.forms


def workspace() -> dict[str, Base]:
    """Return every knowledge base by id, those that the key may not read included."""
    bases = (
        Base("handbook"),
        Base("empty", forms=frozenset()),
        Base("words", has_vectors=False, model=""),
        Base("vectors", has_words=False),
        Base("wiki", has_vectors=False, has_words=False, model=""),
        Base("other-model", model="another-embedding"),
        Base("outside", closed=inside(403, 1002, "API key scope does not allow one or more knowledge bases")),
        Base("foreign", closed=inside(403, 1002, "Permission denied to access this knowledge base")),
        Base("unsure", closed=inside(503, 1008, "cannot verify KB access right now")),
        Base("no-model", broken=inside(500, 1007, "model not found")),
        Base("no-provider", broken=inside(500, 1007, _PROVIDER_REFUSED)),
        Base("no-store", broken=inside(400, 2201, "vector store is currently unavailable")),
    )
    return {base.id: base for base in bases}


def told(base: Base, passages: tuple[Passage, ...]) -> dict[str, Any]:
    """Return a knowledge base as the routes for one and for all show it."""
    own = [passage for passage in passages if base.holds(passage)]
    return {
        "id": base.id,
        "name": base.name,
        "type": "document",
        "is_temporary": False,
        "description": "",
        "tenant_id": 10000,
        "embedding_model_id": uuid_of("weknora", base.model) if base.model else "",
        "indexing_strategy": {
            "vector_enabled": base.has_vectors,
            "keyword_enabled": base.has_words,
            "wiki_enabled": False,
            "graph_enabled": False,
        },
        "created_at": _CREATED_AT,
        "updated_at": _CREATED_AT,
        "knowledge_count": len({passage.document.name for passage in own}),
        "chunk_count": len(own),
        "is_processing": False,
        "processing_count": 0,
    }
