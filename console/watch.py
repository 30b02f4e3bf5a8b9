"""Calls of the page that can be watched and stopped while they run: steps as they end, which try, the answer at last."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from adapters import Access
from bridge.errors import BridgeError, shortened
from bridge.recent import Recent

CALLS = 64
KEPT = 300.0
"""Seconds for which a call that ended can still be asked for."""


class Stopped(BridgeError):  # noqa: N818 - nothing went wrong
    """The admin stopped the call."""

    def __init__(self) -> None:
        super().__init__("stopped", "")

    def __str__(self) -> str:
        return self.happened


class Watched:
    """One call: what it did so far, and the tasks that work for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopped = False
        self.ended: float | None = None
        self.steps: list[dict[str, Any]] = []
        self.columns: list[dict[str, Any]] = []
        self.trying: dict[str, Any] | None = None
        self.answer: dict[str, Any] | None = None

    @contextmanager
    def working(self) -> Iterator[None]:
        """What runs inside ends when the call is stopped, as Stopped."""
        task = asyncio.current_task()
        if task is None:  # pragma: no cover - a coroutine always runs in one
            raise RuntimeError
        if self._stopped:
            raise Stopped
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)
            if self._stopped:
                task.uncancel()
                raise Stopped from None

    def stop(self) -> None:
        """End the work; requests that run are broken off."""
        if not self._stopped:
            self._stopped = True
            for task in self._tasks:
                task.cancel()

    def step(self, step: dict[str, Any]) -> None:
        """One more step has ended."""
        self.steps.append(step)
        self.trying = None

    def column(self, column: dict[str, Any]) -> None:
        """One more search has ended."""
        self.columns.append(column)
        self.trying = None

    def over(self, access: Access) -> Access:
        """An access whose further tries are told here."""
        return replace(access, watch=self.tried)

    def tried(self, tries: int, error: BridgeError | None) -> None:
        """See bridge.http.retry.Watch."""
        self.trying = {"tries": tries, "text": shortened(error.happened, 200)} if error else None

    def progress(self) -> dict[str, Any]:
        """As the page is told it."""
        return {
            "known": True,
            "done": self.ended is not None,
            "seconds": (self._clock() if self.ended is None else self.ended) - self._began,
            "steps": list(self.steps),
            "columns": list(self.columns),
            "trying": self.trying,
            "answer": self.answer,
        }

    def end(self) -> None:
        """Nothing more will happen."""
        self.ended, self.trying = self._clock(), None


UNKNOWN = {"known": False, "done": False, "seconds": 0.0, "steps": [], "columns": [], "trying": None, "answer": None}


class Watches:
    """The calls of any number of installations, by the ids that the pages gave them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: Recent[tuple[str, str], Watched] = Recent(CALLS)

    @contextmanager
    def watching(self, tenant: str, call: str) -> Iterator[Watched]:
        """A call for as long as it runs; a blank id can't be asked for."""
        watched = Watched(self._clock)
        if call:
            self._drop_old()
            self._calls.put((tenant, call), watched)
        try:
            yield watched
        finally:
            watched.end()

    def progress(self, tenant: str, call: str) -> dict[str, Any]:
        """What an installation's call did so far."""
        watched = self._calls.get((tenant, call))
        return watched.progress() if watched else dict(UNKNOWN)

    def stop(self, tenant: str, call: str) -> bool:
        """End an installation's call; whether it is known."""
        watched = self._calls.get((tenant, call))
        if watched:
            watched.stop()
        return watched is not None

    def forget(self, tenant: str) -> None:
        """Drop everything of an installation."""
        self._calls.forget(tenant)

    def _drop_old(self) -> None:
        now = self._clock()
        for name, watched in list(self._calls.items()):
            if watched.ended is not None and now - watched.ended > KEPT:
                del self._calls[name]
