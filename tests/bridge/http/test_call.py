"""One retrieval's requests over real sockets: what is sent, how often, and until when."""

import asyncio

import pytest

from bridge.errors import AuthError, BridgeError, UnavailableError
from tests.bridge.http.plain import KEY, OK, Dear, Plain, ask, failure
from tests.service import Service, raw, reply, reset, silence


async def test_a_request_is_plain_json_with_the_key(service, pool):
    service.answers = [OK]
    assert await ask(service, pool, "wörter") == "{'x': 1}"
    [request] = service.requests
    assert (request.method, request.path, request.json) == ("POST", "/search", {"query": "wörter"})
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert not [name for name in request.headers if name in ("cookie", "origin", "proxy-authorization")]


async def test_the_key_goes_where_the_service_wants_it(service, pool):
    class Other(Plain):
        key_header = ("X-API-Key", "")

    service.answers = [OK]
    await ask(service, pool, kind=Other)
    [request] = service.requests
    assert request.headers["x-api-key"] == KEY
    assert "authorization" not in request.headers


async def test_without_a_key_no_header_is_sent(service, pool):
    service.answers = [OK]
    await ask(service, pool, api_key="")
    assert "authorization" not in service.requests[0].headers


async def test_cookies_are_never_sent_back(service, pool):
    service.answers = [reply(body={}, headers={"Set-Cookie": "sid=1; Path=/"})]
    await ask(service, pool)
    await ask(service, pool)
    assert "cookie" not in service.requests[1].headers


@pytest.mark.parametrize("status", [502, 503, 504, 408])
async def test_a_service_that_is_not_ready_is_asked_again(status, service, pool, no_waiting):
    service.answers = [reply(status, b"<html>busy</html>"), OK]
    assert await ask(service, pool)
    assert len(service.requests) == 2


async def test_three_tries_are_the_end_and_are_told(service, pool, no_waiting):
    service.answers = [reply(503)]
    error = await failure(service, pool)
    assert isinstance(error, UnavailableError)
    assert "3 tries" in str(error)
    assert len(service.requests) == 3


async def test_a_refused_connection_is_tried_again(pool, no_waiting):
    async with Service() as gone:
        pass
    error = await failure(gone, pool)
    assert isinstance(error, UnavailableError)
    assert "refused" in str(error)
    assert "3 tries" in str(error)


async def test_a_reset_is_tried_on_a_fresh_connection(service, pool, no_waiting):
    service.answers = [OK, reset(), OK]
    await ask(service, pool)
    await ask(service, pool)
    assert service.connections == 2


async def test_a_body_that_breaks_off_is_no_answer(service, pool, no_waiting):
    service.answers = [raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"x": ')]
    error = await failure(service, pool)
    assert isinstance(error, UnavailableError)
    assert len(service.requests) == 3


async def test_what_costs_money_is_sent_again_only_where_nothing_was_done(service, pool, no_waiting):
    for answer, requests in ((reset(), 1), (reply(503), 1), (reply(429), 3)):
        service.requests.clear()
        service.answers = [answer]
        await failure(service, pool, kind=Dear)
        assert len(service.requests) == requests


async def test_silence_ends_at_the_deadline_and_is_not_repeated(service, pool):
    service.answers = [silence]
    error = await failure(service, pool, timeout=1)
    assert isinstance(error, UnavailableError)
    assert "no answer within 1 s" in str(error)
    assert len(service.requests) == 1


async def test_one_byte_at_a_time_ends_at_the_deadline(service, pool):
    async def drip(_, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.1)
        return True

    service.answers = [drip]
    assert "no answer within 1 s" in str(await failure(service, pool, timeout=1))


async def test_the_reason_before_the_deadline_is_told(service, pool):
    service.answers = [reply(503, {"message": "starting"}), silence]
    error = await failure(service, pool, timeout=1)
    assert "starting" in str(error)


async def test_fifty_callers_keep_their_keys_answers_and_errors_apart(pool):
    async def mine(request, writer):
        key = request.headers["authorization"].removeprefix("Bearer ")
        await asyncio.sleep(0.01)
        if int(key[-2:]) % 5 == 0:
            await reply(401, {"message": f"no {request.json['query']}"})(request, writer)
        else:
            await reply(body={"key": key, "query": request.json["query"]})(request, writer)

    async with Service([mine]) as one, Service([mine]) as two:

        async def call(n: int) -> str | BridgeError:
            try:
                return await ask((one, two)[n % 2], pool, f"query {n:02}", api_key=f"key-{n:02}")
            except AuthError as error:
                return error

        for n, found in enumerate(await asyncio.gather(*(call(n) for n in range(50)))):
            if n % 5 == 0:
                assert isinstance(found, AuthError)
                assert f":{(one, two)[n % 2].port}:" in str(found)
            else:
                assert found == str({"key": f"key-{n:02}", "query": f"query {n:02}"})
