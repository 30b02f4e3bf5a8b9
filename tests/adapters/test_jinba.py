"""What Jinba is sent, and where its hits are found."""

import json

import pytest

from adapters import load_backend, retrieve
from bridge.errors import AuthError, NotFoundError, RateLimitedError, ResponseError, SettingsError, UnavailableError
from tests.adapters.asking import ask, sent
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording, service

CASE = case_of("jinba")
QUERY = {"name": "query", "value": "How long do refunds take?"}
NAMED = {"query_arg": "q", "knowledge_base_arg": "kb", "top_k_arg": "k", "threshold_arg": "t"}
HIT = {
    "chunk": {"id": "k1", "content": "words", "fileId": "f1", "metadata": {"link": "https://x.test/a"}},
    "score": 0.8,
}
URL = {"route": "search_url", "api_base_url": "http://service.test/find?tenant=7"}


async def test_only_named_arguments_are_sent(pool):
    assert await sent(CASE, "01_flow_sync_object", pool) == {"args": [QUERY], "mode": "sync"}
    body = await sent(CASE, "01_flow_sync_object", pool, creation=NAMED, retrieval={"score_threshold": 0.2})
    values = {arg["name"]: arg["value"] for arg in body["args"]}
    assert values == {"q": "How long do refunds take?", "kb": "kb_demo", "k": 50, "t": 0.2}


async def test_top_k_is_clamped_and_told(pool):
    response, _ = await ask(CASE, "01_flow_sync_object", pool, retrieval={"top_k": 80})
    assert "at most 50" in response.metadata["notes"][0]
    response, _ = await ask(CASE, "01_flow_sync_object", pool, retrieval={"top_k": 50})
    assert "notes" not in response.metadata


async def test_the_flow_id_is_one_part_of_the_path(pool):
    _, [request] = await ask(CASE, "01_flow_sync_object", pool, creation={"flow_id": "a/b c"})
    assert request.url.raw_path == b"/api/v2/external/flows/a%2Fb%20c/published-run"


async def test_a_search_url_is_kept_as_it_is(pool):
    response, [request] = await ask(CASE, {"results": [HIT]}, pool, creation=URL, retrieval={"top_k": 3})
    assert str(request.url) == "http://service.test/find?tenant=7"
    assert json.loads(request.content) == {
        "query": "How long do refunds take?",
        "knowledgeBaseId": "kb_demo",
        "topK": 3,
        "threshold": 0,
    }
    assert [entry.id for entry in response.results] == ["k1"]


def test_its_query_is_in_no_text():
    made = load_backend({"backend": "jinba", "api_key": "k", "dataset_id": "d", **URL}, {})
    assert made.api_base_url == "http://service.test/find"
    assert made.own_query.get_secret_value() == "tenant=7"
    assert "tenant" not in repr(made) + str(made.model_dump()) + made.model_dump_json()
    flow = load_backend({"backend": "jinba", "api_key": "k", "flow_id": "f", "api_base_url": "https://h.test/?x=1"}, {})
    assert flow.own_query.get_secret_value() == ""


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "success", "result": {"results": [HIT], "query": "x"}},
        {"status": "success", "result": {"results": {"results": [HIT], "query": "x"}}},
        {"status": "success", "result": [HIT]},
        {"status": "success", "result": json.dumps({"results": [HIT]})},
        {"status": "success", "output": {"data": {"results": [HIT]}}},
        {"results": [HIT]},
        {"result": "words", "stepOutputs": {"a": {"result": "x"}, "b": {"result": [HIT]}}},
    ],
)
async def test_hits_are_found_by_their_shape(answer, pool):
    response, _ = await ask(CASE, answer, pool)
    [entry] = response.results
    assert (entry.id, entry.score, entry.content[0].text) == ("k1", 0.8, "words")
    assert entry.metadata["url"] == "https://x.test/a"


@pytest.mark.parametrize("result", [[], {"results": [], "query": "x"}, {"results": {"results": [], "totalResults": 0}}])
async def test_recognised_emptiness(result, pool):
    response, _ = await ask(CASE, {"status": "success", "result": result}, pool)
    assert response.results == []


