"""How the services compare a document's field with the value of a filter."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Test = Callable[[Any, Any], bool]


def _is_in(found: Any, value: Any) -> bool:
    parts: Sequence[Any] = value.split(",") if isinstance(value, str) else value
    return str(found) in [str(part).strip() for part in parts]


# Under Dify's names of the operators; `empty` and `not empty` look at no value.
TESTS: Mapping[str, Test] = {
    "is": lambda found, value: str(found) == str(value),
    "is not": lambda found, value: str(found) != str(value),
    "contains": lambda found, value: str(value) in str(found),
    "not contains": lambda found, value: str(value) not in str(found),
    "start with": lambda found, value: str(found).startswith(str(value)),
    "end with": lambda found, value: str(found).endswith(str(value)),
    "in": _is_in,
    "not in": lambda found, value: not _is_in(found, value),
    "=": lambda found, value: float(found) == float(value),
    "≠": lambda found, value: float(found) != float(value),
    ">": lambda found, value: float(found) > float(value),
    "<": lambda found, value: float(found) < float(value),
    "≥": lambda found, value: float(found) >= float(value),
    "≤": lambda found, value: float(found) <= float(value),
    "after": lambda found, value: float(found) > float(value),
    "before": lambda found, value: float(found) < float(value),
}
