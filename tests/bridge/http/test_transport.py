"""Time, connections and bytes, over real sockets."""

import asyncio
import gzip
import json
import ssl
import time
import zlib
from email.utils import formatdate

import pytest
import trustme
from pydantic import SecretStr

from adapters.backend import Backend
from bridge.errors import (
    AuthError,
    BridgeError,
    NotFoundError,
    RateLimitedError,
    ResponseError,
    SettingsError,
    UnavailableError,
)
from bridge.hits import Hit
from bridge.http import Access, Http, Network, Pool
from bridge.http import pool as pools
from bridge.http.reply import SIZE_LIMIT
from bridge.question import Question
from bridge.settings import Key
from tests.service import Service, raw, reply, reset, silence

KEY = "plain-KEY-0123456789"


class Plain(Backend):
    """A service without habits of its own."""

    product = "Plain"
    backend: str = "plain"
    api_key: Key = SecretStr("")

    async def search(self, question: Question, http: Http) -> list[Hit]:
        answer = await http.post("/search", {"query": question.text})
        return [Hit("a", str(answer))]


class Dear(Plain):
    """One whose runs cost money."""

    resend = False


def backend(base: str, kind: type[Backend] = Plain, **settings) -> Backend:
    timeout = settings.pop("timeout", 4)
    return kind(
        **{"api_base_url": base, "api_key": KEY, "dataset_id": "d", "options": {"timeout": timeout}, **settings}
    )


LIMIT = Network().max_connections
PATIENT = Network(pause_after_failures=False)


async def ask(service: Service | str, pool: Pool, query: str = "what", network: Network = PATIENT, **settings) -> str:
    base = service if isinstance(service, str) else service.base
    chosen = backend(base, **settings)
    question = Question.of(query, {}, 100)
    async with Access(pool, network).open(chosen, query) as http:
        [hit] = await chosen.search(question, http)
    return hit.text


async def failure(*args, **settings) -> BridgeError:
    with pytest.raises(BridgeError) as failed:
        await ask(*args, **settings)
    told = str(failed.value)
    assert told.startswith("Plain at 127.0.0.1:")
    assert KEY not in told
    assert len(told) < 300
    return failed.value


OK = reply(body={"x": 1})


async def test_a_request_is_plain_json_with_the_key(service, pool):
    service.answers = [OK]
    assert await ask(service, pool, "wörter") == "{'x': 1}"
    [request] = service.requests
    assert (request.method, request.path, request.json) == ("POST", "/search", {"query": "wörter"})
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert not [name for name in request.headers if name in ("cookie", "origin", "proxy-authorization")]


async def test_without_a_key_no_header_is_sent(service, pool):
    service.answers = [OK]
    await ask(service, pool, api_key="")
    assert "authorization" not in service.requests[0].headers


async def test_a_connection_serves_many_calls(service, pool):
    service.answers = [OK]
    for _ in range(20):
        await ask(service, pool)
    assert service.connections == 1


async def test_no_more_than_the_limit_are_in_flight_and_none_is_passed_over(pool, service):
    now, most, order = 0, 0, []

    async def slow(request, writer):
        nonlocal now, most
        now += 1
        most = max(most, now)
        order.append(request.json["query"])
        await asyncio.sleep(0.01)
        now -= 1
        await OK(request, writer)

    service.answers = [slow]
    await asyncio.gather(*(ask(service, pool, f"q{n:03}", timeout=30) for n in range(100)))
    assert most == service.connections == LIMIT
    assert len(set(order)) == 100
    assert max(abs(place - int(query[1:])) for place, query in enumerate(order)) < LIMIT


