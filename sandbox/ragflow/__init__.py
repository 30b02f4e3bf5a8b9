"""RAGFlow 0.27's HTTP API: retrieval and the list of datasets."""

import uuid
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.ids import hex32_of
from sandbox.ragflow.datasets import TENANT, Dataset, details, tenant
from sandbox.ragflow.errors import RagflowError, data_error, exception
from sandbox.ragflow.payload import metadata_fields, parsed
from sandbox.ragflow.records import answer, graph_entry
from sandbox.ragflow.search import search
from sandbox.ranking import Index

_PARAMETERS = {"page", "page_size", "orderby", "desc", "name", "id", "ids"}


def settings(origin: str) -> dict[str, Any]:
    """Return the creation settings that reach the handbook at this origin, without the key."""
    return {"api_base_url": origin, "dataset_id": hex32_of("ragflow", "handbook")}


def app(index: Index, key: str) -> Starlette:
    """Return a tenant with datasets over the index that opens for this key alone."""
    api = _Api(index, key, tenant())
    # A slash too many, before or after, does no harm.
    routes = [
        Route(path, endpoint, methods=[method])
        for method, plain, endpoint in (
            ("POST", "/api/v1/retrieval", api.retrieval),
            ("GET", "/api/v1/datasets", api.list_datasets),
        )
        for path in (plain, f"{plain}/", f"/{plain}")
    ]
    served = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_allowed, RagflowError: _refused})
    served.router.redirect_slashes = False
    return served


class _Api:
    def __init__(self, index: Index, key: str, datasets: dict[str, Dataset]) -> None:
        self._index = index
        self._key = key
        self._datasets = datasets

    async def retrieval(self, request: Request) -> Response:
        self._authorize(request)
        body = await _body(request)
        try:
            return JSONResponse({"code": 0, "data": self._retrieved(body)})
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise exception(repr(error)) from None

    async def list_datasets(self, request: Request) -> Response:
        self._authorize(request)
        asked = request.query_params
        for name, value in asked.items():
            if name not in _PARAMETERS:
                raise _bad_parameter(name, "Extra inputs are not permitted", value)
        page, size = _positive(asked, "page", 1), _positive(asked, "page_size", 30)
        if size > 100:
            text = "Value error, page_size must be less than or equal to 100"
            raise _bad_parameter("page_size", text, asked["page_size"])
        named = [dataset for dataset in self._datasets.values() if asked.get("name", dataset.name) == dataset.name]
        if not named:
            raise _no_permission(asked["name"])
        if wanted := asked.get("id"):
            named = [self._own(wanted)]
        elif several := asked.getlist("ids"):
            named = [dataset for dataset in named if dataset.id in several]
        shown = named[(page - 1) * size : page * size]
        data = [details(dataset, self._index.passages) for dataset in shown]
        return JSONResponse({"code": 0, "data": data, "total_datasets": len(named)})

    def _retrieved(self, body: dict[str, Any]) -> dict[str, Any]:
        query = parsed(body, self._datasets, self._index.passages)
        if query is None:
            return {"chunks": [], "doc_aggs": {}, "total": 0}
        data = answer(search(self._index, query), query, metadata_fields(body))
        if body.get("use_kg") and any(dataset.has_graph for dataset in query.datasets):
            data["chunks"].insert(0, graph_entry(query.datasets))
        return data

    def _own(self, dataset_id: str) -> Dataset:
        try:
            uuid.UUID(dataset_id)
        except ValueError:
            raise _bad_parameter("id", "Invalid UUID format", dataset_id) from None
        if dataset_id not in self._datasets:
            raise _no_permission(dataset_id)
        return self._datasets[dataset_id]

    def _authorize(self, request: Request) -> None:
        sent = request.headers.get("Authorization", "").strip()
        scheme, _, token = sent.partition(" ")
        if self._key not in {sent, token.strip() if scheme.lower() == "bearer" else ""}:
            raise exception("<Unauthorized '401: Unauthorized'>", 401)


async def _body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    if raw and request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        raise exception("TypeError('Request body is not a valid form payload.')")
    try:
        body = await request.json() if raw else {}
    except ValueError:
        raise exception("<BadRequest '400: Bad Request'>") from None
    if not isinstance(body, dict):
        raise exception("TypeError('JSON payload must be an object.')")
    return body


def _positive(asked: Mapping[str, str], name: str, default: int) -> int:
    try:
        number = int(asked.get(name, default))
    except ValueError:
        text = "Input should be a valid integer, unable to parse string as an integer"
        raise _bad_parameter(name, text, asked[name]) from None
    if number < 1:
        raise _bad_parameter(name, "Input should be greater than or equal to 1", asked[name])
    return number


def _no_permission(wanted: str) -> RagflowError:
    return data_error(f"User '{TENANT}' lacks permission for dataset '{wanted}'")


def _bad_parameter(name: str, message: str, value: str) -> RagflowError:
    return RagflowError(101, f"Field: <{name}> - Message: <{message}> - Value: <{value}>")


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, RagflowError):
        raise error
    return JSONResponse(error.body, error.status)


async def _not_allowed(request: Request, _: Exception) -> Response:
    return await _refused(request, exception("<MethodNotAllowed '405: Method Not Allowed'>"))


async def _not_found(request: Request, _: Exception) -> Response:
    body = {"code": 404, "data": None, "error": "Not Found", "message": f"Not Found: {request.url.path}"}
    return JSONResponse(body, 404)