async def test_an_empty_list_from_a_search_url(pool):
    assert (await ask(CASE, [], pool, creation=URL))[0].results == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            {"status": "success", "result": {"content": "x"}, "stepOutputs": {"answer": {}}},
            "status, result.*steps: answer",
        ),
        ({"status": "success", "result": {"results": []}}, "no search result"),
        ({"status": "success", "result": "[not json"}, "no search result"),
        ({"status": "success", "result": [{"chunk": {}}]}, "no search result"),
        ({"runId": "r", "status": "running"}, "async"),
        (
            {"status": "success", "stepOutputs": {"s": {"status": "failed", "error": {"name": "E", "value": "why"}}}},
            "E: why",
        ),
        ({"status": "failed", "error": {"name": "E", "value": "why", "traceback": "Traceback x"}}, "E: why"),
        ({"success": False, "error": {"name": "E", "message": "why"}}, "E: why"),
    ],
)
async def test_success_without_hits_is_an_error(answer, says, pool):
    with pytest.raises(ResponseError, match=says) as failed:
        await ask(CASE, answer, pool)
    assert "Traceback" not in str(failed.value)


async def test_a_named_step_is_the_only_place(pool):
    steps = {"a": {"result": [HIT]}, "b": {"result": {"content": "x"}}}
    response, _ = await ask(CASE, {"result": "x", "stepOutputs": steps}, pool, creation={"step_id": "a"})
    assert [entry.id for entry in response.results] == ["k1"]
    for step in ("b", "c"):
        with pytest.raises(ResponseError, match="step_id"):
            await ask(CASE, {"result": [HIT], "stepOutputs": steps}, pool, creation={"step_id": step})


async def test_unscored_hits_stand_last_and_fall_under_a_threshold(pool):
    response, _ = await ask(CASE, "17_flow_null_score_and_missing_file", pool)
    assert [entry.score for entry in response.results][-1] is None
    response, _ = await ask(CASE, "17_flow_null_score_and_missing_file", pool, retrieval={"score_threshold": 0.1})
    assert None not in [entry.score for entry in response.results]


@pytest.mark.parametrize(
    ("creation", "says"),
    [
        ({"flow_id": ""}, "flow_id is missing"),
        ({"route": "search_url", "dataset_id": ""}, "dataset_id is missing"),
        ({"knowledge_base_arg": "kb", "dataset_id": ""}, "dataset_id is missing"),
        ({"dataset_id": "a,b"}, "one knowledge base"),
        ({"route": "else"}, "route"),
        ({"route": "search_url", "api_base_url": "ftp://x"}, "api_base_url"),
    ],
)
async def test_settings_that_dont_fit_together(creation, says, pool):
    with pytest.raises(SettingsError, match=says):
        await ask(CASE, {}, pool, creation=creation)


def test_a_flow_needs_no_knowledge_base_and_the_cloud_is_the_default():
    made = load_backend({"backend": "jinba", "api_key": "k", "flow_id": "f"}, {})
    assert (made.dataset_id, made.api_base_url) == ((), "https://api.jinba.dev")
    made = load_backend(
        {"backend": "jinba", "api_key": "k", "flow_id": "f", "api_base_url": "https://h.test/api/v2/external/flows/f"},
        {},
    )
    assert made.api_base_url == "https://h.test"


@pytest.mark.parametrize(
    ("name", "kind", "requests"),
    [
        ("11_flow_400", SettingsError, 1),
        ("12_flow_401", AuthError, 1),
        ("13_flow_403", AuthError, 1),
        ("14_flow_404", NotFoundError, 1),
        ("15_flow_429", RateLimitedError, 3),
        ("16_flow_502_html", UnavailableError, 1),
        ("07_flow_failed_with_http_200", ResponseError, 1),
    ],
)
async def test_runs_cost_credits_so_little_is_repeated(name, kind, requests, pool, no_waiting):
    with service(CASE, recording("jinba", name)) as came, pytest.raises(kind):
        await retrieve(context(CASE, retrieval={"timeout": 60}), pool)
    assert len(came) == requests
