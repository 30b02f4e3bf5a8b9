"""The imitated external knowledge server against exchanges written from Dify's documentation."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sandbox import external_knowledge
from sandbox.corpus import Document, handbook
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.exchanges import KEYS, Exchange, difference, post
from tests.sandbox.handbook import PASSAGES, is_2025

KEY = KEYS["external_knowledge"]
REPLACED = {
    "API_KEY": KEY,
    "kb-1": "handbook",
    "return period": "refunds paid",
    '"value": "returns"': '"value": "policy"',
}
ANSWERS = {
    "01_success": {},
    "02_no_hits": {"refunds paid": "zebra"},
    "03_with_metadata_condition": {},
}
REFUSALS = {
    "04_error_1001_bad_header": {},
    "05_error_1002_refused": {KEY: "wrong"},
    "06_error_2001_unknown_knowledge": {"handbook": "nothing"},
}


async def sent(index: Index, query: str, top_k: float = 100, threshold: float = 0.0, **more: Any) -> httpx.Response:
    return await sent_body(index, well_formed(query, top_k, threshold) | more)


def well_formed(query: str, top_k: float = 100, threshold: float = 0.0) -> dict[str, Any]:
    setting = {"top_k": top_k, "score_threshold": threshold}
    return {"knowledge_id": "handbook", "query": query, "retrieval_setting": setting}


async def sent_body(index: Index, body: Any) -> httpx.Response:
    return await post(external_knowledge.app(index, KEY), "/retrieval", body, KEY)


async def records(index: Index, query: str, *numbers: float, **more: Any) -> list[dict[str, Any]]:
    response = await sent(index, query, *numbers, **more)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["records"]
    return found


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange = Exchange("external_knowledge", name, REPLACED | ANSWERS[name])
    response = await exchange.replay(external_knowledge.app(index, KEY))
    assert response.status_code == exchange.status == 200, response.text
    assert response.headers["Content-Type"] == "application/json"
    assert difference(response.json(), exchange.body, frozenset({"metadata"})) is None


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange = Exchange("external_knowledge", name, REPLACED | REFUSALS[name])
    response = await exchange.replay(external_knowledge.app(index, KEY))
    assert (response.status_code, response.json()) == (exchange.status, exchange.body)


async def test_a_probe_without_a_body_passes_at_dify(index: Index) -> None:
    exchange = Exchange("external_knowledge", "19_probe_without_body", REPLACED)
    response = await exchange.replay(external_knowledge.app(index, KEY))
    assert response.status_code not in {403, 404, 502}
    assert response.json()["error_code"] == 4000


@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_first(index: Index, question: SampleQuestion) -> None:
    passage = PASSAGES[question.passage]
    first = (await records(index, question.text, 5))[0]
    assert (first["content"], first["title"]) == (passage.full_text, passage.document.name)
    assert first["metadata"] == passage.document.metadata
    assert first["metadata"]["link"].startswith("https://")
    assert 0.3 < first["score"] <= 1


async def test_top_k_and_threshold_cut(index: Index) -> None:
    every = await records(index, "warranty refund parcel")
    scores = [one["score"] for one in every]
    assert scores == sorted(scores, reverse=True)
    assert await records(index, "warranty refund parcel", 3) == every[:3]
    assert await records(index, "warranty refund parcel", 100, scores[1]) == every[:2]
    assert await records(index, "warranty refund parcel", 0) == []


async def test_an_empty_knowledge_has_no_records(index: Index) -> None:
    assert await records(index, "warranty", knowledge_id="empty") == []


@pytest.mark.parametrize(
    "change",
    [
        {"knowledge_id": ""},
        {"knowledge_id": 5},
        {"query": None},
        {"retrieval_setting": None},
        {"retrieval_setting": {}},
        {"retrieval_setting": {"top_k": 3}},
        {"retrieval_setting": {"top_k": "3", "score_threshold": 0.0}},
        {"retrieval_setting": {"top_k": 3, "score_threshold": None}},
        {"metadata_condition": {}},
        {"metadata_condition": {"conditions": [{"name": "year", "comparison_operator": "like", "value": "2"}]}},
        {"metadata_condition": {"logical_operator": "xor", "conditions": []}},
    ],
)
async def test_a_malformed_request_is_refused(index: Index, change: dict[str, Any]) -> None:
    response = await sent_body(index, well_formed("lamp") | change)
    assert response.status_code == 400
    assert response.json()["error_code"] == 4000


async def test_another_path_or_method_is_not_served(index: Index) -> None:
    app = external_knowledge.app(index, KEY)
    assert (await post(app, "/retrieval/retrieval", {}, KEY)).json() == {"detail": "Not Found"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        assert (await client.get("http://sandbox.test/retrieval")).status_code == 405


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
        ("category", "not empty", "", lambda _: True),
        ("category", "is", None, lambda _: False),
        ("category", ">", 5, lambda _: False),
        ("nope", "empty", "", lambda _: True),
        ("nope", "is", "x", lambda _: False),
        (["nope", "category"], "is", "policy", lambda d: d.category == "policy"),
        ("year", "=", 2025, is_2025),
        ("year", "=", "2025", is_2025),
        ("year", "≠", 2025, lambda d: d.year != 2025),
        ("year", ">", 2025, lambda d: d.year > 2025),
        ("year", "<", 2025, lambda d: d.year < 2025),
        ("year", "≥", 2025, lambda d: d.year >= 2025),
        ("year", "≤", 2025, lambda d: d.year <= 2025),
        ("published", "after", 1735689600, lambda d: d.year > 2025),
        ("published", "before", "2025-01-01", lambda d: d.year < 2025),
        ("published", "before", "2025-01-01T00:00:00+00:00", lambda d: d.year < 2025),
    ],
)
async def test_a_condition_keeps_the_documents_it_describes(
    index: Index, name: Any, operator: str, value: Any, expected: Callable[[Document], bool]
) -> None:
    condition = {"name": name, "comparison_operator": operator} | ({} if value is None else {"value": value})
    query = " ".join(passage.full_text for passage in handbook())
    found = await records(index, query, metadata_condition={"conditions": [condition]})
    assert {one["title"] for one in found} == {p.document.name for p in handbook() if expected(p.document)}


@pytest.mark.parametrize("spelling", ["logical_operator", "logic"])
async def test_conditions_are_joined_under_both_names(index: Index, spelling: str) -> None:
    both = [
        {"name": "category", "comparison_operator": "is", "value": "policy"},
        {"name": "year", "comparison_operator": "=", "value": 2026},
    ]

    async def titles(logic: str) -> set[str]:
        condition = {spelling: logic, "conditions": both}
        return {one["title"] for one in await records(index, "warranty refund shop", metadata_condition=condition)}

    assert await titles("and") == {"warranty.md"}
    assert await titles("or") == {"warranty.md", "refund-policy.md", "opening-hours.md"}


async def test_no_condition_lets_everything_pass(index: Index) -> None:
    every = await records(index, "lamp")
    assert await records(index, "lamp", metadata_condition={"conditions": []}) == every
    assert await records(index, "lamp", metadata_condition=None) == every
