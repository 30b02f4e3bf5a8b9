"""A question in pieces on the wire: within one deadline, and where a service wants fewer requests."""

import asyncio

import pytest

from adapters import retrieve
from bridge.errors import RateLimitedError, UnavailableError
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording
from tests.service import reply, silence

CASE = case_of("dify")
FOUND = reply(body=recording("dify", "v1.14.2__semantic")["response"])
LIMITED = recording("dify", "v1.14.2__rate-limit-request-3")
QUERY = "".join(
    f"Here is sentence {number}, and it has so many words that two of them are too long. " for number in range(6)
)


def asked(service, **retrieval):
    return context(CASE, query=QUERY, creation={"api_base_url": service.base}, retrieval=retrieval)


def by_number(answers, other):
    """An answer for each of the pieces that hold these sentences, and one for every other."""

    async def answer(request, writer):
        query = request.json["query"]
        chosen = next((one for number, one in answers.items() if f"sentence {number}," in query), other)
        return await chosen(request, writer)

    return [answer]


async def test_pieces_that_the_service_refuses_are_left_out_with_a_note(service, pool):
    service.answers = by_number({0: FOUND}, reply(LIMITED["status"], LIMITED["response"]))
    response = await retrieve(asked(service), pool)
    assert response.results
    assert response.metadata["notes"] == [
        "1 of the 2 pieces were not answered, since the service wants fewer requests",
        "the query is longer than Dify takes and was asked in 2 pieces",
    ]


async def test_a_service_that_answers_no_piece_is_the_failure(service, pool):
    service.answers = [reply(LIMITED["status"], LIMITED["response"])]
    with pytest.raises(RateLimitedError, match="rate limit is reached"):
        await retrieve(asked(service), pool)


async def test_all_pieces_are_asked_at_once_and_end_with_the_deadline(service, pool):
    came = asyncio.Event()

    async def together(request, writer):
        if len(service.posts) == 2:
            came.set()
        await came.wait()
        return await FOUND(request, writer)

    service.answers = [together]
    assert (await retrieve(asked(service), pool)).results
    service.answers = by_number({0: FOUND}, silence)
    with pytest.raises(UnavailableError, match="no answer within 1 s"):
        await retrieve(asked(service, timeout=1), pool)
