"""Which connections are kept, which are closed, and that a small server isn't starved by ours."""

import asyncio

import pytest

from bridge.http import Pool, lane
from tests.bridge.http.plain import LIMIT, OK, ask
from tests.service import Service

SLOTS = 10


@pytest.fixture
def watchful(monkeypatch):
    """Kept connections are looked at all the time."""
    monkeypatch.setattr(lane, "LOOK", 0.005)


@pytest.fixture
def hurried(monkeypatch):
    """The same with shorter limits."""
    for name in ("LOOK", "STARVED", "QUIET"):
        monkeypatch.setattr(lane, name, getattr(lane, name) / 20)


async def until(what) -> None:
    """Wait for what must come; 20 s are more than it can take."""
    async with asyncio.timeout(20):
        while not what():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def all_at_once(service, pool) -> None:
    """Open as many connections as may be."""
    everybody = asyncio.Barrier(LIMIT)

    async def together(request, writer):
        await everybody.wait()
        return await OK(request, writer)

    service.answers = [together]
    await asyncio.gather(*(ask(service, pool, timeout=30) for _ in range(LIMIT)))
    service.answers = [OK]
    assert service.connections == LIMIT


async def test_an_idle_address_keeps_four_connections_and_in_the_end_none(service, timed, clock, watchful):
    await all_at_once(service, timed)
    [only] = timed._lanes.values()
    clock.now += lane.QUIET + 1
    await until(lambda: service.hung_up)
    await until(lambda: len(service.tasks) == lane.KEPT_IDLE)
    await asyncio.sleep(0.05)
    assert len(service.tasks) == len(only._idle) == lane.KEPT_IDLE
    assert only._timer
    await asyncio.gather(*(ask(service, timed) for _ in range(lane.KEPT_IDLE)))
    assert service.connections == LIMIT  # the kept ones are used
    clock.now += lane.KEPT_ALIVE + 1
    await until(lambda: not service.tasks)
    await until(lambda: not only._timer)


async def test_a_busy_address_keeps_them_all(service, timed, clock, watchful):
    for _ in range(5):
        await all_at_once(service, timed)
        clock.now += lane.QUIET - 1
        assert await ask(service, timed)
        await asyncio.sleep(0.02)
    assert len(service.tasks) == LIMIT


async def test_an_address_with_a_call_now_and_then_keeps_no_more(service, timed, clock, watchful):
    await all_at_once(service, timed)
    for _ in range(5):
        clock.now += lane.QUIET - 1
        assert await ask(service, timed)
    await until(lambda: len(service.tasks) <= lane.KEPT_IDLE)
    assert service.connections == LIMIT


async def test_nothing_looks_after_a_closed_pool(service):
    before = asyncio.all_tasks()
    async with Pool() as pool:
        await all_at_once(service, pool)
        [only] = pool._lanes.values()
    assert only._timer is None
    await until(lambda: not service.tasks)
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("slots", [SLOTS, lane.KEPT_IDLE])
async def test_sixteen_callers_of_a_few_slots_and_another_client(slots, hurried):
    async with Service([OK], slots=slots) as service, Pool() as pool, Pool() as other:
        found = await asyncio.gather(*(ask(service, pool, timeout=30) for _ in range(LIMIT)))
        assert found == ["{'x': 1}"] * LIMIT
        if slots > lane.KEPT_IDLE:
            assert await ask(service, other, timeout=30)
            await until(lambda: len(service.tasks) <= lane.KEPT_IDLE + 1)


async def test_nobody_is_starved_by_those_who_ask_all_the_time(hurried):
    """The ten warm connections would serve one call after the other, and the six new ones wait for their slots."""
    done = 0

    async def caller() -> None:
        nonlocal done
        assert await ask(service, pool, timeout=30)
        done += 1
        while done < LIMIT or pending:
            assert await ask(service, pool, timeout=30)
            pending.discard(asyncio.current_task())

    async with Service([OK], slots=SLOTS) as service, Pool() as pool:
        pending: set[asyncio.Task[None] | None] = set()
        async with asyncio.timeout(20), asyncio.TaskGroup() as callers:
            pending |= {callers.create_task(caller()) for _ in range(LIMIT)}
        assert done == LIMIT


async def test_a_slow_answer_costs_the_quick_ones_few_connections(service, timed, clock):
    go = asyncio.Event()

    async def slow(request, writer):
        if request.json["query"] == "slow":
            await go.wait()
        return await OK(request, writer)

    service.answers = [slow]
    waiting = asyncio.create_task(ask(service, timed, "slow", timeout=30))
    await until(lambda: service.connections == 1)
    for _ in range(30):
        clock.now += 0.1
        assert await ask(service, timed, timeout=30)
    assert 3 <= service.connections <= 2 + 3 / lane.STARVED
    go.set()
    assert await waiting
