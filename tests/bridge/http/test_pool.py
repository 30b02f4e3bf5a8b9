"""Connections, turns and kept answers."""

import asyncio

import pytest

from bridge.errors import UnavailableError
from bridge.http import Network, Pool
from bridge.http import pool as pools
from tests.bridge.http.plain import LIMIT, OK, ask, failure
from tests.pauses import nap
from tests.service import Service, raw, silence


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


async def test_max_connections_is_kept(service, pool):
    now, most = 0, 0

    async def slow(request, writer):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return await OK(request, writer)

    service.answers = [slow]
    network = Network.of({"max_connections": "3"})
    await asyncio.gather(*(ask(service, pool, network=network) for _ in range(20)))
    assert most == service.connections == 3


async def test_waiting_for_a_turn_counts(service, pool):
    service.answers = [silence]
    calls = [asyncio.create_task(failure(service, pool, timeout=1)) for _ in range(LIMIT + 4)]
    errors = await asyncio.gather(*calls)
    assert {type(error) for error in errors} == {UnavailableError}
    service.answers = [OK]
    assert await ask(service, pool)


async def test_a_kept_connection_that_was_dropped_is_no_failure(service, pool, no_waiting):
    service.answers = [raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", close=True), OK]
    await ask(service, pool)
    await nap(0.05)
    assert await ask(service, pool) == "{'x': 1}"
    assert len(service.requests) == 2


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


async def test_addresses_that_are_no_longer_used_make_room(pool, monkeypatch):
    monkeypatch.setattr(pools, "LANES", 2)
    async with Service([OK]) as one, Service([OK]) as two, Service([OK]) as three:
        for service in (one, two, three):
            await ask(service, pool)
        assert len(pool._lanes) == 2
        await ask(one, pool)
        assert one.connections == 2


async def test_a_closed_pool_has_no_connections_and_can_go_on(service):
    service.answers = [OK]
    pool = Pool()
    await ask(service, pool)
    await pool.close()
    assert pool._lanes == {}
    assert await ask(service, pool)
    await pool.close()
