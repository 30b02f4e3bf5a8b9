"""WeKnora 0.7.2's API for knowledge bases: search, details, list."""

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sandbox.ids import uuid_of
from sandbox.ranking import Index
from sandbox.weknora.bases import Base, told, workspace
from sandbox.weknora.errors import WeknoraError, at_the_door, inside
from sandbox.weknora.payload import search_params
from sandbox.weknora.search import search

PLATFORM_KEY = "sk-platform-sandbox-0000"
INGEST_KEY = "sk-ingest-sandbox-0000"
"""A key that may put documents in and nothing else."""
_BASES = "/api/v1/knowledge-bases"


def settings(origin: str) -> dict[str, Any]:
    """Return the creation settings that reach the handbook at this origin, without the key."""
    return {"api_base_url": origin, "dataset_id": uuid_of("weknora", "handbook")}


def app(index: Index, key: str) -> Starlette:
    """Return a workspace's knowledge bases over the index that open for this key."""
    api = _Api(index, key, workspace())
    served = Starlette(
        routes=[
            Route(_BASES, api.all_bases, methods=["GET"]),
            Route(f"{_BASES}/{{base}}", api.one_base, methods=["GET"]),
            Route(f"{_BASES}/{{base}}/hybrid-search", api.search, methods=["POST"]),
            Route("/health", _health, methods=["GET"]),
        ],
        exception_handlers={404: _nowhere, 405: _nowhere, WeknoraError: _refused},
    )
    served.router.redirect_slashes = False
    return served


class _Api:
    def __init__(self, index: Index, key: str, bases: dict[str, Base]) -> None:
        self._index = index
        self._key = key
        self._bases = bases

    async def search(self, request: Request) -> Response:
        base = self._base(request)
        asked = await search_params(request)
        others = [self._bases[other] for other in asked["knowledge_base_ids"] if other in self._bases]
        if others and base not in others:
            raise inside(404, 1003, "knowledge base not found")
        if any(other.model != base.model for other in others):
            raise inside(
                400,
                1000,
                "selected knowledge bases use different embedding models; multi-KB search requires every knowledge base "
                "to share a single embedding model",
            )
        if base.broken:
            raise base.broken
        return _answer(search(self._index, base, asked))

    async def one_base(self, request: Request) -> Response:
        return _answer(told(self._base(request), self._index.passages))

    async def all_bases(self, request: Request) -> Response:
        self._authorize(request)
        return _answer([told(base, self._index.passages) for base in self._bases.values() if not base.closed])

    def _base(self, request: Request) -> Base:
        self._authorize(request)
        base = self._bases.get(request.path_params["base"])
        if base is None:
            raise inside(404, 1003, "knowledge base not found")
        if base.closed:
            raise base.closed
        return base

    def _authorize(self, request: Request) -> None:
        match request.headers.get("X-API-Key", ""):
            case self._key:
                return
            case "" if "Authorization" in request.headers:
                raise at_the_door(401, "Unauthorized: invalid or expired token")
            case "":
                raise at_the_door(401, "Unauthorized: missing authentication")
            case _ as key if key == PLATFORM_KEY:
                message = "Workspace required: platform API keys must send X-Tenant-ID"
                raise at_the_door(409, message, code="TENANT_REQUIRED")
            case _ as key if key == INGEST_KEY:
                raise at_the_door(403, "Forbidden: API key scope does not allow this operation")
            case _:
                raise at_the_door(401, "Unauthorized: invalid API key")


def _answer(data: Any) -> Response:
    return JSONResponse({"success": True, "data": data})


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, WeknoraError):
        raise error
    return JSONResponse(error.body, error.status)


async def _nowhere(_: Request, __: Exception) -> Response:
    return PlainTextResponse("404 page not found", 404)
