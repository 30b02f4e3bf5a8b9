"""A check tries the address as it was typed where the one that was made of it fails."""

import pytest

from adapters.check import check
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording
from tests.service import Service, reply

CASE = case_of("ragflow")
GOOD = recording("ragflow", "retrieval_basic")["response"]
NO_PATH = {"code": 404, "data": None, "error": "Not Found", "message": "Not Found: /x"}


async def last_step(service, pool, path, serves, answer=None):
    async def serve(request, writer):
        there = request.path.startswith(serves)
        return await reply(200 if there else 404, (answer or GOOD) if there else NO_PATH)(request, writer)

    service.answers = [serve]
    made = context(CASE, creation={"api_base_url": service.base + path})
    steps = [step async for step in check(made.creation_settings, {"top_k": 3}, pool)]
    return steps[-1]


@pytest.mark.parametrize("answer", [GOOD, {"code": 109, "data": False, "message": "API key is invalid!"}])
async def test_where_only_the_whole_address_answers_it_is_named(answer, service, pool):
    step = await last_step(service, pool, "/knowledge", "/knowledge/api/v1/retrieval", answer)
    assert step.state == "failed"
    assert f"RAGFlow answers at {service.base}/knowledge, as typed" in step.text
    assert step.text.endswith(f"enter {service.base}/knowledge/.")


async def test_what_is_then_entered_is_searched(service, pool):
    step = await last_step(service, pool, "/knowledge/.", "/knowledge/api/v1/")
    assert "/knowledge, as typed" not in step.text
    assert {request.path.partition("?")[0] for request in service.requests} <= {
        "/knowledge/api/v1/datasets",
        "/knowledge/api/v1/retrieval",
    }


@pytest.mark.parametrize("path", ["/knowledge", "/kb", ""])
async def test_nothing_is_said_where_neither_answers_or_nothing_was_cut(path, pool):
    async with Service() as service:
        assert "as typed" not in (await last_step(service, pool, path, "/elsewhere")).text
