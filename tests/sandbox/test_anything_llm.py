"""The imitated AnythingLLM against exchanges recorded from a running one."""

from typing import Any

import httpx
import pytest

from sandbox import anything_llm
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.exchanges import KEYS, Exchange, difference, post
from tests.sandbox.handbook import PASSAGES

KEY = KEYS["anything_llm"]
OF_THE_RECORDINGS = "MADEUP0-KEY1111-KEY2222-KEY3333"
REPLACED = {
    f"Bearer {OF_THE_RECORDINGS}": f"Bearer {KEY}",
    "/workspace/support-rerank": "/workspace/handbook-rerank",
    "/workspace/support": "/workspace/handbook",
    "refund policy for a product": "After how many days are refunds paid for a product?",
}
ANSWERS = (
    "search_basic",
    "search_defaults",
    "search_topn_text_number",
    "search_topn_zero",
    "search_threshold_0_all",
    "search_threshold_2",
    "search_threshold_text",
    "rerank_basic",
    "query_list",
    "body_text_plain",
    "workspace_empty",
    "workspace",
    "workspaces",
    "workspace_get_empty",
    "workspace_get_unknown",
    "auth_ok",
)
SAME = (
    "auth_wrong",
    "key_wrong",
    "key_missing",
    "key_two_spaces",
    "key_without_bearer",
    "query_blank",
    "query_missing",
    "query_number",
    "body_empty",
    "body_list",
    "body_text_plain_not_json",
    "workspace_unknown",
    "workspace_unknown_blank_query",
    "workspace_by_id",
)
PAGES = ("web_page", "web_page_workspace", "path_doubled", "path_without_api", "method_get", "body_not_json")


async def replayed(index: Index, name: str) -> tuple[Exchange, httpx.Response]:
    exchange = Exchange("anything_llm", name, REPLACED)
    response = await exchange.replay(anything_llm.app(index, KEY))
    assert response.status_code == exchange.status, response.text
    assert response.headers["Content-Type"].partition(";")[0] == exchange.headers["Content-Type"].partition(";")[0]
    return exchange, response


async def search(index: Index, query: str, workspace: str = "handbook", **more: Any) -> list[dict[str, Any]]:
    body = {"query": query, "topN": 100, "scoreThreshold": 0, **more}
    path = f"/api/v1/workspace/{workspace}/vector-search"
    response = await post(anything_llm.app(index, KEY), path, body, KEY)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["results"]
    return found


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert difference(_even(response.json()), _even(exchange.body), frozenset({"createdAt", "text"})) is None


def _even(value: Any) -> Any:
    """JavaScript has one kind of number."""
    if isinstance(value, dict):
        return {name: _even(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_even(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("name", SAME)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    body = response.json() if isinstance(exchange.body, dict) else response.text
    assert body == exchange.body


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_comes_where_one_was_recorded(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert ("<title >AnythingLLM" in response.text) == ("<title >AnythingLLM" in exchange.body)


async def test_the_embedder_of_one_workspace_is_away(index: Index) -> None:
    path = "/api/v1/workspace/broken/vector-search"
    response = await post(anything_llm.app(index, KEY), path, {"query": "lamp"}, KEY)
    exchange = Exchange("anything_llm", "embedder_unreachable")
    assert (response.status_code, response.text) == (exchange.status, exchange.body)


@pytest.mark.parametrize("workspace", ["handbook", "handbook-rerank"])
@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_first(index: Index, question: SampleQuestion, workspace: str) -> None:
    passage = PASSAGES[question.passage]
    first = (await search(index, question.text, workspace))[0]
    head, _, words = first["text"].partition("</document_metadata>\n\n")
    assert head.startswith(f"<document_metadata>\nsourceDocument: {passage.document.name}\n")
    assert words == passage.full_text
    assert (f"source: {passage.document.link}" in head) == first["metadata"]["chunkSource"].startswith("link://")


async def test_a_far_passage_is_scored_one_and_passes_every_threshold(index: Index) -> None:
    every = await search(index, "warranty")
    distances = [one["distance"] for one in every]
    assert distances == sorted(distances)
    far = [one for one in every if one["distance"] > 1]
    assert far
    assert {one["score"] for one in far} == {1}
    assert [one["score"] == 1 - one["distance"] for one in every if one not in far].count(False) == 0
    assert await search(index, "warranty", scoreThreshold=1) == far
    assert await search(index, "warranty", topN=2) == every[:2]


async def test_a_reranking_workspace_ranks_the_nearest_ten_by_another_score(index: Index) -> None:
    near = await search(index, "refund receipt", topN=10)
    reranked = await search(index, "refund receipt", "handbook-rerank")
    assert {one["id"] for one in reranked} == {one["id"] for one in near}
    scores = [one["score"] for one in reranked]
    assert scores == sorted(scores, reverse=True)
    assert [one for one in reranked if one not in near] == reranked
