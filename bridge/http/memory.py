"""Answers kept between calls, each for the installation, address and key that asked."""

from collections.abc import Callable
from typing import NamedTuple

from bridge.http.reply import Json
from bridge.recent import Recent

KEPT_ANSWERS = 512
KeptName = tuple[str, bytes, str, str]
"""Tenant, digest of address and key, path, parameters."""


class Kept(NamedTuple):
    """An answer, and how many seconds ago it came."""

    answer: Json
    age: float


class Memory:
    """The last answers worth keeping; the oldest goes where there are too many."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: Recent[KeptName, tuple[float, Json]] = Recent(KEPT_ANSWERS)

    def get(self, name: KeptName) -> Kept | None:
        """What is kept under this name."""
        if name not in self._answers:
            return None
        at, answer = self._answers[name]
        return Kept(answer, self._clock() - at)

    def keep(self, name: KeptName, answer: Json) -> None:
        """Keep an answer that came now."""
        self._answers.put(name, (self._clock(), answer))

    def drop(self, name: KeptName) -> None:
        """Forget one answer, if it is there."""
        self._answers.pop(name, None)

    def forget(self, tenant: str) -> None:
        """Forget every answer of an installation."""
        self._answers.forget(tenant)
