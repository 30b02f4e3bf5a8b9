import asyncio

import pytest

from adapters import Pool


class Clock:
    """Time that only moves when told, or by pauses where they are skipped."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def timed(clock):
    """A pool on that clock."""
    async with Pool(clock) as pool:
        yield pool


@pytest.fixture
def skipped(clock, monkeypatch):
    """Pauses between tries move the clock and take no time; they are collected."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def skip(seconds: float, *rest: object) -> None:
        if seconds:
            pauses.append(seconds)
            clock.now += seconds
        await sleep(0, *rest)

    monkeypatch.setattr(asyncio, "sleep", skip)
    return pauses
