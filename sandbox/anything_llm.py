"""AnythingLLM's developer API on LanceDB: a workspace with the handbook, one that reranks it, an empty and a broken one."""

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sandbox.corpus import Document, Form, Passage
from sandbox.ids import uuid_of
from sandbox.ranking import Index, best_pieces

WORKSPACES = {"handbook": "default", "handbook-rerank": "rerank", "empty": "default", "broken": "default"}
"""Slug and vectorSearchMode; the broken one's embedder is away."""
TOP_N = 4
THRESHOLD = 0.25
POOL = 10
"""How many of the nearest are reranked."""
UNLIKE = 1.0625
"""Distance of a passage that shares nothing with the query; such ones are scored 1."""

_PAGE = "<!DOCTYPE html>\n<html><head><title >AnythingLLM | Your personal LLM trained on anything</title></head></html>"
_BAD_REQUEST = "<!DOCTYPE html>\n<html><head><title>Error</title></head><body><pre>Bad Request</pre></body></html>"
_PROMPT = "Given the following conversation, reply with an answer to the current question the user is asking."
_CREATED = "2026-01-02T10:00:00.000Z"


def settings(origin: str) -> dict[str, Any]:
    """Return the creation settings that reach the handbook at this origin, without the key."""
    return {"api_base_url": origin, "dataset_id": "handbook"}


def app(index: Index, key: str) -> Starlette:
    """Return a server over the index whose API opens for this key alone; every other path is the web page."""
    api = _Api(index, key)
    workspace = "/api/v1/workspace/{slug}"
    return Starlette(
        routes=[
            Route("/api/v1/auth", api.auth),
            Route(f"{workspace}/vector-search", api.search, methods=["POST"]),
            Route(workspace, api.workspace),
            Route("/api/v1/workspaces", api.workspaces),
            Route("/{path:path}", _page, methods=["GET", "POST"]),
        ],
        exception_handlers={_RefusedError: _refused},
    )


class _RefusedError(Exception):
    """An answer that ends a request."""

    def __init__(self, answer: Response) -> None:
        super().__init__(answer.status_code)
        self.answer = answer


class _Api:
    def __init__(self, index: Index, key: str) -> None:
        self._index = index
        self._key = key

    async def auth(self, request: Request) -> Response:
        self._authorize(request)
        return JSONResponse({"authenticated": True})

    async def workspace(self, request: Request) -> Response:
        self._authorize(request)
        slug = request.path_params["slug"]
        return JSONResponse({"workspace": [self._described(slug)] if slug in WORKSPACES else []})

    async def workspaces(self, request: Request) -> Response:
        self._authorize(request)
        every = [self._described(slug) for slug in WORKSPACES]
        for one in every:
            del one["documents"]  # a list tells nothing of them
        return JSONResponse({"workspaces": every})

    async def search(self, request: Request) -> Response:
        self._authorize(request)
        body, slug = await _body(request), request.path_params["slug"]
        if slug not in WORKSPACES:
            raise _refusal(400, f"Workspace {slug} is not a valid workspace.")
        query = _query(body)
        if slug == "broken":
            raise _RefusedError(PlainTextResponse("Internal Server Error", 500))
        if slug == "empty":
            return JSONResponse({"results": [], "message": "No embeddings found for this workspace."})
        top_n = int(_number(body.get("topN"), 1, math.inf, TOP_N))
        threshold = _number(body.get("scoreThreshold"), 0, 1, THRESHOLD)
        near = self._reranked(query, top_n) if WORKSPACES[slug] == "rerank" else self._nearest(query, top_n)
        return JSONResponse({"results": [one for one in near if _similarity(one["distance"]) >= threshold]})

    def _nearest(self, query: str, top_n: int) -> list[dict[str, Any]]:
        hits = best_pieces(self._index.meaning(query))[:top_n]
        distances = (1 - hit.score if hit.score else UNLIKE for hit in hits)
        return [_result(hit.passage, far, _similarity(far)) for hit, far in zip(hits, distances, strict=True)]

    def _reranked(self, query: str, top_n: int) -> list[dict[str, Any]]:
        ranks = {_id(hit.passage): hit.score for hit in reversed(self._index.hybrid(query, 0.5))}
        near = self._nearest(query, POOL)
        scored = [one | {"score": 1 / (1 + math.exp(4 - 10 * ranks[one["id"]]))} for one in near]
        return sorted(scored, key=lambda one: one["score"], reverse=True)[:top_n]

    def _described(self, slug: str) -> dict[str, Any]:
        number = list(WORKSPACES).index(slug) + 1
        unset = ("vectorTag", "openAiTemp", "chatProvider", "chatModel", "pfpFilename", "agentProvider", "agentModel")
        documents = () if slug == "empty" else dict.fromkeys(passage.document for passage in self._index.passages)
        return {
            "id": number,
            "name": slug.replace("-", " ").capitalize(),
            "slug": slug,
            "createdAt": _CREATED,
            "openAiHistory": 20,
            "lastUpdatedAt": _CREATED,
            "openAiPrompt": _PROMPT,
            "similarityThreshold": THRESHOLD,
            "topN": TOP_N,
            "chatMode": "automatic",
            "vectorSearchMode": WORKSPACES[slug],
            **dict.fromkeys((*unset, "queryRefusalResponse", "router_id")),
            "documents": [_listed(document, at, number) for at, document in enumerate(documents, 1)],
            "threads": [],
        }

    def _authorize(self, request: Request) -> None:
        words = request.headers.get("Authorization", "").split(" ")  # the first, the scheme, isn't looked at
        if words[1:2] != [self._key]:
            raise _refusal(403, "No valid api key found.", "error")


