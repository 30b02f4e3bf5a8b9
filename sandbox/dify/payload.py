"""What Dify 1.16.0 accepts; pydantic's own error texts are what the real server answers."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, Field


class SearchMethod(StrEnum):
    SEMANTIC = "semantic_search"
    FULL_TEXT = "full_text_search"
    HYBRID = "hybrid_search"
    KEYWORD = "keyword_search"


class RerankingModel(BaseModel):
    reranking_provider_name: str | None = None
    reranking_model_name: str | None = None


class VectorSetting(BaseModel):
    vector_weight: float
    embedding_provider_name: str
    embedding_model_name: str


class KeywordSetting(BaseModel):
    keyword_weight: float


class Weights(BaseModel):
    weight_type: Literal["semantic_first", "keyword_first", "customized"] | None = None
    vector_setting: VectorSetting | None = None
    keyword_setting: KeywordSetting | None = None


class Condition(BaseModel):
    name: str
    comparison_operator: Literal[
        "contains", "not contains", "start with", "end with", "is", "is not", "empty", "not empty", "in", "not in",
        "=", "≠", ">", "<", "≥", "≤", "before", "after",
    ]  # fmt: skip
    value: str | Sequence[str] | int | float | None = None


class Conditions(BaseModel):
    logical_operator: Literal["and", "or"] | None = "and"
    conditions: list[Condition] | None = None


class RetrievalModel(BaseModel):
    search_method: SearchMethod
    reranking_enable: bool
    reranking_model: RerankingModel | None = None
    reranking_mode: str | None = None
    top_k: int
    score_threshold_enabled: bool
    score_threshold: float | None = None
    weights: Weights | None = None
    metadata_filtering_conditions: Conditions | None = None


class HitTestingPayload(BaseModel):
    """The body of a search; the class has Dify's name because error texts quote it."""

    query: str = Field(max_length=250)
    retrieval_model: RetrievalModel | None = None
    external_retrieval_model: dict[str, Any] | None = None
    attachment_ids: list[str] | None = None


class DatasetListQuery(BaseModel):
    """What follows the question mark of a list; the class has Dify's name because error texts quote it."""

    page: int = 1
    limit: int = 20
    keyword: str | None = None
