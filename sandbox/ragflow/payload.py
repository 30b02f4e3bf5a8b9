"""What RAGFlow 0.27 accepts as the body of a search, read in its order and refused in its words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.corpus import Passage
from sandbox.ragflow.conditions import matches
from sandbox.ragflow.datasets import RERANK_MODEL, Dataset
from sandbox.ragflow.errors import data_error
from sandbox.ranking import terms


@dataclass(frozen=True)
class Query:
    """A search that RAGFlow would start."""

    question: str
    datasets: tuple[Dataset, ...]
    documents: frozenset[str] | None
    page: int
    page_size: int
    threshold: float
    weight: float
    top_k: int
    reranked: bool
    highlight: bool

    def allows(self, dataset: Dataset, passage: Passage) -> bool:
        """Tell whether the passage of this dataset may be found."""
        if not dataset.holds(passage):
            return False
        return self.documents is None or dataset.document_id(passage.document) in self.documents


def parsed(body: Mapping[str, Any], known: Mapping[str, Dataset], passages: tuple[Passage, ...]) -> Query | None:
    """Return the search, or None where RAGFlow answers without one; Python's own errors are its code 100."""
    datasets = _datasets(body, known)
    if "question" not in body:
        raise data_error("`question` is required.")
    # RAGFlow 0.27 takes its default for a page or a size that is none, but not for one that is too large.
    page, page_size = _positive(body.get("page"), 1), _positive(body.get("page_size"), 30)
    if page_size > 100:
        raise ValueError("page_size must be less than or equal to 100")
    question = body["question"]
    if not isinstance(question, str):
        raise TypeError(f"expected string or bytes-like object, got '{type(question).__name__}'")
    if not question.strip():
        return None
    documents = _documents(body, datasets, passages)
    if documents == frozenset() and body["metadata_condition"].get("conditions"):
        return None
    threshold = float(body.get("similarity_threshold", 0.2))
    weight = float(body.get("vector_similarity_weight", 0.3))
    top_k = int(body.get("top_k", 1024))
    if top_k <= 0:
        raise data_error("`top_k` must be greater than 0")
    highlight = _highlight(body.get("highlight", False))
    if body.get("keyword"):
        question = " ".join([question, *terms(question)])
    return Query(
        question=question,
        datasets=datasets,
        documents=documents,
        page=page,
        page_size=page_size,
        threshold=threshold if weight > 0 else 0.0,
        weight=weight,
        top_k=top_k,
        reranked=_is_reranked(body.get("rerank_id")),
        highlight=highlight,
    )


def metadata_fields(body: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return a test for the names of the document's fields that a chunk shall carry."""
    wanted = body.get("reference_metadata") or {}
    if not (wanted.get("include") or body.get("include_metadata")):
        return lambda _: False
    names = wanted.get("fields") or body.get("metadata_fields")
    return frozenset(names).__contains__ if names else lambda _: True


def _datasets(body: Mapping[str, Any], known: Mapping[str, Dataset]) -> tuple[Dataset, ...]:
    ids = body.get("dataset_ids")
    if not ids:
        raise data_error("`dataset_ids` is required.")
    if not isinstance(ids, list):
        raise data_error("`dataset_ids` should be a list")
    for one in ids:
        if one not in known:
            raise data_error(f"You don't own the dataset {one}.")
    datasets = tuple(known[one] for one in dict.fromkeys(ids))
    models = list(dict.fromkeys(dataset.embedding_model for dataset in datasets))
    if len(models) > 1:
        raise data_error(f"Datasets use different embedding models: {models}")
    return datasets


def _documents(
    body: Mapping[str, Any], datasets: tuple[Dataset, ...], passages: tuple[Passage, ...]
) -> frozenset[str] | None:
    asked, condition = body.get("document_ids", []), body.get("metadata_condition")
    if not isinstance(asked, list):
        raise data_error("`documents` should be a list")
    held = {
        dataset.document_id(passage.document): passage.document
        for dataset in datasets
        for passage in passages
        if dataset.holds(passage)
    }
    for one in asked:
        if one not in held:
            raise data_error(f"The datasets don't own the document {one}")
    if asked:
        return frozenset(asked)
    if condition:
        return frozenset(one for one, document in held.items() if matches(condition, document))
    return None


def _positive(value: Any, default: int) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return default
    return number if number > 0 else default


def _highlight(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in {"true", "false"}:
        raise data_error("`highlight` should be a boolean")
    return str(value).lower() == "true"


def _is_reranked(model: Any) -> bool:
    if not model:
        return False
    if "@" not in model:
        raise LookupError(f"Provider  not found for model {model}.")
    if model != RERANK_MODEL:
        raise LookupError(f"Model {model} not found for model rerank")
    return True