async def test_proxies_of_the_environment_are_not_used(service, pool, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    service.answers = [OK]
    assert await ask(service, pool)


async def test_cookies_are_never_sent_back(service, pool):
    service.answers = [reply(body={}, headers={"Set-Cookie": "sid=1; Path=/"})]
    await ask(service, pool)
    await ask(service, pool)
    assert "cookie" not in service.requests[1].headers


async def test_a_redirect_is_not_followed(service, pool):
    async with Service([OK]) as other:
        service.answers = [reply(307, headers={"Location": f"{other.base}/secret?token=1"})]
        error = await failure(service, pool)
        assert isinstance(error, ResponseError)
        assert f"redirects to {other.base}/secret (" in str(error)
        assert "token" not in str(error)
        assert other.requests == []


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


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ResponseError),
        (401, AuthError),
        (403, AuthError),
        (404, NotFoundError),
        (405, ResponseError),
        (410, NotFoundError),
        (422, ResponseError),
        (500, UnavailableError),
        (501, UnavailableError),
    ],
)
async def test_what_cant_pass_is_asked_once(status, kind, service, pool):
    service.answers = [reply(status, {"message": "no"})]
    error = await failure(service, pool)
    assert type(error) is kind
    assert f"{status}" in str(error)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("header", "least"),
    [("2", 2), ("0", 1), (None, 1), ("soon", 1), ("-5", 1), ("a date", 1.5)],
)
async def test_a_rate_limit_is_waited_for(header, least, service, pool, no_waiting):
    header = formatdate(time.time() + 3, usegmt=True) if header == "a date" else header
    headers = {} if header is None else {"Retry-After": header}
    service.answers = [reply(429, {}, headers), OK]
    assert await ask(service, pool)
    assert no_waiting[0] >= least


@pytest.mark.parametrize("header", ["60", "99999999999", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_a_rate_limit_that_doesnt_fit_is_told(header, service, pool, no_waiting):
    service.answers = [reply(429, {}, {"Retry-After": header})]
    error = await failure(service, pool)
    assert isinstance(error, RateLimitedError)
    assert "Wait" in error.remedy
    assert (len(service.requests), no_waiting) == (1, [])


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


async def test_a_kept_connection_that_was_dropped_is_no_failure(service, pool, no_waiting):
    service.answers = [raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", close=True), OK]
    await ask(service, pool)
    await asyncio.sleep(0.05)
    assert await ask(service, pool) == "{'x': 1}"
    assert len(service.requests) == 2


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


async def test_waiting_for_a_turn_counts(service, pool):
    service.answers = [silence]
    calls = [asyncio.create_task(failure(service, pool, timeout=1)) for _ in range(LIMIT + 4)]
    errors = await asyncio.gather(*calls)
    assert {type(error) for error in errors} == {UnavailableError}
    service.answers = [OK]
    assert await ask(service, pool)


async def test_the_reason_before_the_deadline_is_told(service, pool):
    service.answers = [reply(503, {"message": "starting"}), silence]
    error = await failure(service, pool, timeout=1)
    assert "starting" in str(error)


async def test_a_cancelled_call_leaves_nothing_behind(service, pool):
    arrived = asyncio.Event()

    async def arrive(request, writer):
        arrived.set()
        return await silence(request, writer)

    service.answers = [arrive]
    call = asyncio.create_task(ask(service, pool))
    await asyncio.wait_for(arrived.wait(), 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    service.answers = [OK]
    service.turn = 0
    await asyncio.gather(*(ask(service, pool) for _ in range(LIMIT)))


@pytest.mark.parametrize(
    "pack",
    [
        (lambda data: data, "identity"),
        (gzip.compress, "gzip"),
        (gzip.compress, "GZIP"),
        (zlib.compress, "deflate"),
    ],
    ids=["identity", "gzip", "upper", "deflate"],
)
async def test_packed_answers_are_read(pack, service, pool):
    service.answers = [reply(body=pack[0](b'{"x": 1}'), headers={"Content-Encoding": pack[1]})]
    assert await ask(service, pool) == "{'x': 1}"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"no gzip", "gzip"),
        (gzip.compress(b'{"x": 1}')[:-9], "gzip"),
        (b"{}", "br"),
        (gzip.compress(gzip.compress(b"{}")), "gzip, gzip"),
    ],
    ids=["broken", "cut", "unknown", "twice"],
)
async def test_packing_that_cant_be_read_is_told(body, encoding, service, pool):
    service.answers = [reply(body=body, headers={"Content-Encoding": encoding})]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert "pack" in str(error) or "compression" in str(error)


@pytest.mark.parametrize("packed", [True, False])
async def test_an_answer_that_never_ends_is_cut_off(packed, service, pool):
    body = b"[" + b" " * (SIZE_LIMIT + 10) + b"]"
    sent = gzip.compress(body) if packed else body
    service.answers = [reply(body=sent, headers={"Content-Encoding": "gzip"} if packed else {})]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert "larger than 8 MB" in str(error)


async def test_an_answer_just_below_the_limit_is_read(service, pool):
    service.answers = [reply(body=b"1" + b" " * (SIZE_LIMIT - 1))]
    assert await ask(service, pool, timeout=20) == "1"


async def test_a_byte_order_mark_does_no_harm(service, pool):
    service.answers = [reply(body=b'\xef\xbb\xbf{"x": 1}')]
    assert await ask(service, pool) == "{'x': 1}"


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe\xfa", b"[" * 100_000, b"1" * 5000, '{"x": "ключ"}'.encode("cp1251"), b"plain words"]
)
async def test_what_is_no_json_is_told(body, service, pool):
    service.answers = [reply(body=body)]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert ("broken JSON" if body[:1] in (b"{", b"[") else "instead of JSON") in str(error)


async def test_remote_words_are_made_fit_to_show(service, pool):
    said = f"<b>bad</b>\x00 key {KEY[6:]} for\n\n'secret question of Ada' " + "x" * 500
    service.answers = [reply(400, {"message": said})]
    error = await failure(service, pool, "secret question of Ada")
    assert "(400: bad key … for '…' xxx" in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "<!DOCTYPE html><p>secret question of Ada",
        "Traceback (most recent call last): File x",
        "für secret question of Ada",
    ],
)
async def test_remote_pages_and_tracebacks_are_not_shown(said, service, pool):
    service.answers = [reply(400, {"message": said})]
    told = str(await failure(service, pool, "secret question of Ada"))
    assert not [word for word in ("Ada", "<", "Traceback", "File") if word in told]


