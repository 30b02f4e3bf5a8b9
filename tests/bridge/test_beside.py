import asyncio
from functools import partial

from bridge.beside import Beside


async def test_work_runs_once_at_a_time_for_each_name():
    ran, gate, beside = [], asyncio.Event(), Beside()

    async def work(name: str) -> None:
        ran.append(name)
        await gate.wait()

    for name in ("a", "a", "b"):
        beside.start(name, partial(work, name))
    await asyncio.sleep(0)
    assert ran == ["a", "b"]
    gate.set()
    await asyncio.sleep(0.01)
    beside.start("a", lambda: work("a"))
    await asyncio.sleep(0)
    assert ran == ["a", "b", "a"]


async def test_what_goes_on_ends_with_it():
    ended, beside = [], Beside()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    beside.start("a", work)
    await asyncio.sleep(0)
    await beside.close()
    assert ended == [True]
