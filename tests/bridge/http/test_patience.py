"""Addresses that are away: what counts, who is left alone, and what is tried again. Restarts on real sockets."""

import asyncio
import socket

import pytest
import trustme

from adapters.backend import Failure
from bridge.errors import AuthError, BridgeError, Retry, UnavailableError
from bridge.http import Access, Network, Pool, patience, retry
from bridge.http.stream import Streams
from tests.bridge.http.plain import OK, Dear, Plain, ask, failure
from tests.certificates import serving
from tests.service import Service, raw, reply, reset, silence

EAGER = Network()


class Frail(Plain):
    """One with words for a model that fails, and for one that is busy."""

    failures = (
        Failure("503.*model", UnavailableError, "a model is busy", "Wait", Retry(tries=2)),
        Failure("500", UnavailableError, "a model failed", "Check the model", Retry(tries=2)),
    )


async def fails(service, pool, **settings) -> BridgeError:
    return await failure(service, pool, network=EAGER, **settings)


async def left_alone(service, pool, **settings) -> bool:
    return "left alone" in str(await fails(service, pool, **settings))


@pytest.fixture
def port():
    """A free port, kept from others while nobody listens."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


# ---- what counts


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (reset(), "broke off"),
        (raw(b"nonsense"), "broke off"),
        (raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"x": '), "broke off"),
        (reply(502, b"<html>"), "status 502"),
        (reply(503, {"message": "starting"}), "starting"),
        (reply(504, b""), "status 504"),
    ],
    ids=["reset", "no HTTP", "cut", "502", "503", "504"],
)
async def test_an_address_that_fails_three_times_is_left_alone_with_the_last_reason(
    answer, says, service, timed, skipped
):
    service.answers = [answer]
    for _ in range(patience.FAILURES):
        assert not await left_alone(service, timed)
    came = len(service.requests)
    error = await fails(service, timed)
    assert isinstance(error, UnavailableError)
    assert "left alone after 3 failures in a row" in str(error)
    assert says in str(error)
    assert "every second" in str(error)
    assert len(service.requests) == came


async def test_silence_counts(service, timed):
    service.answers = [silence]
    await asyncio.gather(*(fails(service, timed, timeout=1) for _ in range(patience.FAILURES)))
    assert await left_alone(service, timed)


@pytest.mark.parametrize(
    "answer",
    [
        reply(400, {"message": "no such model"}),
        reply(401, {"message": "no such key"}),
        reply(404, {"message": "no such dataset"}),
        reply(429, {"message": "later"}),
        reply(500, {"message": "the model is gone"}),
        reply(503, {"message": "the model is busy"}),
        reply(200, b"no JSON"),
        reply(200, b"{}", {"Content-Encoding": "gzip"}),
    ],
    ids=["400", "401", "404", "429", "500", "503 in its own words", "no JSON", "broken gzip"],
)
async def test_what_a_service_says_of_one_dataset_stops_no_other(answer, service, timed, skipped):
    service.answers = [answer]
    for _ in range(patience.FAILURES + 1):
        assert not await left_alone(service, timed, kind=Frail, dataset_id="a")
    service.answers = [OK]
    assert await ask(service, timed, network=EAGER, kind=Frail, dataset_id="b")


async def test_a_failure_of_ours_stops_nobody(timed):
    authority = trustme.CA()
    async with Service([OK], tls=serving(authority.issue_cert("127.0.0.1"))) as service:
        for _ in range(patience.FAILURES + 1):
            assert "certificate" in str(await fails(service, timed))
        assert await ask(service, timed, network=EAGER, verify_tls=False)


async def test_a_dataset_too_slow_for_its_timeout_stops_no_other(service, timed):
    asked = asyncio.Semaphore(0)

    async def slow(request, writer):
        asked.release()
        return await (silence if request.json["query"] == "slow" else OK)(request, writer)

    service.answers = [slow]
    waiting = [
        asyncio.create_task(failure(service, timed, "slow", network=EAGER, timeout=1))
        for _ in range(patience.FAILURES + 1)
    ]
    for _ in waiting:
        await asked.acquire()
    assert await ask(service, timed, "quick", network=EAGER)
    assert {type(error) for error in await asyncio.gather(*waiting)} == {UnavailableError}
    assert await ask(service, timed, "quick", network=EAGER)


async def test_an_answer_begins_the_count_anew(service, timed, skipped):
    service.answers = [*[reset()] * 6, reply(401), *[reset()] * 6, OK, *[reset()] * 6, OK]
    kinds: list[object] = []
    for _ in range(9):
        try:
            kinds.append(await ask(service, timed, network=EAGER))
        except BridgeError as error:
            kinds.append(type(error))
    twice = [UnavailableError, UnavailableError]
    assert kinds == [*twice, AuthError, *twice, "{'x': 1}", *twice, "{'x': 1}"]


# ---- who is left alone


async def test_whose_failures_these_are(service, timed, skipped):
    service.answers = [reset()]
    for _ in range(patience.FAILURES):
        await fails(service, timed)
    assert await left_alone(service, timed, api_key="another-key-123")
    assert await left_alone(service, timed, dataset_id="another")
    service.answers = [OK]
    assert await ask(f"{service.base}/another/service", timed, network=EAGER)
    async with Access(timed, EAGER, "tenant").open(Plain(api_base_url=service.base, dataset_id="d"), "x") as http:
        assert await http.post("/search", {})
    async with Service([OK]) as other:
        assert await ask(other, timed, network=EAGER)


async def test_one_call_a_second_finds_out(service, timed, clock, skipped, monkeypatch):
    connects = []
    connect = Streams.connect_tcp

    async def noted(self, **how):
        connects.append(how["timeout"])
        return await connect(self, **how)

    monkeypatch.setattr(Streams, "connect_tcp", noted)
    service.answers = [reset()]
    for _ in range(patience.FAILURES):
        await fails(service, timed)
    for _ in range(2):
        assert await left_alone(service, timed)
        clock.now += patience.PAUSE
        service.requests.clear()
        assert "broke off" in str(await fails(service, timed))  # a probe; not the last reason, but its own
        assert len(service.requests) == 1
    assert connects[0] == 4.0  # the call's whole time
    assert connects[-1] < 4.0
    clock.now += patience.PAUSE
    arrived, go = asyncio.Event(), asyncio.Event()

    async def wait(request, writer):
        arrived.set()
        await go.wait()
        return await OK(request, writer)

    service.answers = [wait]
    probe = asyncio.create_task(ask(service, timed, network=EAGER))
    await arrived.wait()
    assert await left_alone(service, timed)
    go.set()
    assert await probe
    service.answers = [OK]
    assert await ask(service, timed, network=EAGER)


async def test_a_probe_that_hangs_or_is_cancelled_is_followed_by_another(service, timed, clock, skipped):
    service.answers = [reset()]
    for _ in range(patience.FAILURES):
        await fails(service, timed)
    arrived = asyncio.Event()

    async def arrive(request, writer):
        arrived.set()
        return await silence(request, writer)

    service.answers = [arrive]
    clock.now += patience.PAUSE
    probe = asyncio.create_task(ask(service, timed, network=EAGER))
    await arrived.wait()
    assert await left_alone(service, timed)
    clock.now += patience.PAUSE
    service.answers = [OK]
    assert await ask(service, timed, network=EAGER)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert await ask(service, timed, network=EAGER)


async def test_patience_can_be_switched_off(service, pool, no_waiting):
    service.answers = [reset()]
    for _ in range(patience.FAILURES + 1):
        await failure(service, pool)
    assert len(service.requests) == 3 * (patience.FAILURES + 1)


def test_the_memory_is_bounded(monkeypatch, clock):
    monkeypatch.setattr(patience, "REMEMBERED", 3)
    memory = patience.Patience(clock)
    for number in range(10):
        memory.failed(("", f"http://host/{number}"), UnavailableError("x", "y"), clock())
    assert len(memory._troubles) == 3


async def test_a_tenant_that_is_gone_leaves_nothing(service, no_waiting):
    service.answers = [reset()]
    async with Pool() as pool:
        backend = Plain(api_base_url=service.base, dataset_id="d")
        for tenant in ("a", "b"):
            pool.memory.keep((tenant, b"d", "/x", ""), {})
            with pytest.raises(UnavailableError):
                async with Access(pool, EAGER, tenant).open(backend, "x") as http:
                    await http.post("/search", {})
        pool.forget("a")
        assert {name[0] for name in pool.memory._answers} == {"b"}
        assert {name[0] for name in pool.patience._troubles} == {"b"}


# ---- a restart


async def test_a_refused_connection_is_tried_for_a_third_of_the_timeout(port, timed, clock, skipped):
    began = clock.now
    error = await fails(f"http://127.0.0.1:{port}", timed, timeout=30)
    assert isinstance(error, UnavailableError)
    assert "refused" in str(error)
    assert error.tries == len(skipped) + 1
    assert sum(skipped[:-1]) < 10 <= clock.now - began <= 10 + retry.LONGEST_PAUSE
    assert max(skipped[:2]) < max(skipped) <= retry.LONGEST_PAUSE  # they grow


async def test_tries_while_refused_take_none_from_other_failures(port, timed, skipped):
    async def comes_up():
        while len(skipped) < 5:  # noqa: ASYNC110
            await asyncio.sleep(0)
        return await Service([reset(), reset(), OK], port=port).__aenter__()

    starting = asyncio.create_task(comes_up())
    assert await ask(f"http://127.0.0.1:{port}", timed, network=EAGER, timeout=30)
    service = await starting
    assert len(service.requests) == 3
    await service.__aexit__()


async def test_refused_calls_count_only_once_it_is_no_restart(port, timed, clock, skipped):
    base = f"http://127.0.0.1:{port}"
    began, refused = clock.now, 0
    while not await left_alone(base, timed, timeout=3):
        refused += 1
        assert refused < 100
    assert clock.now - began >= patience.RESTART
    assert refused > patience.FAILURES
    skipped.clear()
    clock.now += patience.PAUSE
    assert "refused" in str(await fails(base, timed, timeout=30))
    assert not skipped  # a probe doesn't wait for it
    async with Service([OK], port=port) as service:
        clock.now += patience.PAUSE
        assert await ask(service, timed, network=EAGER)
        assert await ask(service, timed, network=EAGER)


@pytest.mark.parametrize("kind", [Plain, Dear])
async def test_calls_that_have_time_ride_out_a_restart(kind, port, pool):
    async with Service([OK], port=port) as service:
        base = service.base
        assert await ask(base, pool, network=EAGER, kind=kind)
    calls = []
    for _ in range(20):
        calls.append(asyncio.create_task(ask(base, pool, network=EAGER, kind=kind, timeout=30)))
        await asyncio.sleep(0.03)
    assert not [call for call in calls if call.done()]
    async with Service([OK], port=port) as service:
        assert await asyncio.gather(*calls) == ["{'x': 1}"] * 20
        assert len(service.requests) == 20
