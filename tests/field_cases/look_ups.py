"""What a healthy service says to the GET that a client may send before it searches, and to a wrong address."""

import re
from typing import Any
from urllib.parse import parse_qs

from tests.service import Request

DIFY = {"X-Version": "1.14.2"}
FIELDS = [{"id": "m1", "name": "category", "type": "string"}, {"id": "m2", "name": "year", "type": "number"}]


def look_up(backend: str, request: Request) -> dict[str, Any]:
    path, _, query = request.path.partition("?")
    asked = parse_qs(query)
    if backend == "dify" and (found := re.fullmatch(r"/v1/datasets/([^/]+)(/metadata)?", path)):
        return {"status": 200, "headers": DIFY, "body": _dify_fields() if found[2] else _dify(found[1])}
    if backend == "ragflow" and path.rstrip("/") == "/api/v1/datasets":
        return {"status": 200, "body": _ragflow(asked.get("id") or asked.get("ids") or ["0" * 32])}
    if backend == "fastgpt" and path == "/api/core/dataset/detail":
        return {"status": 200, "body": _fastgpt(asked.get("id", [""])[0])}
    return not_found(backend, path)


def not_found(backend: str, path: str) -> dict[str, Any]:
    if backend == "ragflow":
        message = {"error": "Not Found", "message": f"Not Found: {path}"}
        return {"status": 404, "body": {"code": 404, "data": None, **message}}
    if backend in ("dify", "fastgpt"):
        return {
            "status": 404,
            "headers": {"content-type": "text/html; charset=utf-8", **(DIFY if backend == "dify" else {})},
            "raw_body": "<!doctype html><html lang=en><title>404 Not Found</title><h1>Not Found</h1></html>",
        }
    return {"status": 404, "body": {"message": "Not Found"}}


def _dify_fields() -> dict[str, Any]:
    return {"doc_metadata": [{**named, "count": 1} for named in FIELDS], "built_in_field_enabled": False}


def _dify(ident: str) -> dict[str, Any]:
    return {
        "id": ident,
        "name": "handbook",
        "description": "",
        "provider": "vendor",
        "permission": "all_team_members",
        "data_source_type": "upload_file",
        "indexing_technique": "high_quality",
        "doc_form": "text_model",
        "document_count": 3,
        "total_documents": 3,
        "total_available_documents": 3,
        "word_count": 307,
        "embedding_model": "made-up-embedding",
        "embedding_model_provider": "made/up/provider",
        "embedding_available": True,
        "enable_api": True,
        "built_in_field_enabled": False,
        "doc_metadata": FIELDS,
        "tags": [],
        "retrieval_model_dict": {
            "search_method": "semantic_search",
            "reranking_enable": False,
            "reranking_mode": None,
            "reranking_model": {"reranking_provider_name": "", "reranking_model_name": ""},
            "weights": None,
            "top_k": 2,
            "score_threshold_enabled": False,
            "score_threshold": None,
        },
        "external_knowledge_info": {
            "external_knowledge_id": None,
            "external_knowledge_api_id": None,
            "external_knowledge_api_name": None,
            "external_knowledge_api_endpoint": None,
        },
        "external_retrieval_model": {"top_k": 2, "score_threshold": 0.0, "score_threshold_enabled": None},
    }


def _ragflow(idents: list[str]) -> dict[str, Any]:
    dataset = {
        "name": "handbook",
        "embedding_model": "made-up@provider",
        "chunk_count": 7,
        "document_count": 2,
        "chunk_method": "naive",
        "permission": "me",
        "pagerank": 0,
        "similarity_threshold": 0.2,
        "vector_similarity_weight": 0.3,
        "status": "1",
        "token_num": 35,
    }
    return {"code": 0, "total_datasets": len(idents), "data": [{"id": ident, **dataset} for ident in idents]}


def _fastgpt(ident: str) -> dict[str, Any]:
    data = {
        "_id": ident,
        "name": "handbook",
        "type": "dataset",
        "status": "active",
        "intro": "",
        "vectorModel": {"model": "made-up", "name": "made-up"},
        "permission": {"isOwner": True, "hasReadPer": True},
    }
    return {"code": 200, "statusText": "", "message": "", "data": data}
