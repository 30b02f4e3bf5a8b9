"""An address that failed repeatedly is left alone."""

import asyncio

import pytest

from bridge.errors import AuthError, BridgeError, UnavailableError
from bridge.http import Access, Network, patience
from tests.bridge.http.plain import OK, Plain, ask, failure
from tests.service import reply, silence

EAGER = Network()


async def fails(service, pool, **settings) -> BridgeError:
    with pytest.raises(BridgeError) as failed:
        await ask(service, pool, network=EAGER, **settings)
    return failed.value


@pytest.fixture
def clock(monkeypatch):
    """Time that only moves when told, for patience alone."""
    now = [1000.0]
    monkeypatch.setattr(patience, "time", type("Clock", (), {"monotonic": staticmethod(lambda: now[0])}))
    return now


async def test_an_address_that_failed_repeatedly_is_left_alone_with_the_last_reason(service, pool, clock):
    service.answers = [reply(500, {"message": "out of memory"})]
    for _ in range(patience.FAILURES):
        await fails(service, pool)
    error = await fails(service, pool)
    assert isinstance(error, UnavailableError)
    assert str(error).startswith("Plain at 127.0.0.1:")
    assert "left alone after 3 failures in a row (the service failed (500: out of memory))" in str(error)
    assert "in 10 s" in str(error)
    assert len(service.requests) == patience.FAILURES


async def test_one_probe_reopens_it(service, pool, clock):
    service.answers = [reply(500)]
    for _ in range(patience.FAILURES):
        await fails(service, pool)
    clock[0] += patience.PAUSE + 1
    arrived, go = asyncio.Event(), asyncio.Event()

    async def wait(request, writer):
        arrived.set()
        await go.wait()
        return await OK(request, writer)

    service.answers = [wait]
    probe = asyncio.create_task(ask(service, pool, network=EAGER))
    await arrived.wait()
    assert "left alone" in str(await fails(service, pool))
    go.set()
    assert await probe
    service.answers = [OK]
    assert await ask(service, pool, network=EAGER)


async def test_a_probe_that_fails_or_is_cancelled_leaves_it_closed_or_open(service, pool, clock):
    service.answers = [reply(500)]
    for _ in range(patience.FAILURES):
        await fails(service, pool)
    clock[0] += patience.PAUSE + 1
    assert "the service failed" in (await fails(service, pool)).happened
    assert "left alone after 4" in str(await fails(service, pool))
    clock[0] += patience.PAUSE + 1
    service.answers = [silence]
    probe = asyncio.create_task(ask(service, pool, network=EAGER))
    while len(service.requests) < 5:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    service.answers, service.turn = [OK], 0
    assert await ask(service, pool, network=EAGER)


async def test_other_keys_addresses_and_tenants_are_not_touched(service, pool, clock):
    service.answers = [reply(500)]
    for _ in range(patience.FAILURES):
        await fails(service, pool)
    service.answers = [OK]
    assert await ask(service, pool, network=EAGER, api_key="another-key-123")
    async with Access(pool, EAGER, "tenant").open(Plain(api_base_url=service.base, dataset_id="d"), "x") as http:
        assert await http.post("/search", {})
    await fails(service, pool)


async def test_failures_of_ours_and_recoveries_dont_count(service, pool, clock):
    service.answers = [reply(500), reply(500), OK, reply(500), reply(500), reply(401), reply(500), reply(500), OK]
    for wanted in (UnavailableError, UnavailableError, None, UnavailableError, UnavailableError, AuthError):
        if wanted is None:
            await ask(service, pool, network=EAGER)
        else:
            assert isinstance(await fails(service, pool), wanted)
    await fails(service, pool)
    await fails(service, pool)
    assert await ask(service, pool, network=EAGER)


async def test_patience_can_be_switched_off(service, pool):
    service.answers = [reply(500)]
    for _ in range(patience.FAILURES + 3):
        await failure(service, pool)
    assert len(service.requests) == patience.FAILURES + 3


async def test_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(patience, "REMEMBERED", 3)
    memory = patience.Patience()
    for number in range(10):
        with pytest.raises(UnavailableError), memory.call(("", bytes([number]))):
            raise UnavailableError("x", "y")
    assert len(memory._troubles) == 3
