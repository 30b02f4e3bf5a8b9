"""Why a real service would not take a search request."""

import math
import re
from typing import Any

from tests.field_cases.values import dig, number

METHODS = ("semantic_search", "full_text_search", "hybrid_search", "keyword_search")


def refusal(backend: str, body: Any) -> str:
    """The reason; empty where the request would be taken."""
    if not isinstance(body, dict):
        return "the body is no JSON object"
    match backend:
        case "dify":
            return _dify(body)
        case "ragflow":
            return _ragflow(body)
        case "fastgpt":
            return _fastgpt(body)
        case "jinba":
            return _flow(body) if "args" in body else _search_url(body)
    return _external_knowledge(body)


def _dify(body: dict[str, Any]) -> str:
    query, model = body.get("query"), body.get("retrieval_model")
    if not isinstance(query, str) or not 0 < len(query) <= 250:
        return "query must be a text of 1 to 250 characters"
    if "external_retrieval_model" in body or "metadata_filtering_conditions" in body:
        return "a field stands beside retrieval_model that belongs inside it or nowhere"
    return "" if model is None else _dify_model(model)


def _dify_model(model: Any) -> str:
    if not isinstance(model, dict) or model.get("search_method") not in METHODS:
        return "retrieval_model.search_method is missing or unknown"
    if not all(isinstance(model.get(name), bool) for name in ("reranking_enable", "score_threshold_enabled")):
        return "retrieval_model needs reranking_enable and score_threshold_enabled as booleans"
    if not number(model.get("top_k"), 1) or isinstance(model["top_k"], float):
        return "retrieval_model.top_k must be a whole number from 1"
    if model.get("score_threshold") is not None and not number(model["score_threshold"], -math.inf):
        return "retrieval_model.score_threshold must be a number or null"
    if dig(model, "metadata_filtering_conditions.conditions") == []:
        return "an empty condition list lets every document pass"
    return ""


def _ragflow(body: dict[str, Any]) -> str:
    ids, question, size = body.get("dataset_ids"), body.get("question"), body.get("page_size", 1)
    if not isinstance(ids, list) or not ids or not all(isinstance(ident, str) and ident for ident in ids):
        return "dataset_ids must be a list of texts and not empty"
    if not isinstance(question, str) or not question.strip():
        return "question must be a text"
    if not number(size, 1, 100) or isinstance(size, float):
        return "page_size must be a whole number from 1 to 100"
    lowest = {"top_k": 1, "page": 1, "similarity_threshold": -math.inf, "vector_similarity_weight": -math.inf}
    for name, low in lowest.items():
        if name in body and not number(body[name], low):
            return f"{name} must be a number"
    condition = body.get("metadata_condition")
    return "" if condition is None else _ragflow_condition(condition.get("conditions"))


def _ragflow_condition(conditions: Any) -> str:
    if conditions and all({"name", "comparison_operator", "value"} <= set(condition) for condition in conditions):
        return ""
    return "metadata_condition needs conditions with name, comparison_operator and value"


def _fastgpt(body: dict[str, Any]) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{24}", str(body.get("datasetId"))):
        return "datasetId must be 24 hex digits"
    if not isinstance(body.get("text"), str) or not body["text"].strip():
        return "text must be a text"
    if any(value is None for value in body.values()):
        return "null is refused: leave the field out"
    for name in ("limit", "similarity", "embeddingWeight", "rerankWeight"):
        if not number(body.get(name, 0), 0):
            return f"{name} must be a number"
    if body.get("searchMode", "embedding") not in ("embedding", "fullTextRecall", "mixedRecall"):
        return "searchMode is unknown"
    if not isinstance(body.get("usingReRank", False), bool) or "collectionFilterMatch" in body:
        return "usingReRank must be a boolean, and collectionFilterMatch does nothing"
    return ""


def _flow(body: dict[str, Any]) -> str:
    if body.get("mode") == "sync" and all(isinstance(a, dict) and set(a) == {"name", "value"} for a in body["args"]):
        return ""
    return "args must be a list of name and value, mode must be sync"


def _search_url(body: dict[str, Any]) -> str:
    named = body.get("query") and body.get("knowledgeBaseId")
    if named and number(body.get("topK", 3), 1, 50) and number(body.get("threshold", 0.3), 0, 1):
        return ""
    return "the tool wants query, knowledgeBaseId, topK 1 to 50, threshold 0 to 1"


def _external_knowledge(body: dict[str, Any]) -> str:
    setting = body.get("retrieval_setting") or {}
    named = body.get("knowledge_id") and body.get("query")
    if not named or not number(setting.get("top_k"), 1) or not number(setting.get("score_threshold"), 0, 1):
        return "the protocol wants knowledge_id, query, retrieval_setting.top_k and .score_threshold"
    if "metadata_condition" in body and not dig(body, "metadata_condition.conditions"):
        return "metadata_condition must be left out when there is no filter"
    return ""