async def test_a_question_escaped_by_the_service_is_not_shown(service, pool):
    query = "Какой адрес у Ады?"
    for said in (json.dumps({"q": query}), repr(query), query.upper()):
        service.answers = [reply(400, {"message": f"bad: {said}"})]
        told = str(await failure(service, pool, query))
        assert "Ады" not in told
        assert "\\u0410\\u0434" not in told


@pytest.fixture
def authority():
    return trustme.CA()


def served_by(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


async def test_a_certificate_nobody_trusts_is_refused_by_name(pool, authority):
    async with Service([OK], tls=served_by(authority.issue_cert("127.0.0.1"))) as service:
        error = await failure(service, pool)
        assert isinstance(error, UnavailableError)
        assert "certificate" in str(error)
        assert "verify_tls" in str(error)
        assert service.requests == []


async def test_verify_tls_off_accepts_any_certificate_and_never_mixes_with_on(pool, authority):
    async with Service([OK], tls=served_by(authority.issue_cert("else.test"))) as service:
        assert await ask(service, pool, verify_tls=False)
        await failure(service, pool, verify_tls=True)


async def test_https_to_a_plain_service_is_told(pool):
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        error = await failure(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", pool)
    assert "TLS failed" in str(error)
    assert "http://" in str(error)


async def test_a_name_that_is_not_known(pool, no_waiting, monkeypatch):
    with pytest.raises(UnavailableError, match=r"Plain at nowhere\.invalid: the host name is not known"):
        await ask("http://nowhere.invalid", pool)


@pytest.mark.parametrize("base", ["http://a\u2024.test", "http://" + "x" * 300 + ".test"])
async def test_a_host_that_cant_be_asked(base, pool, no_waiting):
    with pytest.raises((SettingsError, UnavailableError)):
        await ask(base, pool)


async def test_addresses_that_are_no_longer_used_make_room(pool, monkeypatch):
    monkeypatch.setattr(pools, "LANES", 2)
    async with Service([OK]) as one, Service([OK]) as two, Service([OK]) as three:
        for service in (one, two, three):
            await ask(service, pool)
        assert len(pool._lanes) == 2
        await ask(one, pool)
        assert one.connections == 2


async def test_connections_that_were_long_unused_are_closed(service, pool, monkeypatch):
    service.answers = [OK]
    await asyncio.gather(*(ask(service, pool) for _ in range(4)))
    [lane] = pool._lanes.values()
    opened = len(lane._idle)
    monkeypatch.setattr(pools, "KEPT_ALIVE", -1.0)
    for _ in range(opened):
        await ask(service, pool)
    assert len(lane._idle) <= 1


async def test_a_closed_pool_has_no_connections_and_can_go_on(service):
    service.answers = [OK]
    pool = Pool()
    await ask(service, pool)
    await pool.close()
    assert pool._lanes == {}
    assert await ask(service, pool)
    await pool.close()


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
