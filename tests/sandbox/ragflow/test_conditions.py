"""The imitated RAGFlow's filters."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.corpus import Document, handbook
from sandbox.ranking import Index
from tests.sandbox.handbook import is_2025
from tests.sandbox.ragflow.asking import chunks, document_id, retrieval


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("category", "is", "Policy", lambda d: d.category == "policy"),
        ("category", "=", "policy", lambda d: d.category == "policy"),
        ("category", "not is", "policy", lambda d: d.category != "policy"),
        ("category", "is not", "policy", lambda _: False),
        ("category", "contains", "OLIC", lambda d: d.category == "policy"),
        ("category", "not contains", "olic", lambda d: d.category != "policy"),
        ("category", "start with", "log", lambda d: d.category == "logistics"),
        ("category", "end with", "ics", lambda d: d.category == "logistics"),
        ("category", "in", ["shop", "FAQ"], lambda d: d.category in {"shop", "faq"}),
        ("category", "in", "shop, faq", lambda d: d.category in {"shop", "faq"}),
        ("category", "not in", ["shop"], lambda d: d.category != "shop"),
        ("category", "empty", "", lambda _: False),
        ("category", "not empty", "", lambda _: True),
        ("category", ">", 5, lambda _: False),
        ("nope", "is", "x", lambda _: False),
        ("year", "=", 2025, is_2025),
        ("year", "is", "2025", is_2025),
        ("year", "!=", 2025, lambda d: d.year != 2025),
        ("year", ">", 2025, lambda d: d.year > 2025),
        ("year", "<", 2025, lambda d: d.year < 2025),
        ("year", ">=", 2025, lambda d: d.year >= 2025),
        ("year", "≤", 2025, lambda d: d.year <= 2025),
        ("published", "before", 1735689600, lambda _: False),
    ],
)
async def test_a_condition_keeps_the_documents_it_describes(
    index: Index, name: str, operator: str, value: Any, expected: Callable[[Document], bool]
) -> None:
    condition = {"conditions": [{"name": name, "comparison_operator": operator, "value": value}]}
    found = await retrieval(index, "lamp", similarity_threshold=0.0, page_size=100, metadata_condition=condition)
    kept = {passage.document.name for passage in handbook() if expected(passage.document)}
    assert {one["document_keyword"] for one in found["chunks"]} == kept
    assert found["doc_aggs"] == {} or kept


async def test_conditions_are_joined_by_logic(index: Index) -> None:
    both = [
        {"name": "category", "comparison_operator": "is", "value": "policy"},
        {"name": "year", "comparison_operator": "is", "value": 2026},
    ]

    async def documents(logic: str) -> set[str]:
        condition = {"logic": logic, "conditions": both}
        found = await chunks(index, "lamp", similarity_threshold=0.0, page_size=100, metadata_condition=condition)
        return {one["document_keyword"] for one in found}

    assert await documents("and") == {"warranty.md"}
    assert await documents("or") > {"warranty.md", "refund-policy.md", "opening-hours.md"}


async def test_document_ids_win_over_a_condition(index: Index) -> None:
    condition = {"conditions": [{"name": "category", "comparison_operator": "is", "value": "nothing"}]}
    wanted = [document_id("shipping.md")]
    found = await chunks(index, "parcel", document_ids=wanted, metadata_condition=condition)
    assert {one["document_keyword"] for one in found} == {"shipping.md"}
