"""Dify's `retrieval_model`: how a search is asked for, made of the options and of what the dataset has saved."""

from typing import Any

from adapters.options import Options
from bridge.errors import SettingsError
from bridge.filters import DIFY_WORDS, Condition, Filter
from bridge.values import mapping, number, text

VECTOR_WEIGHT = 0.7
"""Dify's own share of meaning in a weighted hybrid search."""
METHODS = {
    "semantic": "semantic_search",
    "full_text": "full_text_search",
    "hybrid": "hybrid_search",
    "keyword": "keyword_search",
}
"""search_mode to Dify's word."""


def retrieval_model(options: Options, info: dict[str, Any], where: Filter) -> dict[str, Any]:
    """All eight fields: the dataset's own, changed by what the options ask for. SettingsError for what can't be had.

    `info` is the dataset's details, empty where nobody needs them.
    """
    saved = mapping(info.get("retrieval_model_dict"))
    model = {
        "search_method": text(saved.get("search_method")) or "semantic_search",
        "reranking_enable": saved.get("reranking_enable") is True,
        "reranking_mode": saved.get("reranking_mode"),
        "reranking_model": mapping(saved.get("reranking_model")) or _no_model(),
        "weights": mapping(saved.get("weights")) or None,
        "top_k": options.top_k,
        "score_threshold_enabled": saved.get("score_threshold_enabled") is True,
        "score_threshold": saved.get("score_threshold"),
    }
    if options.search_mode != "auto":
        method = METHODS[options.search_mode]
        model |= {"search_method": method, "score_threshold_enabled": False, "score_threshold": None}
    if options.score_threshold:
        model |= {"score_threshold_enabled": True, "score_threshold": options.score_threshold}
    model |= _ranking(options, model, info)
    if where.conditions:
        conditions = [_spoken(condition) for condition in where.conditions]
        model["metadata_filtering_conditions"] = {"logical_operator": where.logic, "conditions": conditions}
    return model


def plain(model: dict[str, Any]) -> dict[str, Any]:
    """The same search for one passage, with nothing that could lose it: no fusion, no reranker, no threshold."""
    fused = model["search_method"] == "hybrid_search"
    return {
        **model,
        **_unranked(),
        "search_method": "semantic_search" if fused else model["search_method"],
        "top_k": 1,
        "score_threshold_enabled": False,
        "score_threshold": None,
    }


def without_threshold(model: dict[str, Any]) -> dict[str, Any]:
    """The same search without its threshold."""
    return {**model, "score_threshold_enabled": False, "score_threshold": None}


def ranked_by(model: dict[str, Any]) -> str:
    """What ranks the hits besides the search itself, in words: a reranker or weights; empty for nothing."""
    name = text(mapping(model["reranking_model"]).get("reranking_model_name"))
    weighted = model["search_method"] == "hybrid_search" and model["reranking_mode"] == "weighted_score"
    if weighted and model["weights"]:
        return "the weights of the hybrid search"
    return f"the reranker {name}" if model["reranking_enable"] and name and not weighted else ""


def measure(model: dict[str, Any]) -> str:
    """What Dify's score is for such a search; empty where it is none."""
    reranked = model["reranking_enable"] and model["reranking_mode"] != "weighted_score"
    match model["search_method"]:
        case "keyword_search":
            return ""
        case _ if reranked and mapping(model["reranking_model"]).get("reranking_model_name"):
            return "rerank"
        case "full_text_search":
            return "text_rank"
    return "similarity"


def _ranking(options: Options, model: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    """How hits are ranked: by a reranker, by weights, or as the dataset has it."""
    if options.rerank:
        if model["search_method"] == "keyword_search":
            raise SettingsError(
                "rerank is not available with keyword search",
                "Switch rerank off, or use search_mode semantic or hybrid",
            )
        named = provider_and_name(options.rerank_model) if options.rerank_model else model["reranking_model"]
        if not all(named.get(name) for name in _no_model()):
            raise SettingsError(
                "rerank needs a model and the dataset has none saved",
                "Set rerank_model to provider/name, or save a reranker in the dataset's retrieval settings",
            )
        return {
            "reranking_enable": True,
            "reranking_mode": "reranking_model",
            "reranking_model": named,
            "weights": None,
        }
    if options.vector_weight is not None:
        return _weighted(_weights(options.vector_weight, info))
    if options.search_mode == "auto":
        return {}
    if options.search_mode == "hybrid":
        # without a fusion Dify joins two lists of different scales
        own = model["weights"] if model["reranking_mode"] == "weighted_score" else None
        return _weighted(own or _weights(VECTOR_WEIGHT, info))
    return _unranked()


def _unranked() -> dict[str, Any]:
    return {"reranking_enable": False, "reranking_mode": None, "reranking_model": _no_model(), "weights": None}


def _no_model() -> dict[str, str]:
    return {"reranking_provider_name": "", "reranking_model_name": ""}


def provider_and_name(name: str) -> dict[str, str]:
    """Dify's form of `provider/name`; ValueError for another. The provider may have slashes of its own."""
    provider, _, model = name.rpartition("/")
    if not provider or not model:
        raise ValueError("rerank_model must be provider/name, like langgenius/cohere/cohere/rerank-v3.5")
    return {"reranking_provider_name": provider, "reranking_model_name": model}


def _weights(vector_weight: float, info: dict[str, Any]) -> dict[str, Any]:
    return {
        "weight_type": "customized",
        "vector_setting": {
            "vector_weight": vector_weight,
            "embedding_provider_name": text(info.get("embedding_model_provider")),
            "embedding_model_name": text(info.get("embedding_model")),
        },
        "keyword_setting": {"keyword_weight": round(1 - vector_weight, 6)},
    }


def _weighted(weights: dict[str, Any]) -> dict[str, Any]:
    return {
        **_unranked(),
        "search_method": "hybrid_search",
        "reranking_mode": "weighted_score",
        "weights": weights,
    }


def _spoken(condition: Condition) -> dict[str, Any]:
    """A condition in Dify's form; SettingsError for one that Dify can't compare."""
    spoken = condition.spoken(DIFY_WORDS)
    if condition.operator in ("in", "nin"):
        spoken["value"] = [str(value) for value in spoken["value"]]  # every version refuses numbers in these lists
    if condition.operator in ("gt", "gte", "lt", "lte"):
        value = number(condition.value)
        if value is None:
            raise SettingsError(
                f"filters: ${condition.operator} of {condition.field} needs a number in Dify",
                "Compare number and time fields; write a time as seconds since 1970, like 1720000000",
            )
        spoken["value"] = int(value) if value == int(value) else value
    return spoken
