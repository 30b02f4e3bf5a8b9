"""The imitated Jinba against exchanges written from its documentation."""

from typing import Any

import httpx
import pytest

from sandbox import jinba
from sandbox.corpus import handbook
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.exchanges import KEYS, Exchange, difference, post
from tests.sandbox.handbook import PASSAGES

KEY = KEYS["jinba"]
REPLACED = {
    "FLOW_KEY": KEY,
    "Bearer TOKEN": f"Bearer {KEY}",
    "/jinba-search": "/search",
    "kb_demo": jinba.KNOWLEDGE_BASE,
    # The handbook knows nothing of items.
    "How long do I have to return an item?": "After how many days are refunds paid?",
}
# Each with the flow that does the like.
ANSWERS = {
    "01_flow_sync_object": jinba.SEARCH_FLOW,
    "06_flow_sync_no_hits": jinba.SEARCH_FLOW,
    "07_flow_failed_with_http_200": jinba.BROKEN_FLOW,
    "09_flow_async_accepted": jinba.SEARCH_FLOW,
    "10_flow_success_without_recognisable_hits": jinba.ANSWER_FLOW,
    "22_direct_search_url": "",
}
REFUSALS = {
    "11_flow_400": jinba.SEARCH_FLOW,
    "12_flow_401": jinba.SEARCH_FLOW,
    "13_flow_403": jinba.FOREIGN_FLOW,
    "14_flow_404": "flow_unknown",
}


async def run(index: Index, flow: str = jinba.SEARCH_FLOW, mode: str = "sync", **args: Any) -> httpx.Response:
    body = {"args": [{"name": name, "value": value} for name, value in args.items()], "mode": mode}
    return await post(jinba.app(index, KEY), f"/api/v2/external/flows/{flow}/published-run", body, KEY)


async def scores(index: Index, **args: Any) -> list[float]:
    results = (await run(index, **args)).json()["result"]["results"]
    return [one["score"] for one in results]


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange = Exchange("jinba", name, REPLACED | {"flow_demo_1": ANSWERS[name]})
    response = await exchange.replay(jinba.app(index, KEY))
    assert response.status_code == exchange.status == 200, response.text
    assert response.headers["Content-Type"] == "application/json"
    assert difference(response.json(), exchange.body, frozenset({"metadata"})) is None
    assert response.json().get("status") == exchange.body.get("status")


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange = Exchange("jinba", name, REPLACED | {"flow_demo_1": REFUSALS[name]})
    response = await exchange.replay(jinba.app(index, KEY))
    assert response.status_code == exchange.status
    assert (response.json() if exchange.body else response.text) == exchange.body


@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_first(index: Index, question: SampleQuestion) -> None:
    answer = (await run(index, query=question.text)).json()
    passage = PASSAGES[question.passage]
    assert answer["result"]["results"][0]["chunk"]["content"] == passage.full_text
    assert answer["result"]["results"][0]["file"]["filename"] == passage.document.name
    assert answer["stepOutputs"]["search"]["result"] == answer["result"]
    body = {"query": question.text, "knowledgeBaseId": jinba.KNOWLEDGE_BASE}
    assert (await post(jinba.app(index, KEY), "/search", body, KEY)).json() == answer["result"]
    said = (await run(index, jinba.ANSWER_FLOW, query=question.text)).json()
    assert said["result"] == {"content": passage.full_text}


async def test_top_k_and_threshold_have_the_tools_defaults(index: Index) -> None:
    query = "warranty refund parcel days"
    every = await scores(index, query=query, topK=50, threshold=0)
    assert len(every) == len(handbook())
    assert every == sorted(every, reverse=True)
    assert await scores(index, query=query) == [one for one in every[:3] if one >= 0.3]
    assert await scores(index, query=query, topK=5, threshold=0) == every[:5]
    assert await scores(index, query=query, topK=5, threshold=every[1]) == every[:2]
    assert await scores(index, query="zebra") == []


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"topK": 0}, "topK must be a number from 1 to 50"),
        ({"topK": 51}, "topK must be a number from 1 to 50"),
        ({"topK": "5"}, "topK must be a number from 1 to 50"),
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1"),
        ({"knowledgeBaseId": "kb_other"}, "Knowledge base kb_other was not found"),
    ],
)
async def test_a_wrong_input_fails_the_step(index: Index, args: dict[str, Any], text: str) -> None:
    response = await run(index, query="lamp", **args)
    assert response.status_code == 200
    answer = response.json()
    assert answer["status"] == answer["stepOutputs"]["search"]["status"] == "failed"
    assert answer["error"]["value"] == answer["stepOutputs"]["search"]["error"]["value"] == text
    body = {"query": "lamp", "knowledgeBaseId": jinba.KNOWLEDGE_BASE, **args}
    refused = await post(jinba.app(index, KEY), "/search", body, KEY)
    assert (refused.status_code, refused.json()) == (400, {"message": text})


@pytest.mark.parametrize("body", [[], {}, {"args": {"query": "x"}}, {"args": [{"name": "query"}]}, {"args": ["query"]}])
async def test_a_malformed_body_is_refused(index: Index, body: Any) -> None:
    path = f"/api/v2/external/flows/{jinba.SEARCH_FLOW}/published-run"
    assert (await post(jinba.app(index, KEY), path, body, KEY)).status_code == 400


@pytest.mark.parametrize("missing", ["query", "knowledgeBaseId"])
async def test_the_search_address_needs_both_texts(index: Index, missing: str) -> None:
    body = {"query": "lamp", "knowledgeBaseId": jinba.KNOWLEDGE_BASE}
    del body[missing]
    response = await post(jinba.app(index, KEY), "/search", body, KEY)
    assert (response.status_code, response.json()) == (400, {"message": f"Missing required argument: {missing}"})
    assert (await post(jinba.app(index, KEY), "/search", body, "wrong")).status_code == 401


def test_settings_name_every_argument_of_the_flow() -> None:
    settings = jinba.settings("http://sandbox.test")
    named = {value for name, value in settings.items() if name.endswith("_arg")}
    assert named == {"query", "knowledgeBaseId", "topK", "threshold"}
