"""RAGFlow's `metadata_condition`."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.conditions import TESTS
from sandbox.corpus import Document

_SAME = {"is": "=", "not is": "≠", ">=": "≥", "<=": "≤", "!=": "≠"}
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "≠": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    "≥": operator.ge,
    "≤": operator.le,
}
_TEXT_TESTS = {"contains", "not contains", "start with", "end with", "in", "not in"}


def matches(condition: Mapping[str, Any], document: Document) -> bool:
    """Tell whether the document may be searched; without any condition none may, and an unknown field matches none."""
    # RAGFlow reads the three keys of every condition in this order; a missing one is a KeyError.
    tests = [(c["comparison_operator"], c["name"], c["value"]) for c in condition.get("conditions", [])]
    together = any if condition.get("logic", "and") == "or" else all
    return bool(tests) and together(_holds(document.metadata.get(name), how, value) for how, name, value in tests)


def _holds(found: Any, how: str, value: Any) -> bool:
    how = _SAME.get(how, how)
    if found is None:
        return False
    if how in {"empty", "not empty"}:
        return bool(found) is (how == "not empty")
    if how in _TEXT_TESTS:
        return TESTS[how](_lower(found), _lower(value))
    try:
        return how in _COMPARISONS and _COMPARISONS[how](_comparable(found), _comparable(value))
    except TypeError:
        return False


def _lower(value: Any) -> Any:
    return [_lower(one) for one in value] if isinstance(value, list) else str(value).lower()


def _comparable(value: Any) -> float | str:
    try:
        return float(value)
    except ValueError:
        return str(value).lower()
