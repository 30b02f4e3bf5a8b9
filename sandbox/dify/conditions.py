"""Dify's metadata filter: a document without the field matches nothing but `empty`, and numbers are PostgreSQL's."""

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.conditions import TESTS
from sandbox.dify.errors import DifyError
from sandbox.dify.metadata import Metadata
from sandbox.dify.payload import Condition, Conditions
from sandbox.dify.sql import no_number

Test = Callable[[Any, Any], bool]

_EQUALITY = {"is": "is", "=": "is", "is not": "is not", "≠": "is not"}
_COMPARISONS: Mapping[str, tuple[str, Test]] = {
    "is": ("=", TESTS["="]),
    "=": ("=", TESTS["="]),
    "is not": ("!=", TESTS["≠"]),
    "≠": ("!=", TESTS["≠"]),
    ">": (">", TESTS[">"]),
    "after": (">", TESTS[">"]),
    "<": ("<", TESTS["<"]),
    "before": ("<", TESTS["<"]),
    "≥": (">=", TESTS["≥"]),
    "≤": ("<=", TESTS["≤"]),
}


def matches(conditions: Conditions | None, metadata: Metadata, dataset_id: str) -> bool:
    """Tell whether the document may be searched; like Dify, no condition at all lets everything pass."""
    if conditions is None:
        return True
    if conditions.conditions is None:
        raise DifyError(500, "internal_server_error", "'NoneType' object is not iterable")
    usable = [condition for condition in conditions.conditions if _counts(condition)]
    # Every condition is looked at: one that PostgreSQL can't compute fails the search whatever the others say.
    held = [_holds(condition, metadata, dataset_id) for condition in usable]
    return not held or (any(held) if conditions.logical_operator == "or" else all(held))


def _counts(condition: Condition) -> bool:
    if condition.comparison_operator in _EQUALITY:
        return isinstance(condition.value, str | int | float)
    return condition.value is not None or condition.comparison_operator in {"empty", "not empty"}


def _holds(condition: Condition, metadata: Metadata, dataset_id: str) -> bool:
    found, how, value = metadata.get(condition.name), condition.comparison_operator, condition.value
    if how in {"empty", "not empty"}:
        return (found is None) is (how == "empty")
    if how in {"in", "not in"}:
        values = _values(value)
        return how == "not in" if not values else found is not None and (str(found) in values) is (how == "in")
    if how in _EQUALITY and isinstance(value, str):
        return found is not None and TESTS[_EQUALITY[how]](found, value)
    if how not in _COMPARISONS:
        return found is not None and TESTS[how](found, value)
    sign, test = _COMPARISONS[how]
    for number in (value, found):
        if number is not None and not _is_number(number):
            raise no_number(number, condition, sign, dataset_id)
    return found is not None and test(found, value)


def _values(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
