"""Dify 1.16.0's service API for datasets: search, details, metadata fields, list."""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.dify.datasets import Dataset, details, listed, metadata_fields, workspace
from sandbox.dify.errors import DifyError, invalid_param
from sandbox.dify.payload import DatasetListQuery, HitTestingPayload
from sandbox.dify.records import answer
from sandbox.dify.search import search
from sandbox.ids import uuid_of
from sandbox.ranking import Index

Endpoint = Callable[[Request], Awaitable[Response]]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NOT_FOUND = """<!doctype html>
<html lang=en>
<title>404 Not Found</title>
<h1>Not Found</h1>
<p>The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.</p>
"""
_MOVED = """<!doctype html>
<html lang=en>
<title>Redirecting...</title>
<h1>Redirecting...</h1>
<p>You should be redirected automatically to the target URL: <a href="{0}">{0}</a>. If not, click the link.
"""


def settings(origin: str) -> dict[str, Any]:
    """Return the creation settings that reach the handbook at this origin, without the key."""
    return {"api_base_url": f"{origin}/v1", "dataset_id": uuid_of("dify", "handbook")}


def app(index: Index, key: str, a_minute: int | None = None) -> Starlette:
    """Return a workspace of datasets over the index that opens for this key alone; `a_minute` is Dify Cloud's limit."""
    api = _Api(index, key, workspace(), a_minute)
    routes = [
        Route("/v1/datasets", api.list_datasets),
        Route("/v1/datasets/{dataset_id}", api.get_dataset),
        Route("/v1/datasets/{dataset_id}/metadata", api.get_metadata),
        Route("/v1/datasets/{dataset_id}/retrieve", api.retrieve, methods=["POST"]),
        Route("/v1/datasets/{dataset_id}/hit-testing", api.retrieve, methods=["POST"]),
    ]
    served = Starlette(
        routes=routes,
        middleware=[Middleware(_VersionHeaders)],
        exception_handlers={404: _not_found, 405: _not_allowed, DifyError: _refused, ValidationError: _invalid},
    )
    served.router.redirect_slashes = False
    return served


class _Api:
    def __init__(self, index: Index, key: str, datasets: dict[str, Dataset], a_minute: int | None) -> None:
        self._index = index
        self._key = key
        self._datasets = datasets
        self._a_minute = a_minute
        self._searched: list[float] = []

    async def list_datasets(self, request: Request) -> Response:
        self._authorize(request)
        query = DatasetListQuery.model_validate(dict(request.query_params))
        shown, total, more = listed(self._datasets.values(), query.page, query.limit, query.keyword)
        data = [details(dataset, self._index.passages, in_list=True) for dataset in shown]
        return JSONResponse({"data": data, "has_more": more, "limit": query.limit, "total": total, "page": query.page})

    async def get_dataset(self, request: Request) -> Response:
        return JSONResponse(details(self._dataset(request), self._index.passages))

    async def get_metadata(self, request: Request) -> Response:
        return JSONResponse(metadata_fields(self._dataset(request), self._index.passages))

    async def retrieve(self, request: Request) -> Response:
        dataset = self._dataset(request)
        self._check_rate()
        payload = await _payload(request)
        if not payload.query and not payload.attachment_ids:
            raise invalid_param("Query or attachment_ids is required")
        if payload.retrieval_model is None and dataset.is_external:
            raise DifyError(500, "internal_server_error", "'reranking_enable'")
        model = payload.retrieval_model or dataset.settings()
        hits = search(self._index, dataset, payload.query, model) if payload.query else []
        return JSONResponse(answer(dataset, payload.query, hits))

    def _dataset(self, request: Request) -> Dataset:
        dataset_id = request.path_params["dataset_id"]
        if not _UUID.fullmatch(dataset_id):
            raise HTTPException(404)
        self._authorize(request)
        dataset = self._datasets.get(dataset_id.lower())
        if dataset is None:
            raise DifyError(404, "not_found", "Dataset not found.")
        if not dataset.enable_api:
            raise DifyError(403, "forbidden", "Dataset api access is not enabled.")
        return dataset

    def _check_rate(self) -> None:
        now = time.monotonic()
        # What was refused counts too.
        self._searched = [*(at for at in self._searched if at > now - 60), now]
        if self._a_minute is not None and len(self._searched) > self._a_minute:
            text = "Sorry, you have reached the knowledge base request rate limit of your subscription."
            raise DifyError(403, "forbidden", text)

    def _authorize(self, request: Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        if not token:
            raise _unauthorized("Authorization header must be provided and start with 'Bearer'")
        if scheme.lower() != "bearer":
            raise _unauthorized("Authorization scheme must be 'Bearer'")
        if token.strip() != self._key:
            raise _unauthorized("Access token is invalid")


async def _payload(request: Request) -> HitTestingPayload:
    if request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        text = "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."
        raise DifyError(415, "unsupported_media_type", text)
    try:
        body = await request.json()
    except ValueError:
        text = "The browser (or proxy) sent a request that this server could not understand."
        raise DifyError(400, "bad_request", text) from None
    return HitTestingPayload.model_validate(body)


def _unauthorized(message: str) -> DifyError:
    return DifyError(401, "unauthorized", message)


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, DifyError):
        raise error
    headers = {"WWW-Authenticate": 'Bearer realm="api"'} if error.status == 401 else None
    return JSONResponse(error.body, error.status, headers)


async def _invalid(request: Request, error: Exception) -> Response:
    return await _refused(request, invalid_param(str(error)))


async def _not_allowed(_: Request, __: Exception) -> Response:
    body = {"code": "method_not_allowed", "message": "The method is not allowed for the requested URL.", "status": 405}
    return JSONResponse(body, 405)


async def _not_found(request: Request, _: Exception) -> Response:
    single = re.sub("/{2,}", "/", request.url.path)
    if single != request.url.path and _is_served(request, single):
        target = str(request.url.replace(path=single))
        return HTMLResponse(_MOVED.format(target), 308, {"Location": target})
    return HTMLResponse(_NOT_FOUND, 404)


def _is_served(request: Request, path: str) -> bool:
    scope = {**request.scope, "path": path}
    return any(route.matches(scope)[0] is not Match.NONE for route in request.app.routes)


class _VersionHeaders:
    """Puts Dify's version on every answer, the HTML pages included."""

    def __init__(self, served: ASGIApp) -> None:
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_version(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Version"] = "1.16.0"
                headers["X-Env"] = "PRODUCTION"
            await send(message)

        await self._served(scope, receive, send_with_version)
