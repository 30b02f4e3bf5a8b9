"""Jinba's published flows as documented, one of them a vector search, and a search address of one's own.

No answer of a real Jinba is public: nesting, error bodies and the search address follow the documentation's first form.
"""

import json
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.corpus import Passage
from sandbox.ids import uuid_of
from sandbox.ranking import Hit, Index, best_pieces

KNOWLEDGE_BASE = "kb_handbook"
SEARCH_FLOW = "flow_search"
BROKEN_FLOW = "flow_broken"
ANSWER_FLOW = "flow_answer"
FOREIGN_FLOW = "flow_of_another_key"

_CONTENT_TYPES = {"md": "text/markdown", "csv": "text/csv"}


def settings(origin: str) -> dict[str, Any]:
    """Return the creation settings that reach the handbook at this origin, without the key.

    For the route `search_url` the address is `{origin}/search`.
    """
    return {
        "api_base_url": origin,
        "route": "published_flow",
        "flow_id": SEARCH_FLOW,
        "dataset_id": KNOWLEDGE_BASE,
        "query_arg": "query",
        "knowledge_base_arg": "knowledgeBaseId",
        "top_k_arg": "topK",
        "threshold_arg": "threshold",
    }


def app(index: Index, key: str) -> Starlette:
    """Return three flows and a search address over the index that open for this key alone."""
    api = _Api(index, key)
    routes = [
        Route("/api/v2/external/flows/{flow_id}/published-run", api.run, methods=["POST"]),
        Route("/search", api.search, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _refused})


class _ToolError(Exception):
    """What makes a step of a flow fail."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(value)
        self.body = {"name": name, "value": value}


class _Api:
    def __init__(self, index: Index, key: str) -> None:
        self._index = index
        self._key = key

    async def run(self, request: Request) -> Response:
        self._authorize(request)
        flow = request.path_params["flow_id"]
        if flow == FOREIGN_FLOW:
            return Response(status_code=403)
        if flow not in {SEARCH_FLOW, BROKEN_FLOW, ANSWER_FLOW}:
            raise HTTPException(404, "Not Found")
        body = await _body(request)
        args = _args(body)
        if body.get("mode", "sync") == "async":
            return JSONResponse({"runId": f"run_{uuid_of('jinba', flow)}", "status": "running"})
        step = "answer" if flow == ANSWER_FLOW else "search"
        try:
            result = self._result(flow, args)
        except _ToolError as error:
            failed = {"status": "failed", "error": error.body}
            trace = {"traceback": f"Traceback (most recent call last): ...\n{error}"}
            return JSONResponse({**failed, "error": error.body | trace, "stepOutputs": {step: failed}})
        done = {"status": "success", "result": result}
        return JSONResponse({**done, "stepOutputs": {step: done}})

    async def search(self, request: Request) -> Response:
        self._authorize(request)
        body = await _body(request)
        for name in ("query", "knowledgeBaseId"):
            if not body.get(name):
                raise HTTPException(400, f"Missing required argument: {name}")
        try:
            return JSONResponse(self._found(body))
        except _ToolError as error:
            raise HTTPException(400, str(error)) from None

    def _result(self, flow: str, args: Mapping[str, Any]) -> Any:
        if flow == BROKEN_FLOW:
            raise _ToolError("AuthError", "Invalid Jinba API token")
        found = self._found(args)
        if flow == ANSWER_FLOW:
            contents = [hit["chunk"]["content"] for hit in found["results"]]
            return {"content": contents[0] if contents else "Sorry, I found nothing."}
        return found

    def _found(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the output of the tool JINBA_VECTOR_SEARCH."""
        query = str(inputs["query"])
        base = inputs.get("knowledgeBaseId", KNOWLEDGE_BASE)
        if base != KNOWLEDGE_BASE:
            raise _ToolError("ToolExecutionError", f"Knowledge base {base} was not found")
        top_k = int(_number(inputs, "topK", 3, 1, 50))
        threshold = _number(inputs, "threshold", 0.3, 0, 1)
        hits = [hit for hit in best_pieces(self._index.meaning(query)) if hit.score >= threshold][:top_k]
        return {"results": [_result(hit) for hit in hits], "query": query, "totalResults": len(hits)}

    def _authorize(self, request: Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token.strip() != self._key:
            raise HTTPException(401, "Unauthorized")


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except json.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "Invalid request body")
    return body


def _args(body: Mapping[str, Any]) -> dict[str, Any]:
    listed = body.get("args")
    if not isinstance(listed, list) or not all(
        isinstance(arg, dict) and arg.keys() == {"name", "value"} for arg in listed
    ):
        raise HTTPException(400, "args must be a list of {name, value}")
    args = {arg["name"]: arg["value"] for arg in listed}
    if not args.get("query"):
        raise HTTPException(400, "Missing required argument: query")
    return args


def _number(inputs: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    value = inputs.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise _ToolError("ToolExecutionError", f"{name} must be a number from {least} to {most}")
    return value


def _result(hit: Hit) -> dict[str, Any]:
    document = hit.passage.document
    return {
        "chunk": _chunk(hit.passage),
        "score": hit.score,
        "file": {"filename": document.name, "contentType": _CONTENT_TYPES[document.name.rpartition(".")[2]]},
    }


def _chunk(passage: Passage) -> dict[str, Any]:
    return {
        "id": uuid_of("jinba", passage.key),
        "fileId": uuid_of("jinba", passage.document.name),
        "content": passage.full_text,
        "metadata": passage.document.metadata,
    }


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    name = "error" if error.status_code == 401 else "message"
    return JSONResponse({name: error.detail}, error.status_code)
