"""A server of one's own that speaks Dify's external knowledge API."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.conditions import TESTS
from sandbox.corpus import Document, Passage
from sandbox.ranking import Hit, Index, best_pieces

KNOWLEDGE = frozenset({"handbook", "empty"})

_OPERATORS = TESTS.keys() | {"empty", "not empty"}


def settings(origin: str) -> dict[str, Any]:
    """Return the creation settings that reach the handbook at this origin, without the key."""
    return {"api_base_url": origin, "dataset_id": "handbook"}


def app(index: Index, key: str) -> Starlette:
    """Return a server over the index that opens for this key alone."""
    api = _Api(index, key)
    return Starlette(
        routes=[Route("/retrieval", api.retrieval, methods=["POST"])],
        exception_handlers={_RefusedError: _refused, HTTPException: _elsewhere},
    )


class _RefusedError(Exception):
    """An answer `{"error_code", "error_msg"}`."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error_code": code, "error_msg": message}


class _Api:
    def __init__(self, index: Index, key: str) -> None:
        self._index = index
        self._key = key

    async def retrieval(self, request: Request) -> Response:
        self._authorize(request)
        body = await _body(request)
        knowledge, query = _text(body, "knowledge_id"), _text(body, "query")
        wanted = body.get("retrieval_setting")
        if not isinstance(wanted, dict):
            raise _bad_request("retrieval_setting is required")
        top_k, threshold = _number(wanted, "top_k"), _number(wanted, "score_threshold")
        if knowledge not in KNOWLEDGE:
            raise _RefusedError(404, 2001, "The knowledge does not exist")
        conditions = _conditions(body.get("metadata_condition"))

        def keep(passage: Passage) -> bool:
            return knowledge != "empty" and _matches(conditions, passage.document)

        hits = best_pieces(self._index.hybrid(query, 0.5, keep))
        good = [hit for hit in hits if hit.score > 0 and hit.score >= threshold]
        return JSONResponse({"records": [_record(hit) for hit in good[: max(0, int(top_k))]]})

    def _authorize(self, request: Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise _RefusedError(403, 1001, "Invalid Authorization header format.")
        if token.strip() != self._key:
            raise _RefusedError(403, 1002, "Authorization failed")


def _record(hit: Hit) -> dict[str, Any]:
    document = hit.passage.document
    return {
        "content": hit.passage.full_text,
        "score": hit.score,
        "title": document.name,
        "metadata": document.metadata,
    }


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except json.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise _bad_request("a JSON object is required")
    return body


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise _bad_request(f"{name} is required")
    return value


def _number(wanted: Mapping[str, Any], name: str) -> float:
    value = wanted.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad_request(f"retrieval_setting.{name} must be a number")
    return value


class _Conditions:
    """A checked `metadata_condition`."""

    def __init__(self, conditions: Iterable[Mapping[str, Any]], logic: str) -> None:
        self.conditions = tuple(conditions)
        self.together = any if logic == "or" else all


def _conditions(sent: Any) -> _Conditions | None:
    if sent is None:
        return None
    if not isinstance(sent, dict) or not isinstance(sent.get("conditions"), list):
        raise _bad_request("metadata_condition.conditions must be a list")
    # RAGFlow calls it `logic`, the protocol `logical_operator`.
    logic = sent.get("logical_operator") or sent.get("logic") or "and"
    if logic not in {"and", "or"}:
        raise _bad_request("metadata_condition.logical_operator must be and or or")
    for condition in sent["conditions"]:
        if not isinstance(condition, dict) or condition.get("comparison_operator") not in _OPERATORS:
            raise _bad_request("unknown comparison_operator")
    return _Conditions(sent["conditions"], logic)


def _matches(wanted: _Conditions | None, document: Document) -> bool:
    if wanted is None or not wanted.conditions:
        return True
    return wanted.together(_holds(condition, document) for condition in wanted.conditions)


def _holds(condition: Mapping[str, Any], document: Document) -> bool:
    # The protocol's older page has a list of names.
    name = condition.get("name")
    names: list[Any] = name if isinstance(name, list) else [name]
    how, value = condition["comparison_operator"], condition.get("value")
    return any(_is_true(how, document.metadata.get(one), value) for one in names)


def _is_true(how: str, found: Any, value: Any) -> bool:
    if how in {"empty", "not empty"}:
        return (found is None) is (how == "empty")
    if found is None or value is None:
        return False
    try:
        return TESTS[how](found, _seconds(value) if how in {"before", "after"} else value)
    except (TypeError, ValueError):
        return False


def _seconds(value: Any) -> Any:
    if not isinstance(value, str) or "-" not in value:
        return value
    moment = datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _bad_request(message: str) -> _RefusedError:
    return _RefusedError(400, 4000, message)


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, _RefusedError):
        raise error
    return JSONResponse(error.body, error.status)


async def _elsewhere(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return JSONResponse({"detail": error.detail}, error.status_code)
