"""The imitated Dify's filters."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.corpus import Document, handbook
from sandbox.ranking import Index
from tests.sandbox.dify.asking import records
from tests.sandbox.handbook import is_2025


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("category", "is", "policy", lambda d: d.category == "policy"),
        ("category", "is not", "policy", lambda d: d.category != "policy"),
        ("category", "contains", "olic", lambda d: d.category == "policy"),
        ("category", "not contains", "olic", lambda d: d.category != "policy"),
        ("category", "start with", "log", lambda d: d.category == "logistics"),
        ("category", "end with", "ics", lambda d: d.category == "logistics"),
        ("category", "in", ["shop", "faq"], lambda d: d.category in {"shop", "faq"}),
        ("category", "in", "shop, faq", lambda d: d.category in {"shop", "faq"}),
        ("category", "not in", ["shop"], lambda d: d.category != "shop"),
        ("category", "empty", None, lambda _: False),
        ("category", "not empty", None, lambda _: True),
        ("nope", "empty", None, lambda _: True),
        ("nope", "is not", "x", lambda _: False),
        ("category", "is", None, lambda _: True),
        ("year", "=", 2025, is_2025),
        ("year", "=", "2025", is_2025),
        ("year", "≠", 2025, lambda d: d.year != 2025),
        ("year", ">", 2025, lambda d: d.year > 2025),
        ("year", "<", 2025, lambda d: d.year < 2025),
        ("year", "≥", 2025, lambda d: d.year >= 2025),
        ("year", "≤", 2025, lambda d: d.year <= 2025),
        ("published", "after", 1735689600, lambda d: d.year > 2025),
        ("published", "before", 1735689600, lambda d: d.year < 2025),
    ],
)
async def test_a_filter_keeps_the_documents_it_describes(
    index: Index, name: str, operator: str, value: Any, expected: Callable[[Document], bool]
) -> None:
    condition = {"name": name, "comparison_operator": operator, "value": value}
    conditions = {"logical_operator": "and", "conditions": [condition]}
    found = await records(index, "lamp", top_k=100, metadata_filtering_conditions=conditions)
    assert {record["segment"]["document"]["name"] for record in found} == {
        passage.document.name for passage in handbook() if expected(passage.document)
    }
