"""Each step from the settings to the first passages, as an admin at a shell sees it."""

import dataclasses
import re

import pytest

from adapters import BACKENDS, Access
from adapters.__main__ import main
from adapters.check import check
from tests.adapters.shell import ADDRESS, CASE
from tests.contract.cases import KEY, case_of
from tests.contract.stand_in import recording
from tests.contract.stand_in import service as stand_in
from tests.service import Service, reply

pytestmark = pytest.mark.usefixtures("key")
LOOK_UPS = {
    "dify": "v1.14.2__get-dataset-vectors",
    "ragflow": "datasets_by_id",
    "fastgpt": "v4.14.13__detail_ok",
    "anything_llm": "workspace",
    "weknora": "source__25_base_detail",
}
"""What a service says about a dataset; the others say nothing without a search."""


def told(backend, name):
    """A recorded answer of a service."""
    found = recording(backend, name)
    return reply(found["status"], found["response"])


def serve(service, backend, answer=None):
    """Let the service answer as `backend` does: searches with `answer` or a recording, look-ups with a recording."""
    service.answers = [answer or told(backend, case_of(backend).good)]
    service.looked_up = told(backend, LOOK_UPS[backend]) if backend in LOOK_UPS else None


async def steps_of(service, backend, pool, query="", *, retrieval=None, **creation):
    case = case_of(backend)
    settings = {"backend": backend, "api_key": KEY, **case.creation, "api_base_url": service.base, **creation}
    return [step async for step in check(settings, {**case.retrieval, **(retrieval or {})}, pool, query)]


def states(steps):
    return [(step.name, step.state) for step in steps]


def test_check_says_step_by_step_what_it_found(capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")):
        assert main(["check", *ADDRESS]) == 0
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines[:5]] == [["ok", s] for s in ("settings", "address", "key", "dataset", "search")]
    assert lines[1][2] == "Dify 1.14.2 at service.test answers"
    assert lines[3][2].startswith("vectors: high_quality, text_model, 3 documents")


@pytest.mark.parametrize(
    ("look_up", "search", "code", "steps", "says"),
    [
        ("get-dataset-key-wrong", "semantic", 1, ["ok settings", "ok address", "FAIL key"], "API key was refused"),
        ("get-dataset-unknown", "semantic", 1, ["ok settings", "ok address", "FAIL dataset"], "--dataset-id"),
        ("get-dataset-external", "semantic", 2, ["ok settings", "ok address", "FAIL dataset"], "external"),
        ("infra-database-down", "semantic", 1, ["ok settings", "ok address", "FAIL dataset"], "Dify failed"),
        (
            "get-dataset-vectors",
            "provider-down",
            1,
            ["ok settings", "ok address", "ok key", "ok dataset", "FAIL search"],
            "models",
        ),
    ],
)
def test_check_ends_at_the_first_step_that_fails(capsys, look_up, search, code, steps, says):
    case = dataclasses.replace(CASE, look_up=f"v1.14.2__{look_up}")
    with stand_in(case, recording("dify", f"v1.14.2__{search}")):
        assert main(["check", *ADDRESS]) == code
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:2]) for line in lines] == steps
    assert says in lines[-1]


