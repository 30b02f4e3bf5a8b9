"""The datasets of the imitated tenant and what RAGFlow tells about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sandbox.corpus import Document, Form, Passage
from sandbox.ids import hex32_of

TENANT = hex32_of("ragflow", "tenant")
RERANK_MODEL = "sandbox-rerank@local"

_NOTHING_SAID = (
    "avatar", "description", "graphrag_task_finish_at", "graphrag_task_id", "mindmap_task_finish_at", "mindmap_task_id",
    "pipeline_id", "raptor_task_finish_at", "raptor_task_id", "session_essence_task_finish_at",
    "session_essence_task_id", "session_graph_task_finish_at", "session_graph_task_id", "skill_task_finish_at",
    "skill_task_id", "structure_graph_task_finish_at", "structure_graph_task_id", "structure_mindmap_task_finish_at",
    "structure_mindmap_task_id", "structure_task_finish_at", "structure_task_id", "tenant_avatar", "tenant_embd_id",
    "timeline_task_finish_at", "timeline_task_id", "wiki_task_finish_at", "wiki_task_id",
)  # fmt: skip


@dataclass(frozen=True)
class Dataset:
    """One dataset; `forms` names the documents of the handbook that are in it."""

    name: str
    forms: frozenset[Form] = frozenset(Form)
    page_rank: int = 0
    embedding_model: str = "sandbox-embedding@local"
    has_graph: bool = False

    @property
    def id(self) -> str:
        return hex32_of("ragflow", self.name)

    def holds(self, passage: Passage) -> bool:
        return passage.document.form in self.forms

    def document_id(self, document: Document) -> str:
        return hex32_of("ragflow", self.name, document.name)


def tenant() -> dict[str, Dataset]:
    """Return every dataset by id."""
    datasets = (
        Dataset("handbook", has_graph=True),
        Dataset("handbook-ranked", page_rank=10),
        Dataset("handbook-other-model", embedding_model="sandbox-embedding-large@local"),
        Dataset("parents-and-children", forms=frozenset({Form.PARENT_CHILD})),
        Dataset("empty", forms=frozenset()),
    )
    return {dataset.id: dataset for dataset in datasets}


def details(dataset: Dataset, passages: Iterable[Passage]) -> dict[str, Any]:
    """Return what `GET /datasets` says of one; its threshold and weight don't count in a search."""
    held = [passage for passage in passages if dataset.holds(passage)]
    return dict.fromkeys(_NOTHING_SAID) | {
        "chunk_count": sum(len(passage.pieces) for passage in held),
        "chunk_method": "naive",
        "create_date": "2026-12-01T00:30:01",
        "create_time": 1796085001620,
        "created_by": TENANT,
        "document_count": len({passage.document for passage in held}),
        "embedding_model": dataset.embedding_model,
        "embedding_model_name": "",
        "id": dataset.id,
        "language": "English",
        "name": dataset.name,
        "nickname": "sandbox",
        "pagerank": dataset.page_rank,
        "parser_config": {"chunk_token_num": 512, "delimiter": "\n", "layout_recognize": "DeepDOC"},
        "permission": "me",
        "similarity_threshold": 0.2,
        "status": "1",
        "tenant_id": TENANT,
        "token_num": sum(len(passage.full_text) for passage in held),
        "update_date": "2026-12-01T00:30:03",
        "update_time": 1796085003551,
        "vector_similarity_weight": 0.3,
    }
