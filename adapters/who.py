"""Who answered, told by the form of an answer: each service says what its own answers look like."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bridge.errors import BridgeError, NotFoundError
from bridge.http import Reply, in_front, is_in_front, no_route

NAMES = 24
"""Names of an object that a form holds at most."""


class Forms(NamedTuple):
    """How a service's answers look, as patterns that are searched for in a `form`."""

    own: str = r"(?!)"
    """What the service sends."""
    marks: str = r"(?!)"
    """What of that no other service sends, so that it is recognised where another one was expected."""
    loose: bool = False
    """Whether JSON of any form may be the service's, since nobody wrote all of them down."""


def stranger(reply: Reply, product: str, forms: Forms, others: Mapping[str, Forms]) -> BridgeError | None:
    """The error for an answer that somebody else gave in the service's place; None where nobody else is to be seen."""
    if _is_own(reply, forms):
        return None
    error: BridgeError | None
    if other := looks_like(form(reply), others):
        error = NotFoundError(
            f"this looks like {other} ({reply.said})", f"Check that api_base_url is {product}'s, or choose {other}"
        )
    elif _may_be_own(reply, forms) and not is_in_front(reply):
        error = None
    else:
        error = in_front(reply, product)
    if error:
        error.foreign = True
    return error


def in_own_words(reply: Reply, forms: Forms) -> bool:
    """Whether the service itself says what went wrong, and not just that nobody serves the path."""
    return reply.is_json and not reply.blank and (forms.loose or _is_own(reply, forms)) and not no_route(reply)


def looks_like(shape: str, services: Mapping[str, Forms]) -> str:
    """The service whose marks a form has, empty for none."""
    return next((name for name, forms in services.items() if re.search(forms.marks, shape)), "")


def _is_own(reply: Reply, forms: Forms) -> bool:
    return bool(re.search(forms.own, form(reply))) and not is_in_front(reply)


def _may_be_own(reply: Reply, forms: Forms) -> bool:
    return reply.blank or (reply.is_json and forms.loose)


def form(reply: Reply) -> str:
    """An answer in a line: the status, what came, and the names of its own headers behind a semicolon.

    What came is `nothing`, `page`, `words`, or the kind of JSON, an object as its sorted names and kinds:
    `404 code:404 data:null message:text; x-version`. An error that FastAPI put under `detail` counts as it is.
    """
    return f"{reply.status} {_body(reply)}; {' '.join(sorted(name for name in reply.headers if name[:2] == 'x-'))}"


def form_of(data: Any) -> str:
    """The form of an answer that was accepted."""
    return f"200 {_object(data)};"


def _body(reply: Reply) -> str:
    if reply.blank:
        return "nothing"
    if not reply.is_json:
        return "page" if reply.html else "words"
    wrapped = reply.data.get("detail") if isinstance(reply.data, dict) else None
    return _object(wrapped if isinstance(wrapped, dict) else reply.data)


def _object(data: Any) -> str:
    if not isinstance(data, dict):
        return _kind(data)
    return " ".join(f"{name}:{_kind(data[name])}" for name in sorted(data)[:NAMES])


def _kind(value: Any) -> str:
    match value:
        case None | bool():
            return "null" if value is None else str(value).lower()
        case int():
            return str(value) if abs(value) < 1_000_000 else "number"
        case float():
            return "number"
        case str():
            return "text"
        case dict():
            return f"{{{' '.join(sorted(value)[:NAMES])}}}"
    return "list"
