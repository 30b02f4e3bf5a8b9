"""Nothing is left behind: no connection, no task, no file."""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from adapters import Access, BridgeError, Network, Pool
from tests.contract.cases import CASES
from tests.faults.callers import asker, caught, seeded
from tests.faults.kit import Kit
from tests.faults.wire import raw
from tests.nightly import times
from tests.pauses import nap, quick
from tests.service import Answer, Request, Service, reset, silence


def open_files() -> int:
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.is_dir() else 0


def tasks_besides(*services: Service) -> set[asyncio.Task[Any]]:
    served = {task for service in services for task in service.tasks}
    return asyncio.all_tasks() - served - {asyncio.current_task()}


async def settled() -> None:
    """Time for callbacks of closed connections."""
    for _ in range(5):
        await nap(0.01)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.backend) for case in CASES])
async def test_cancelled_calls_leave_no_connection_checked_out(case):
    kit, luck = Kit(case), seeded(case.backend)
    good = kit.whole()

    async def half(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        writer.write(good[:-50])
        return await silence(request, writer)

    async def any_of_them(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        return await luck.choice([silence, half, raw(good), reset(), reset(good[:99])])(request, writer)

    limit = Network().max_connections
    async with Service([any_of_them]) as service, Pool() as pool:
        access = Access(pool, Network(pause_after_failures=False))
        before = tasks_besides(service)
        calls = [asyncio.create_task(caught(asker(case, n, service.base), access)) for n in range(6 * limit)]
        for call in luck.sample(calls, len(calls)):
            await nap(luck.random() * 0.002)
            call.cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        strange = [
            end for end in ended if not isinstance(end, (RetrievalResponse, BridgeError, asyncio.CancelledError))
        ]
        assert not strange
        assert any(isinstance(end, asyncio.CancelledError) for end in ended)

        everybody_there = asyncio.Barrier(limit)

        async def together(request: Request, writer: asyncio.StreamWriter) -> bool | None:
            await everybody_there.wait()
            return await raw(good)(request, writer)

        service.answers, service.looked_up = [together], raw(good)
        outcomes = await asyncio.gather(*(caught(asker(case, n, service.base, 5), access) for n in range(limit)))
        assert [type(outcome) for outcome in outcomes] == [RetrievalResponse] * limit
        await settled()
        assert tasks_besides(service) == before


def unlucky(kit: Kit, luck: random.Random) -> Answer:
    """Good answers; every third time, at random, one of the failures."""
    good = raw(kit.whole())
    failures = [
        reset(),
        reset(kit.whole()[:-30]),
        raw(kit.whole()[:99], close=True),
        raw(kit.whole(503, kit.page)),
        raw(kit.whole(500, kit.failed(500))),
        raw(kit.whole(429, kit.failed(429))),
        raw(kit.whole(401, kit.failed(401))),
        raw(kit.whole(body=kit.good[:-9])),
        raw(kit.whole(), close=True),
        raw(b"nonsense\r\n\r\n", close=True),
    ]

    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        chosen = luck.choice(failures) if luck.random() < 1 / 3 else good
        return await chosen(request, writer)

    return answer


@pytest.mark.parametrize("patient", [False, True])
async def test_many_calls_of_services_that_fail_every_third_time(patient):
    many, luck, rounds = len(CASES), seeded(4711), times(4, 8) if patient else times(6, 20)
    files = open_files()
    before = tasks_besides()
    kinds: Counter[str] = Counter()
    with quick():
        async with AsyncExitStack() as stack:
            services = [await stack.enter_async_context(Service([unlucky(Kit(case), luck)])) for case in CASES]
            pool = await stack.enter_async_context(Pool())
            access = Access(pool, Network(pause_after_failures=patient))
            held = []
            for round_ in range(rounds):
                numbers = [50 * round_ + n for n in range(50)]
                calls = [
                    caught(asker(CASES[n % many], number, services[n % many].base, looks_up=False), access)
                    for n, number in enumerate(numbers)
                ]
                for outcome in await asyncio.gather(*calls):
                    if isinstance(outcome, RetrievalResponse):
                        assert outcome.results
                        kinds["entries"] += 1
                    else:
                        kinds[type(outcome).__name__] += 1
                await settled()
                held.append(open_files() - files)
                assert tasks_besides(*services) == before
            assert max(held[rounds // 2 :]) <= max(
                *held[: rounds // 2], len(CASES) * (1 + 2 * Network().max_connections)
            )
    await settled()
    assert kinds.total() == 50 * rounds
    assert kinds["entries"] > (0 if patient else 30 * rounds)
    assert set(kinds) <= {"entries", "UnavailableError", "ResponseError", "AuthError", "RateLimitedError"}
    assert len(kinds) >= 4
    assert open_files() <= files + 2
    assert tasks_besides() == before
