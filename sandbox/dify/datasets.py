"""The datasets of the imitated workspace and what Dify tells about them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from sandbox.corpus import Document, Form, Passage
from sandbox.dify.metadata import (
    BUILT_IN_FIELDS,
    FIELDS,
    MORE_FIELDS,
    UPLOADER,
    Metadata,
    built_in_metadata,
    more_metadata,
)
from sandbox.dify.payload import RetrievalModel, SearchMethod
from sandbox.ids import uuid_of

ACCOUNT = uuid_of("dify", "account")
CREATED_AT = 1796083440
MODEL_PROVIDER = "local/sandbox/sandbox"
EMBEDDING_MODEL = "sandbox-embedding"
RERANK_MODEL = "sandbox-rerank"
# Of a provider that the workspace doesn't have.
MISSING_PROVIDER = "langgenius/openai/openai"
MISSING_MODEL = "text-embedding-3-small"
MOST_LISTED = 100

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


def reranked_settings(top_k: int) -> dict[str, Any]:
    """Return a whole `retrieval_model` for semantic search with the reranker."""
    reranker = {"reranking_provider_name": MODEL_PROVIDER, "reranking_model_name": RERANK_MODEL}
    return plain_settings(SearchMethod.SEMANTIC, top_k) | {
        "reranking_enable": True,
        "reranking_mode": "reranking_model",
        "reranking_model": reranker,
    }


@dataclass(frozen=True)
class Dataset:
    """One dataset; `forms` names the documents of the handbook that are in it.

    Where Dify's built-in fields are on, the documents have other fields of the owner, too.
    """

    name: str
    forms: frozenset[Form] = frozenset(Form)
    technique: Literal["high_quality", "economy"] | None = "high_quality"
    provider: Literal["vendor", "external"] = "vendor"
    enable_api: bool = True
    has_model: bool = True
    has_built_in_fields: bool = False
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

    @property
    def embedding(self) -> tuple[str, str] | None:
        """Provider and name of the embedding model."""
        if not self.has_vectors:
            return None
        return (MODEL_PROVIDER, EMBEDDING_MODEL) if self.has_model else (MISSING_PROVIDER, MISSING_MODEL)

    def holds(self, passage: Passage) -> bool:
        return passage.document.form in self.forms

    def metadata(self, document: Document) -> Metadata:
        """Return what the document carries in this dataset."""
        if self.has_built_in_fields:
            return {**more_metadata(document), **built_in_metadata(document)}
        return document.metadata

    def settings(self) -> RetrievalModel:
        """Return what a search without `retrieval_model` uses."""
        return RetrievalModel.model_validate(self.saved_settings or plain_settings(SearchMethod.SEMANTIC, 4))


def workspace() -> dict[str, Dataset]:
    """Return every dataset by id."""
    saved = {"score_threshold": 0.5}
    datasets = (
        Dataset("handbook"),
        Dataset("handbook-economy", technique="economy"),
        Dataset("handbook-weighted", saved_settings=weighted_settings(0.7, 3) | {"reranking_enable": True} | saved),
        Dataset("handbook-reranked", saved_settings=reranked_settings(3) | saved),
        Dataset("handbook-plain-hybrid", saved_settings=plain_settings(SearchMethod.HYBRID, 3)),
        Dataset(
            "handbook-best",
            saved_settings=plain_settings(SearchMethod.SEMANTIC, 1)
            | {"score_threshold_enabled": True, "score_threshold": 0.1},
        ),
        Dataset("handbook-more-fields", has_built_in_fields=True),
        Dataset("questions-and-answers", forms=frozenset({Form.QUESTION_ANSWER})),
        Dataset("parents-and-children", forms=frozenset({Form.PARENT_CHILD})),
        Dataset("empty", forms=frozenset(), technique=None),
        Dataset("external", forms=frozenset(), technique=None, provider="external"),
        Dataset("api-off", enable_api=False),
        Dataset("no-model", has_model=False),
    )
    return {dataset.id: dataset for dataset in datasets}


def metadata_fields(dataset: Dataset, passages: Iterable[Passage]) -> dict[str, Any]:
    """Return the answer of `GET /datasets/{id}/metadata`, which never lists Dify's own fields."""
    carried = [dataset.metadata(document).keys() for document in _documents(dataset, passages)]
    return {
        "doc_metadata": [
            one | {"count": sum(one["name"] in names for names in carried)} for one in _own_fields(dataset)
        ],
        "built_in_field_enabled": dataset.has_built_in_fields,
    }


