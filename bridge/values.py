"""Values as people and services send them, read kindly and written strictly."""

import hashlib
import json
import math
from typing import Any

import orjson

DEPTH_LIMIT = 20
DIGESTED = 1000
"""Characters of a text that count whole in its digest."""


def finite(value: Any) -> float:
    """A finite number, also one written as text; ValueError for everything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("must be a number")
    return number


def text(value: Any) -> str:
    """`value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    """A finite number, also one written as text; None for everything else."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return finite(value)
    except ValueError:
        return None


def worst_last(score: Any) -> float:
    """A sort key: best score first, what is no number last."""
    value = number(score)
    return math.inf if value is None else -value


def mapping(value: Any) -> dict[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def first(values: dict[str, Any], *names: str) -> str:
    """The first text under one of these names that says something, else an empty one."""
    for name in names:
        value = values.get(name)
        if value and isinstance(value, str):
            return value
    return ""


def joined(question: str, answer: str) -> str:
    """Question and answer in two lines, or the one of them that says something."""
    if not answer or not answer.strip():
        return question
    return f"{question}\n{answer}" if question.strip() else answer


def link_in(values: dict[str, Any]) -> str:
    """The first web address under a name that means one, in a document's metadata."""
    for name in ("url", "link", "source_url", "source", "path") if values else ():
        value = values.get(name)
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            return value
    return ""


def digest(*parts: Any) -> str:
    """32 hex digits that are the same at every call, for what has no id of its own.

    Of a long text its start, its end and its length count: reading all of it costs more than the rest of a passage.
    """
    told = (part if len(part) <= DIGESTED else f"{part[:600]}{part[-300:]}{len(part)}" for part in map(str, parts))
    return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest()[:32]


def filled(**values: Any) -> dict[str, Any]:
    """The values that say something: no null, no empty text, list or object."""
    return {name: value for name, value in values.items() if value or value == 0}


def to_json(value: Any) -> bytes:
    """JSON as UTF-8; what UTF-8 can't carry becomes a question mark."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, or an integer past 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def from_json(raw: bytes | str) -> tuple[Any, bool]:
    """The value of a JSON text and whether it is one; what comes is strict, whatever was sent.

    Also what orjson refuses and real services or proxies send: a byte order mark, UTF-16, NaN, lone surrogates, line
    breaks and other control characters as they are.
    """
    try:
        return orjson.loads(raw), True
    except ValueError:
        pass
    try:
        return strict(json.loads(raw, strict=False)), True
    except (ValueError, RecursionError):
        return None, False


def strict(value: Any) -> Any:
    """What strict JSON and UTF-8 can carry of a value: no NaN, no infinity, no lone surrogate."""
    if isinstance(value, str):
        return value if value.isascii() else _unicode(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {strict(name): strict(item) for name, item in value.items()}
    if isinstance(value, list):
        return [strict(item) for item in value]
    return value


def carried(value: Any) -> Any:
    """A value as JSON can carry it to any reader: bottomless nesting is cut, NUL dropped, all else stays as it is."""
    try:
        if b"\\u0000" not in orjson.dumps(value):
            return value
    except TypeError:
        pass
    return _cut(value, DEPTH_LIMIT)


def _cut(value: Any, depth: int) -> Any:
    """Lists and objects below `depth` levels are None; no text holds NUL, which databases refuse."""
    if isinstance(value, dict):
        return {name.replace("\0", ""): _cut(item, depth - 1) for name, item in value.items()} if depth else None
    if isinstance(value, list):
        return [_cut(item, depth - 1) for item in value] if depth else None
    return value.replace("\0", "") if isinstance(value, str) else value


def _unicode(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def counted(value: Any, what: str) -> str:
    """How many there are of something, named in the singular; blank where nobody told."""
    return "" if number(value) is None else f"{value} {what}{'' if value == 1 else 's'}"
