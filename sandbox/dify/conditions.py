"""Dify's metadata filter."""

from collections.abc import Mapping
from typing import Any

from sandbox.conditions import TESTS
from sandbox.corpus import Document
from sandbox.dify.payload import Condition, Conditions

Metadata = Mapping[str, Any]

# Field and type of what the handbook's documents carry.
FIELDS = {"category": "string", "year": "number", "published": "time", "link": "string"}


def matches(conditions: Conditions | None, document: Document) -> bool:
    """Tell whether the document may be searched; like Dify, no condition at all lets everything pass."""
    usable = [c for c in (conditions.conditions or [] if conditions else []) if _has_value(c)]
    if conditions is None or not usable:
        return True
    together = any if conditions.logical_operator == "or" else all
    return together(_holds(condition, document.metadata) for condition in usable)


def _has_value(condition: Condition) -> bool:
    return condition.value is not None or condition.comparison_operator in {"empty", "not empty"}


def _holds(condition: Condition, metadata: Metadata) -> bool:
    found, operator = metadata.get(condition.name), condition.comparison_operator
    if found is None:
        return operator == "empty"
    return operator == "not empty" or (operator in TESTS and TESTS[operator](found, condition.value))
