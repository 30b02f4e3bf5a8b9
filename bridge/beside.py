"""Work beside a call that doesn't wait for it."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any


class Beside:
    """Runs work in the background, at one time once for each name; what it raises is its own business."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[None]] = {}

    def start(self, name: Hashable, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin `work`, unless it is going on under this name already."""
        if name in self._running:
            return
        task = asyncio.get_running_loop().create_task(work())
        self._running[name] = task
        task.add_done_callback(lambda _: self._running.pop(name, None))

    async def close(self) -> None:
        """End what is going on."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
