"""Pauses between tries, skipped."""

import asyncio
import contextlib
from collections.abc import Iterator
from unittest import mock

nap = asyncio.sleep
"""The real one, also where pauses are skipped."""


@contextlib.contextmanager
def quick() -> Iterator[list[float]]:
    """Pauses between tries take no time; what was asked for is collected."""
    pauses: list[float] = []

    async def skip(seconds: float, *rest: object) -> None:
        if seconds:
            pauses.append(seconds)
        await nap(0, *rest)

    with mock.patch.object(asyncio, "sleep", skip):
        yield pauses
