"""How to search: the vocabulary that all services share."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bridge.settings import Texts, or_default, without_unset
from bridge.values import finite

SearchMode = Literal["auto", "semantic", "full_text", "hybrid", "keyword"]


TOP_K = 5


def _top_k(value: Any) -> int:
    """A number field that was cleared arrives as 0; callers send any other number."""
    return round(min(max(finite(value) or TOP_K, 1), 100))


class Options(BaseModel):
    """How to search: the vocabulary that all services share. Values away from the default need a service that has them."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, str_strip_whitespace=True)

    modes: ClassVar[dict[str, str]] = {}
    """search_mode to the service's own word; `auto` is always there."""
    offers: ClassVar[frozenset[str]] = frozenset()
    """Those of OPTIONAL that the service has."""
    OPTIONAL: ClassVar[tuple[str, ...]] = (
        "rerank",
        "rerank_model",
        "vector_weight",
        "expand_query",
        "candidates",
        "token_limit",
        "use_knowledge_graph",
        "cross_languages",
    )

    top_k: Annotated[int, BeforeValidator(_top_k)] = TOP_K
    """At most how many passages, clamped to 1-100; 0 is the default."""
    score_threshold: Annotated[float, Field(ge=0, le=1), BeforeValidator(finite)] = 0.0
    """Least similarity; 0 is off."""
    search_mode: SearchMode = "auto"
    rerank: bool = False
    rerank_model: str = ""
    vector_weight: Annotated[float, Field(ge=0, le=1), BeforeValidator(finite)] | None = None
    """Share of meaning against words in a hybrid search; None is the service's own."""
    expand_query: bool = False
    candidates: Annotated[int, Field(ge=1, le=10_000), or_default(1024)] = 1024
    token_limit: Annotated[int, Field(ge=1, le=20_000), or_default(5000)] = 5000
    use_knowledge_graph: bool = False
    cross_languages: Texts = ()
    cite_source: bool = False
    long_query: Literal["split", "cut"] = "split"
    """Whether a query longer than the service takes is asked in pieces, or only its start."""
    timeout: Annotated[float, Field(ge=1, le=110), or_default(12)] = 12.0
    """Seconds for everything: tries, waits, body."""

    _drop_unset = model_validator(mode="before")(without_unset)

    @model_validator(mode="after")
    def _available(self) -> Self:
        if self.search_mode != "auto" and self.search_mode not in self.modes:
            have = ", ".join(("auto", *self.modes))
            raise ValueError(f"search_mode {self.search_mode} is not available here; use {have}")
        for name in self.OPTIONAL:
            if name not in self.offers and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} is not available here; leave it at its default")
        if self.vector_weight is not None and self.search_mode not in ("auto", "hybrid"):
            raise ValueError("vector_weight works with search_mode hybrid (or auto); leave it blank")
        return self
