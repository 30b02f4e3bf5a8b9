"""The imitated Dify's metadata filter."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sandbox.corpus import Document, handbook
from sandbox.dify.datasets import plain_settings
from sandbox.dify.payload import SearchMethod
from sandbox.ranking import Index
from tests.sandbox.dify.asking import post
from tests.sandbox.handbook import is_2025


def condition(name: str, operator: str, value: Any) -> dict[str, Any]:
    return {"name": name, "comparison_operator": operator, "value": value}


async def filtered(
    index: Index, *conditions: dict[str, Any], dataset: str = "handbook", logic: str = "and", **settings: Any
) -> httpx.Response:
    model = plain_settings(SearchMethod.SEMANTIC, 100) | settings
    model["metadata_filtering_conditions"] = {"logical_operator": logic, "conditions": conditions}
    return await post(index, dataset, {"query": "lamp", "retrieval_model": model})


async def documents(index: Index, *conditions: dict[str, Any], logic: str = "and") -> set[str]:
    found = (await filtered(index, *conditions, logic=logic)).json()["records"]
    return {record["segment"]["document"]["name"] for record in found}


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
        ("category", "in", [], lambda _: False),
        ("category", "in", "", lambda _: False),
        ("category", "not in", ["shop"], lambda d: d.category != "shop"),
        ("category", "not in", [], lambda _: True),
        ("year", "in", ["2024", "2026"], lambda d: d.year != 2025),
        ("year", "in", 2025, is_2025),
        ("year", "not in", "2025", lambda d: d.year != 2025),
        ("category", "empty", None, lambda _: False),
        ("category", "not empty", None, lambda _: True),
        ("nope", "empty", None, lambda _: True),
        ("category", "is", None, lambda _: True),
        ("category", "is", ["policy"], lambda _: True),
        ("year", "=", 2025, is_2025),
        ("year", "=", "2025", is_2025),
        ("year", "is", 2025, is_2025),
        ("year", "is not", "2025", lambda d: d.year != 2025),
        ("year", "≠", 2025, lambda d: d.year != 2025),
        ("year", ">", 2025, lambda d: d.year > 2025),
        ("year", "<", 2025, lambda d: d.year < 2025),
        ("year", "≥", 2025, lambda d: d.year >= 2025),
        ("year", "≤", "2025", lambda d: d.year <= 2025),
        ("year", "≤", 2025, lambda d: d.year <= 2025),
        ("published", "after", 1735689600, lambda d: d.year > 2025),
        ("published", "before", 1735689600, lambda d: d.year < 2025),
    ],
)
async def test_a_filter_keeps_the_documents_it_describes(
    index: Index, name: str, operator: str, value: Any, expected: Callable[[Document], bool]
) -> None:
    found = await documents(index, condition(name, operator, value))
    assert found == {passage.document.name for passage in handbook() if expected(passage.document)}


@pytest.mark.parametrize(
    "operator", ["is", "is not", "contains", "not contains", "in", "not in", "=", "≠", ">", "before"]
)
async def test_a_field_that_no_document_has_matches_nothing(index: Index, operator: str) -> None:
    assert await documents(index, condition("nope", operator, "5")) == set()


async def test_conditions_are_joined(index: Index) -> None:
    both = [condition("category", "is", "policy"), condition("year", "=", 2026)]
    assert await documents(index, *both) == {"warranty.md"}
    assert await documents(index, *both, logic="or") > {"warranty.md", "refund-policy.md", "opening-hours.md"}


@pytest.mark.parametrize("logic", ["and", "or"])
@pytest.mark.parametrize(
    ("name", "operator", "value", "quoted"),
    [("category", ">", 1, "policy"), ("category", "=", 1, "policy"), ("year", "≥", "new", "new")],
)
async def test_a_text_that_is_compared_as_a_number_fails_the_search(
    index: Index, name: str, operator: str, value: Any, quoted: str, logic: str
) -> None:
    response = await filtered(
        index,
        condition("year", "=", 2024),
        condition(name, operator, value),
        logic=logic,
        search_method="full_text_search",
    )
    assert (response.status_code, response.json()["code"]) == (500, "internal_server_error")
    assert f'invalid input syntax for type double precision: "{quoted}"' in response.json()["message"]


async def test_nothing_is_searched_where_no_document_is_left(index: Index) -> None:
    nothing = condition("category", "is", "nothing")
    for dataset in ("handbook-economy", "external", "no-model"):
        response = await filtered(index, nothing, dataset=dataset)
        assert (response.status_code, response.json()["records"]) == (200, [])
        assert (await filtered(index, dataset=dataset)).status_code == (200 if dataset == "external" else 400)


async def test_conditions_that_are_null_break_the_search(index: Index) -> None:
    model = plain_settings(SearchMethod.SEMANTIC, 5) | {"metadata_filtering_conditions": {"logical_operator": "and"}}
    response = await post(index, "handbook", {"query": "lamp", "retrieval_model": model})
    assert (response.status_code, response.json()["code"]) == (500, "internal_server_error")
