"""Values as people and services send them, read kindly and written strictly."""

import hashlib
import math
from typing import Any

DEPTH_LIMIT = 20


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
    """32 hex digits that are the same at every call, for what has no id of its own."""
    return hashlib.sha256("\n".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:32]


def filled(**values: Any) -> dict[str, Any]:
    """The values that say something: no null, no empty text, list or object."""
    return {name: value for name, value in values.items() if value or value == 0}


def strict(value: Any, depth: int = DEPTH_LIMIT) -> Any:
    """What strict JSON and UTF-8 can carry of a value: no NaN, no infinity, no lone surrogate, no bottomless nesting."""
    if isinstance(value, str):
        return value if value.isascii() else _unicode(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict) and depth:
        return {strict(k): v if v is None or type(v) is int else strict(v, depth - 1) for k, v in value.items()}
    if isinstance(value, list) and depth:
        return [strict(item, depth - 1) for item in value]
    return None if isinstance(value, dict | list) else value


def strict_metadata(values: dict[str, Any]) -> dict[str, Any]:
    """`strict` for names of our own: most values are plain texts and numbers, which are let through at once."""
    return {
        name: value if type(value) is int or (type(value) is str and value.isascii()) else strict(value)
        for name, value in values.items()
    }


def _unicode(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
