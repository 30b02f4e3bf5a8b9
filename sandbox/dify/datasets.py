"""The datasets of the imitated workspace and what Dify tells about them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from sandbox.corpus import Document, Form, Passage
from sandbox.dify.conditions import FIELDS
from sandbox.dify.payload import RetrievalModel, SearchMethod
from sandbox.ids import uuid_of

ACCOUNT = uuid_of("dify", "account")
CREATED_AT = 1796083440
MODEL_PROVIDER = "local/sandbox/sandbox"
EMBEDDING_MODEL = "sandbox-embedding"
RERANK_MODEL = "sandbox-rerank"

_DOC_FORMS = {
    Form.TEXT: "text_model",
    Form.QUESTION_ANSWER: "qa_model",
    Form.PARENT_CHILD: "hierarchical_model",
}


def plain_settings(method: SearchMethod, top_k: int) -> dict[str, Any]:
    """Return a whole `retrieval_model` without threshold, weights and reranker."""
    return {
        "search_method": method.value,
        "reranking_enable": False,
        "reranking_mode": None,
        "reranking_model": {"reranking_provider_name": "", "reranking_model_name": ""},
        "weights": None,
        "top_k": top_k,
        "score_threshold_enabled": False,
        "score_threshold": None,
    }


def weighted_settings(vector_weight: float, top_k: int) -> dict[str, Any]:
    """Return a whole `retrieval_model` for hybrid search with weighted scores."""
    weights = {
        "weight_type": "customized",
        "vector_setting": {
            "vector_weight": vector_weight,
            "embedding_provider_name": MODEL_PROVIDER,
            "embedding_model_name": EMBEDDING_MODEL,
        },
        "keyword_setting": {"keyword_weight": round(1 - vector_weight, 6)},
    }
    return plain_settings(SearchMethod.HYBRID, top_k) | {"reranking_mode": "weighted_score", "weights": weights}


@dataclass(frozen=True)
class Dataset:
    """One dataset; `forms` names the documents of the handbook that are in it."""

    name: str
    forms: frozenset[Form] = frozenset(Form)
    technique: Literal["high_quality", "economy"] | None = "high_quality"
    provider: Literal["vendor", "external"] = "vendor"
    enable_api: bool = True
    saved_settings: dict[str, Any] | None = field(default=None, hash=False)

    @property
    def id(self) -> str:
        return uuid_of("dify", self.name)

    @property
    def is_external(self) -> bool:
        return self.provider == "external"

    @property
    def has_vectors(self) -> bool:
        """Tell whether anything but keyword search works."""
        return self.technique == "high_quality"

    def holds(self, passage: Passage) -> bool:
        return passage.document.form in self.forms

    def settings(self) -> RetrievalModel:
        """Return what a search without `retrieval_model` uses."""
        return RetrievalModel.model_validate(self.saved_settings or plain_settings(SearchMethod.SEMANTIC, 4))


def workspace() -> dict[str, Dataset]:
    """Return every dataset by id."""
    datasets = (
        Dataset("handbook"),
        Dataset("handbook-economy", technique="economy"),
        Dataset("handbook-weighted", saved_settings=weighted_settings(0.7, 3)),
        Dataset("questions-and-answers", forms=frozenset({Form.QUESTION_ANSWER})),
        Dataset("parents-and-children", forms=frozenset({Form.PARENT_CHILD})),
        Dataset("empty", forms=frozenset(), technique=None),
        Dataset("external", forms=frozenset(), technique=None, provider="external"),
        Dataset("api-off", enable_api=False),
    )
    return {dataset.id: dataset for dataset in datasets}


def metadata_fields(dataset: Dataset, passages: Iterable[Passage]) -> dict[str, Any]:
    """Return the answer of `GET /datasets/{id}/metadata`."""
    count = len(_documents(dataset, passages))
    return {
        "doc_metadata": [one | {"count": count} for one in _fields(dataset)],
        "built_in_field_enabled": False,
    }


def details(dataset: Dataset, passages: Iterable[Passage], *, listed: bool = False) -> dict[str, Any]:
    """Return the answer of `GET /datasets/{id}`; a list names another method where nothing is saved."""
    held = [passage for passage in passages if dataset.holds(passage)]
    documents = _documents(dataset, held)
    updated_by = None if dataset.is_external else ACCOUNT
    return {
        "id": dataset.id,
        "name": dataset.name,
        "description": None if dataset.is_external else "",
        "provider": dataset.provider,
        "permission": "all_team_members",
        "data_source_type": "upload_file" if documents else None,
        "indexing_technique": dataset.technique,
        "app_count": 0,
        "document_count": len(documents),
        "word_count": sum(len(passage.full_text) for passage in held),
        "created_by": ACCOUNT,
        "author_name": "admin",
        "created_at": CREATED_AT,
        "updated_by": updated_by,
        "updated_at": CREATED_AT,
        "embedding_model": EMBEDDING_MODEL if dataset.has_vectors else None,
        "embedding_model_provider": MODEL_PROVIDER if dataset.has_vectors else None,
        "embedding_available": True,
        "retrieval_model_dict": _shown_settings(dataset, listed=listed),
        "summary_index_setting": dict.fromkeys(("enable", "model_name", "model_provider_name", "summary_prompt")),
        "tags": [],
        "doc_form": _DOC_FORMS[documents[0].form] if documents else None,
        "external_knowledge_info": _external_service(dataset),
        "external_retrieval_model": {
            "top_k": 2,
            "score_threshold": 0.5 if dataset.is_external else 0.0,
            "score_threshold_enabled": False if dataset.is_external else None,
        },
        "doc_metadata": _fields(dataset),
        "built_in_field_enabled": False,
        "pipeline_id": None,
        "runtime_mode": "general",
        "chunk_structure": None,
        "icon_info": dict.fromkeys(("icon_type", "icon", "icon_background", "icon_url")),
        "is_published": False,
        "total_documents": len(documents),
        "total_available_documents": len(documents),
        "enable_api": dataset.enable_api,
        "is_multimodal": False,
    }


def _shown_settings(dataset: Dataset, *, listed: bool) -> dict[str, Any]:
    # Dify shows these where nothing is saved, but does not search by them.
    method = SearchMethod.SEMANTIC if dataset.has_vectors or listed else SearchMethod.KEYWORD
    shown = dataset.saved_settings or plain_settings(method, 2)
    return shown | {"score_threshold": 0.5} if dataset.is_external else shown


def _external_service(dataset: Dataset) -> dict[str, str | None]:
    known = {
        "external_knowledge_id": "kb-1",
        "external_knowledge_api_id": uuid_of("dify", dataset.name, "api"),
        "external_knowledge_api_name": "stub",
        "external_knowledge_api_endpoint": "http://rag.invalid",
    }
    return {name: value if dataset.is_external else None for name, value in known.items()}


def _fields(dataset: Dataset) -> list[dict[str, Any]]:
    return list(_fields_of(dataset)) if dataset.forms else []


def _fields_of(dataset: Dataset) -> Iterator[dict[str, Any]]:
    for name, kind in FIELDS.items():
        yield {"id": uuid_of("dify", dataset.name, "field", name), "name": name, "type": kind}


def _documents(dataset: Dataset, passages: Iterable[Passage]) -> list[Document]:
    return list(dict.fromkeys(passage.document for passage in passages if dataset.holds(passage)))