def listed(datasets: Iterable[Dataset], page: int, limit: int, keyword: str | None) -> tuple[list[Dataset], int, bool]:
    """Return the datasets of a page, how many there are, and whether Dify says that more follow."""
    named = [dataset for dataset in datasets if (keyword or "").lower() in dataset.name]
    size = max(1, min(limit, MOST_LISTED))
    start = (max(1, page) - 1) * size
    shown = named[start : start + size]
    # A full page says so even if it is the last, and one cut to the most that are listed never does.
    return shown, len(named), len(shown) == limit


def details(dataset: Dataset, passages: Iterable[Passage], *, in_list: bool = False) -> dict[str, Any]:
    """Return the answer of `GET /datasets/{id}`; a list names another method where nothing is saved."""
    held = [passage for passage in passages if dataset.holds(passage)]
    documents = _documents(dataset, held)
    owner = None if dataset.is_external else ACCOUNT
    provider, model = dataset.embedding or (None, None)
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
        "author_name": UPLOADER,
        "created_at": CREATED_AT,
        "updated_by": owner,
        "updated_at": CREATED_AT,
        "embedding_model": model,
        "embedding_model_provider": provider,
        "embedding_available": dataset.has_model,
        "retrieval_model_dict": _shown_settings(dataset, in_list=in_list),
        "summary_index_setting": dict.fromkeys(("enable", "model_name", "model_provider_name", "summary_prompt")),
        "tags": [],
        "doc_form": _DOC_FORMS[documents[0].form] if documents else None,
        "external_knowledge_info": _external_service(dataset),
        "external_retrieval_model": _external_settings(dataset),
        "doc_metadata": list(_fields(dataset)),
        "built_in_field_enabled": dataset.has_built_in_fields,
        "pipeline_id": None,
        "runtime_mode": "general",
        "chunk_structure": None,
        "icon_info": dict.fromkeys(("icon_type", "icon", "icon_background", "icon_url")),
        "is_published": False,
        "total_documents": len(documents),
        "total_available_documents": len(documents),
        "enable_api": dataset.enable_api,
        "is_multimodal": False,
        "maintainer": owner,
    }


def _shown_settings(dataset: Dataset, *, in_list: bool) -> dict[str, Any]:
    # Dify shows these where nothing is saved, but does not search by them.
    method = SearchMethod.SEMANTIC if dataset.has_vectors or in_list else SearchMethod.KEYWORD
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


def _external_settings(dataset: Dataset) -> dict[str, Any]:
    # Dify reads them out of the saved settings, whatever the provider is.
    saved = dataset.saved_settings or {"top_k": 2, "score_threshold": 0.0, "score_threshold_enabled": None}
    if dataset.is_external:
        saved = {"top_k": 2, "score_threshold": 0.5, "score_threshold_enabled": False}
    return {name: saved[name] for name in ("top_k", "score_threshold", "score_threshold_enabled")}


def _fields(dataset: Dataset) -> Iterator[dict[str, Any]]:
    yield from _own_fields(dataset)
    for name, kind in BUILT_IN_FIELDS.items() if dataset.has_built_in_fields else ():
        yield {"id": "built-in", "name": name, "type": kind}


def _own_fields(dataset: Dataset) -> Iterator[dict[str, Any]]:
    fields = MORE_FIELDS if dataset.has_built_in_fields else FIELDS if dataset.forms else {}
    for name, kind in fields.items():
        yield {"id": uuid_of("dify", dataset.name, "field", name), "name": name, "type": kind}


def _documents(dataset: Dataset, passages: Iterable[Passage]) -> list[Document]:
    return list(dict.fromkeys(passage.document for passage in passages if dataset.holds(passage)))
