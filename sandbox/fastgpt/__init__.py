"""FastGPT 4.14.13's open API for datasets: search test, details, list."""

import time
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from sandbox.fastgpt.datasets import CHAT_MODEL, Dataset, details, listed, team
from sandbox.fastgpt.errors import FastgptError, unauthorized
from sandbox.fastgpt.payload import DETAIL_FIELDS, LIST_FIELDS, SEARCH_FIELDS, checked
from sandbox.fastgpt.records import item
from sandbox.fastgpt.search import MOST_TOKENS, search, within
from sandbox.ids import hex24_of
from sandbox.ranking import Index

_LARGEST_BODY = 1024 * 1024
_NOT_FOUND = "<!DOCTYPE html><html><head><title>404: This page could not be found</title></head><body></body></html>"


def settings(origin: str) -> dict[str, Any]:
    """Return the creation settings that reach the handbook at this origin, without the key."""
    return {"api_base_url": origin, "dataset_id": hex24_of("fastgpt", "handbook")}


def app(index: Index, key: str) -> Starlette:
    """Return a team's datasets over the index that open for this key (`prefix-text`) alone."""
    api = _Api(index, key, team())
    methods = ["GET", "POST"]
    routes = [
        Route("/api/core/dataset/searchTest", api.search_test, methods=methods),
        Route("/api/core/dataset/detail", api.detail, methods=methods),
        Route("/api/core/dataset/list", api.list_datasets, methods=methods),
    ]
    served = Starlette(routes=routes, exception_handlers={404: _not_found, FastgptError: _refused, _PlainError: _plain})
    served.router.redirect_slashes = False
    return served


class _PlainError(Exception):
    """An answer of Next.js itself: a status and a text without a type."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Api:
    def __init__(self, index: Index, key: str, datasets: dict[str, Dataset]) -> None:
        self._index = index
        self._key = key
        self._datasets = datasets

    async def search_test(self, request: Request) -> Response:
        asked = checked(await _body(request), SEARCH_FIELDS)
        dataset = self._dataset(request, asked["datasetId"])
        if asked["datasetDeepSearch"]:
            raise FastgptError(500, "error", "The request was denied...")
        started = time.perf_counter()
        found, is_reranked = search(self._index, asked, dataset.holds)
        limit = min(asked["limit"], MOST_TOKENS)
        data = {
            "list": [item(dataset, one) for one in within(limit, found)],
            "duration": f"{time.perf_counter() - started:.3f}s",
            "limit": limit,
            "searchMode": asked["searchMode"],
            "usingReRank": is_reranked,
            "similarity": asked["similarity"],
        }
        if asked["datasetSearchUsingExtensionQuery"]:
            data["queryExtensionModel"] = CHAT_MODEL
        return _answer(data)

    async def detail(self, request: Request) -> Response:
        asked = checked(dict(request.query_params), DETAIL_FIELDS)
        return _answer(details(self._dataset(request, asked["id"])))

    async def list_datasets(self, request: Request) -> Response:
        body = await _body(request)
        asked = checked(body, LIST_FIELDS)["parentId"]
        self._authorize(request)
        parent = self._dataset(request, asked).id if asked else None
        readable = [dataset for dataset in self._datasets.values() if dataset.is_readable]
        # Without the field FastGPT lists every level, with null the uppermost.
        found = [dataset for dataset in readable if "parentId" not in body or dataset.parent_id == parent]
        return _answer([listed(dataset) for dataset in found])

    def _dataset(self, request: Request, dataset_id: str) -> Dataset:
        self._authorize(request)
        dataset = self._datasets.get(dataset_id.lower())
        if dataset is None:
            raise FastgptError(501002, "unExistDataset", "common:core.dataset.error.unExistDataset")
        if not dataset.is_readable:
            raise FastgptError(501004, "unAuthDataset", "core.dataset.error.unAuthDataset")
        return dataset

    def _authorize(self, request: Request) -> None:
        # FastGPT never looks at the scheme, and drops the app id of a key in the old form `prefix-text-app`.
        _, _, rest = request.headers.get("Authorization", "").partition(" ")
        parts = rest.partition(" ")[0].split("-")
        if len(parts) not in {2, 3}:
            raise unauthorized()
        if "-".join(parts[:2]) != self._key:
            raise FastgptError(514, "unAuthApiKey", "common:code_error.error_message.514")


async def _body(request: Request) -> Any:
    raw = await request.body()
    if len(raw) > _LARGEST_BODY:
        raise _PlainError(413, "Body exceeded 1mb limit")
    if request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        return raw.decode(errors="replace")
    try:
        return await request.json() if raw else {}
    except ValueError:
        raise _PlainError(400, "Invalid JSON") from None


def _answer(data: Any) -> Response:
    return _Utf8JSON({"code": 200, "statusText": "", "message": "", "data": data})


class _Utf8JSON(JSONResponse):
    media_type = "application/json; charset=utf-8"


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, FastgptError):
        raise error
    headers = {"Set-Cookie": "fastgpt_token=; Path=/; Max-Age=0"} if error.status == 403 else None
    return _Utf8JSON(error.body, error.status, headers)


async def _plain(_: Request, error: Exception) -> Response:
    if not isinstance(error, _PlainError):
        raise error
    return Response(str(error), error.status)


async def _not_found(_: Request, __: Exception) -> Response:
    return HTMLResponse(_NOT_FOUND, 404)