def test_check_of_an_address_where_nobody_listens(capsys):
    assert main(["check", *ADDRESS, "--api-base-url", "http://127.0.0.1:9"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("FAIL address  Dify at 127.0.0.1:9: the connection was refused")


def test_check_shows_passages_and_says_each_note_once(capsys):
    odd = recording("dify", "v1.14.2__semantic")
    odd["response"]["records"].append({})
    with stand_in(CASE, odd):
        assert main(["check", *ADDRESS]) == 0
    printed = capsys.readouterr()
    assert "\nwarn search" in printed.out
    assert "refund-policy.txt" in printed.out
    assert printed.out.count("records had no passage") == 1
    assert printed.err == ""


@pytest.mark.parametrize("backend", BACKENDS)
async def test_every_service_is_checked_to_its_passages(backend, service, pool):
    serve(service, backend)
    looked = ["key", "dataset"] if backend in LOOK_UPS else []
    steps = await steps_of(service, backend, pool, "refunds")
    assert [step.name for step in steps] == ["settings", "address", *looked, "search"]
    assert [step.state for step in steps[:-1]] == ["ok"] * (len(steps) - 1)
    assert steps[-1].response.results


async def test_what_is_asked_is_in_no_cache(service, pool):
    serve(service, "dify")
    for _ in range(2):
        await steps_of(service, "dify", pool)
    first, second = (post.json["query"] for post in service.posts)
    assert re.fullmatch(r"[\w ]+\? \d{6}", first)
    assert first != second


async def test_a_query_without_a_character_counts_as_none(service, pool):
    serve(service, "dify")
    steps = await steps_of(service, "dify", pool, " \x00")
    assert steps[-1].state == "ok"
    assert service.posts[0].json["query"].strip("\0 ")


@pytest.mark.parametrize(("backend", "asked"), [("dify", 1), ("ragflow", 1), ("fastgpt", 1), ("jinba", 1)])
async def test_a_search_over_a_connection_that_stands_is_made_once(backend, asked, service, pool):
    serve(service, backend)
    steps = await steps_of(service, backend, pool, "refunds")
    assert len(service.posts) == asked
    assert ("first call" in steps[-1].text) is (backend == "jinba")  # where a run costs credits none is spent on warmth


async def test_where_nothing_is_looked_up_another_search_goes_first(service, pool):
    serve(service, "external_knowledge")
    steps = await steps_of(service, "external_knowledge", pool, "refunds")
    warming, timed = (post.json["query"] for post in service.posts)
    assert timed == "refunds"
    assert "refunds" not in warming
    assert "first call" not in steps[-1].text


@pytest.mark.parametrize("backend", LOOK_UPS)
@pytest.mark.parametrize("kind", ["refused", "unknown"])
async def test_of_several_datasets_the_one_that_fails_is_named(backend, kind, service, pool):
    serve(service, backend)
    known, good = case_of(backend).creation["dataset_id"], service.looked_up
    bad = reply(401, {}) if kind == "refused" else told("fastgpt", "v4.14.13__detail_unknown")
    missing = known[:-1] + "e"

    async def look_up(request, writer):
        return await (bad if missing in request.path else good)(request, writer)

    service.looked_up = look_up
    steps = await steps_of(service, backend, pool, dataset_id=f"{known}, {missing}")
    assert states(steps)[-2:] == [("dataset", "ok"), ("dataset", "failed")]
    assert missing in steps[-1].text
    assert known not in steps[-1].text
    assert service.posts == []


async def test_of_several_datasets_the_one_that_cant_be_searched_is_named(service, pool):
    async def search(request, writer):
        found = reply(500, {}) if "000052" in request.path else told("dify", CASE.good)
        return await found(request, writer)

    serve(service, "dify", search)
    other = CASE.creation["dataset_id"][:-2] + "52"
    steps = await steps_of(service, "dify", pool, dataset_id=f"{CASE.creation['dataset_id']},{other}")
    assert states(steps)[-1] == ("search", "failed")
    assert other in steps[-1].text


NOTHING = [
    {"data": []},
    {"data": None},
    {},
    [],
    None,
    "",
    "ok",
    {"code": 0, "data": []},
    {"code": 0, "data": [{}]},
    {"code": 200, "data": []},
    {"code": 200, "data": {}},
    {"records": []},
    {"results": []},
    {"workspace": []},
]


@pytest.mark.parametrize("answer", NOTHING, ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_server_that_says_nothing_to_everything_fools_nobody(backend, answer, service, pool):
    service.answers = [reply(200, answer)]
    steps = await steps_of(service, backend, pool)
    assert steps[-1].state != "ok"
    if backend in LOOK_UPS:
        assert [step.name for step in steps] == ["settings", "address", "dataset"]
        assert steps[-1].state == "failed"
        assert service.posts == []


@pytest.mark.parametrize("body", [b"", b" ", b"<html>hello</html>"])
@pytest.mark.parametrize("backend", BACKENDS)
async def test_no_json_fools_nobody(backend, body, service, pool):
    service.answers = [reply(200, body)]
    assert (await steps_of(service, backend, pool))[-1].state == "failed"


@pytest.mark.parametrize(
    ("backend", "answer"),
    [
        ("dify", {"data": []}),
        ("ragflow", {"code": 0, "data": []}),
        ("fastgpt", {"code": 200, "data": {}}),
        ("anything_llm", {"workspace": []}),
        ("weknora", {"success": True, "data": {}}),
    ],
)
async def test_a_look_up_that_names_no_dataset_is_said_with_the_id(backend, answer, service, pool):
    service.answers = [reply(200, answer)]
    text = (await steps_of(service, backend, pool))[-1].text
    assert f"names no dataset (dataset {case_of(backend).creation['dataset_id']}). Check dataset_id" in text
    assert f"{BACKENDS[backend].product}'s API" in text


async def test_nothing_found_is_a_warning(service, pool):
    serve(service, "dify", reply(200, {"records": []}))
    step = (await steps_of(service, "dify", pool, "refunds"))[-1]
    assert (step.name, step.state) == ("search", "warning")
    assert step.text.startswith("nothing was found for 'refunds'")


@pytest.mark.parametrize("backend", BACKENDS)
async def test_what_a_search_would_refuse_is_said_before_anything_is_sent(backend, service, pool, monkeypatch):
    serve(service, backend)
    rerank = {"rerank": True, "search_mode": "auto", "top_k": 60}
    steps = await steps_of(service, backend, pool, retrieval=rerank)
    refused = backend in ("ragflow", "jinba", "external_knowledge", "anything_llm", "weknora")
    assert (steps[0].state == "failed") is refused
    assert (service.requests == []) is refused
    if refused:
        assert states(steps) == [("settings", "failed")]
        assert steps[0].text.startswith(f"{BACKENDS[backend].product} settings: rerank ")


async def test_a_reranker_without_its_provider_is_refused_before_anything_is_sent(service, pool):
    serve(service, "dify")
    options = {"rerank": True, "rerank_model": "no-provider", "search_mode": "auto"}
    steps = await steps_of(service, "dify", pool, retrieval=options)
    assert states(steps) == [("settings", "failed")]
    assert service.requests == []


async def test_an_address_that_is_left_alone_is_said_and_not_asked(pool):
    async with Service([reply(503, {})]) as service:
        steps = [await steps_of(service, "dify", Access(pool), timeout=5) for _ in range(4)][-1]
        asked = len(service.requests)
        assert states(steps) == [("settings", "ok"), ("address", "failed")]
        assert "left alone" in steps[-1].text
        await steps_of(service, "dify", Access(pool))
        assert len(service.requests) == asked
