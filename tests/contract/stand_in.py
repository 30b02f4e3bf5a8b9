"""A recorded service behind respx: its answers to searches and look-ups, and the engine's view of them."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import respx
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from tests.contract.cases import HOST, KEY, RECORDINGS, Case

SKIPPED_HEADERS = ("content-length", "transfer-encoding", "connection", "content-encoding")


def recording(backend: str, name: str) -> Any:
    return json.loads((RECORDINGS / backend / f"{name}.json").read_text("utf-8"))


def rows_of(value: Any) -> list[Any]:
    """The list in an answer that holds the passages: the first list of objects found."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return value
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for found in map(rows_of, children) if found), [])


def with_rows(value: Any, rows: Any) -> Any:
    """An answer with something else in the place of its passages."""
    found = rows_of(value)
    if value is found:
        return rows
    if isinstance(value, dict):
        return {name: with_rows(item, rows) if rows_of(item) is found else item for name, item in value.items()}
    return value


def searches(case: Case) -> list[str]:
    """The names of all recorded searches of a service that were answered."""
    names = []
    for path in sorted((RECORDINGS / case.backend).glob("*.json")):
        told = json.loads(path.read_text("utf-8"))
        request = told["request"]
        where = urlsplit(str(request.get("path") or request.get("url"))).path.rstrip("/")
        probe = "probe" in (told.get("expect") or {})
        if request.get("method") == "POST" and told["status"] and re.search(case.search, where) and not probe:
            names.append(path.stem)
    return names


def answer(told: dict[str, Any]) -> httpx.Response:
    body, headers = told["response"], dict(told.get("response_headers") or {})
    headers = {name: value for name, value in headers.items() if name.lower() not in SKIPPED_HEADERS}
    if not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = told.get("content_type") or (
            "application/json" if isinstance(body, (dict, list)) else "text/html"
        )
    raw = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
    return httpx.Response(told["status"], headers=headers, content=raw)


@contextmanager
def service(case: Case, told: dict[str, Any] | httpx.Response) -> Iterator[list[httpx.Request]]:
    """Every POST gets this answer, every GET the look-up; yields the list of requests that came."""
    found = answer(told) if isinstance(told, dict) else told
    came: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        came.append(request)
        chosen = answer(recording(case.backend, case.look_up)) if request.method == "GET" and case.look_up else found
        return httpx.Response(chosen.status_code, headers=chosen.headers, content=chosen.content)

    with respx.mock(assert_all_called=False) as router:
        router.route(url__startswith=HOST).mock(side_effect=serve)
        yield came


def context(case: Case, query: str = "How long do refunds take?", **settings: Any) -> RetrievalContext:
    """A retrieval's context; `creation` and `retrieval` change the case's settings, `filters` filter."""
    return RetrievalContext(
        query=query,
        knowledge_base_id="kb",
        creation_settings={"backend": case.backend, "api_key": KEY, **case.creation, **settings.get("creation", {})},
        retrieval_settings={"top_k": 100, **case.retrieval, **settings.get("retrieval", {})},
        filters=settings.get("filters", {}),
    )
