"""Reading what people and services send: kindly, and one record at a time."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from adapters.errors import ResponseError

if TYPE_CHECKING:
    from adapters.base import Hit
    from adapters.transport import Http

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


def filled(**values: Any) -> dict[str, Any]:
    """The values that say something: no null, no empty text, list or object."""
    return {name: value for name, value in values.items() if value or value == 0}


def strict(value: Any, depth: int = DEPTH_LIMIT) -> Any:
    """What strict JSON and UTF-8 can carry of a value: no NaN, no infinity, no lone surrogate, no bottomless nesting."""
    if isinstance(value, str):
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not depth and isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        return {strict(name): strict(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list):
        return [strict(item, depth - 1) for item in value]
    return value


def read_each(items: Any, read: Callable[[dict[str, Any]], "Hit"], http: "Http") -> list["Hit"]:
    """Read a list of records one by one; what is no object or has no passage is left out and counted in a note.

    ResponseError where `items` is no list.
    """
    if not isinstance(items, list):
        raise ResponseError("the answer holds no list of passages", "Check that api_base_url belongs to this service")
    hits = [read(item) for item in items if isinstance(item, dict)]
    good = [hit for hit in hits if hit.text.strip()]
    if odd := len(items) - len(good):
        http.note(f"{odd} of {len(items)} records had no passage and were left out")
    return good


def problems_of(error: ValidationError) -> str:
    """Pydantic's findings in words: each setting and what it may be, never its value."""
    problems = []
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        name = next((str(part) for part in reversed(found["loc"]) if isinstance(part, str)), "")
        told = "is missing" if found["type"] == "missing" else found["msg"].removeprefix("Value error, ")
        problems.append(f"{'' if name == 'options' else name} {told[:1].lower()}{told[1:]}".strip())
    return "; ".join(problems[:3])
