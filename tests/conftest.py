import asyncio

import pytest

from adapters import Pool
from tests.service import Service


@pytest.fixture
async def pool():
    async with Pool() as pool:
        yield pool


@pytest.fixture
async def service():
    async with Service() as service:
        yield service


@pytest.fixture
def no_waiting(monkeypatch):
    """Pauses between tries take no time; what was asked for is collected."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def skip(seconds: float, *rest: object) -> None:
        if seconds:
            pauses.append(seconds)
        await sleep(0, *rest)

    monkeypatch.setattr(asyncio, "sleep", skip)
    return pauses
