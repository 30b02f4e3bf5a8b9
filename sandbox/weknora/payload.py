"""What WeKnora takes, and Go's words for what it can't read; null is left out, unknown fields are ignored."""

from typing import Any

from starlette.requests import Request

from sandbox.weknora.errors import WeknoraError, inside

_FIELDS: dict[str, tuple[str, Any]] = {
    "query_text": ("string", ""),
    "vector_threshold": ("float64", 0.0),
    "keyword_threshold": ("float64", 0.0),
    "match_count": ("int", 0),
    "disable_keywords_match": ("bool", False),
    "disable_vector_match": ("bool", False),
    "knowledge_ids": ("[]string", []),
    "knowledge_base_ids": ("[]string", []),
    "skip_context_enrichment": ("bool", False),
}
"""Each field's kind in Go, and what it is by itself."""


async def search_params(request: Request) -> dict[str, Any]:
    """Return every field of a search."""
    if not await request.body():
        raise _unreadable("EOF")
    try:
        body = await request.json()
    except ValueError:
        raise _unreadable("invalid character 'x' looking for beginning of value") from None
    if not isinstance(body, dict):
        raise _unreadable(f"json: cannot unmarshal {_kind(body)} into Go value of type types.SearchParams")
    asked = {}
    for name, (kind, default) in _FIELDS.items():
        value = body.get(name)
        if value is not None and not _fits(value, kind):
            where = f"Go struct field SearchParams.{name} of type {kind}"
            raise _unreadable(f"json: cannot unmarshal {_kind(value)} into {where}")
        asked[name] = default if value is None else value
    if not asked["query_text"].strip():
        raise inside(400, 1000, "query_text is required")
    return asked


def _unreadable(details: str) -> WeknoraError:
    return inside(400, 1000, "Invalid request parameters", details)


def _fits(value: Any, kind: str) -> bool:
    if kind == "[]string":
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if isinstance(value, bool) or kind == "bool":
        return isinstance(value, bool) and kind == "bool"
    return isinstance(value, {"string": str, "int": int, "float64": int | float}[kind])


def _kind(value: Any) -> str:
    kinds = ((bool, "bool"), (int | float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")