def _similarity(distance: float) -> float:
    """The score that the server prints, and holds the threshold against."""
    return 1 if distance >= 1 else 1 - distance


def _result(passage: Passage, distance: float, score: float) -> dict[str, Any]:
    told = _metadata(passage.document)
    source = f"source: {passage.document.link}\n" if _is_link(passage.document) else ""
    head = f"sourceDocument: {told['title']}\npublished: {told['published']}\n{source}"
    return {
        "id": _id(passage),
        "text": f"<document_metadata>\n{head}</document_metadata>\n\n{passage.full_text}",
        "metadata": told,
        "distance": distance,
        "score": score,
    }


def _id(passage: Passage) -> str:
    return uuid_of("anything_llm", passage.key)


def _is_link(document: Document) -> bool:
    """Whether it was read from the web; the others were uploaded."""
    return document.form is Form.TEXT


def _metadata(document: Document) -> dict[str, Any]:
    link = _is_link(document)
    return {
        "url": document.link if link else f"file:///srv/{document.name}",
        "title": document.name,
        "author": "no author specified",
        "description": "No description found.",
        "docSource": "URL link uploaded by the user." if link else "a text file uploaded by the user.",
        "chunkSource": f"link://{document.link}" if link else f"localfile://{document.name}",
        "published": f"1/1/{document.year}, 12:00:00 AM",
        "wordCount": 40,
        "tokenCount": 60,
    }


def _listed(document: Document, number: int, workspace: int) -> dict[str, Any]:
    return {
        "id": number,
        "docId": uuid_of("anything_llm", document.name),
        "filename": f"{document.name}.json",
        "docpath": f"custom-documents/{document.name}.json",
        "workspaceId": workspace,
        "metadata": json.dumps(_metadata(document), ensure_ascii=False),
        "pinned": False,
        "watched": False,
        "createdAt": _CREATED,
        "lastUpdatedAt": _CREATED,
    }


async def _body(request: Request) -> Mapping[str, Any]:
    """The body's object; a text is read as JSON too, and only then trips the handler where it is none."""
    try:
        body = json.loads(await request.body() or b"{}")
    except json.JSONDecodeError:
        as_text = request.headers.get("Content-Type", "").startswith("text/plain")
        answer = PlainTextResponse("Internal Server Error", 500) if as_text else HTMLResponse(_BAD_REQUEST, 400)
        raise _RefusedError(answer) from None
    return body if isinstance(body, dict) else {}


def _query(body: Mapping[str, Any]) -> str:
    query = body.get("query")
    if not query or not isinstance(query, str | list):
        raise _refusal(400, "Query parameter cannot be empty.")
    return query if isinstance(query, str) else ",".join(map(str, query))


def _number(value: Any, least: float, most: float, own: float) -> float:
    """The number sent, also as text; the workspace's own for anything else, without a word."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return own
    return number if least <= number <= most else own


def _refusal(status: int, message: str, name: str = "message") -> _RefusedError:
    return _RefusedError(JSONResponse({name: message}, status))


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, _RefusedError):
        raise error
    return error.answer


async def _page(_: Request) -> Response:
    return HTMLResponse(_PAGE)
