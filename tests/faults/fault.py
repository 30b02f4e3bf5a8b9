"""A row of the matrix: what happens, where, and what each service's call comes to."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adapters import Network
from tests.faults.kit import Kit
from tests.service import Answer, Service

AUTH, GONE, LIMITED = "AuthError", "NotFoundError", "RateLimitedError"
AWAY, ODD, SET = "UnavailableError", "ResponseError", "SettingsError"
WORKS = "entries"


class Expected(NamedTuple):
    """An error's class or WORKS, and how many requests the service sees."""

    kind: str
    requests: int


@dataclass
class Place:
    """Where a call goes: the address, the service behind it, and those that must not be asked."""

    base: str
    service: Service = field(default_factory=Service)
    others: list[Service] = field(default_factory=list)
    network: Network = field(default_factory=Network)


Places = Callable[[Kit], AbstractAsyncContextManager[Place]]


@dataclass(frozen=True)
class Fault:
    """A row of the matrix: what happens, and what each service's call comes to."""

    name: str
    place: Places
    kind: str
    requests: int
    differs: dict[str, Expected] = field(default_factory=dict)
    """Services that differ, by their word in the settings."""
    timeout: float = 6.0
    patient: bool = False
    """Time is the subject: pauses are not skipped."""
    warm: bool = False
    """A good call comes first."""
    before: Callable[[Kit], Answer] | None = None
    """Three calls come first and are answered like this; their requests don't count, and time stands still."""
    later: float = 0.0
    """Seconds that have passed after them."""
    around: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext
    says: str = ""
    """What every text holds."""

    def expected(self, kit: Kit) -> Expected:
        return self.differs.get(kit.backend, Expected(self.kind, self.requests))


ONCE = {"jinba": Expected(AWAY, 1)}
"""A run of Jinba costs credits: what may have arrived is not sent again."""
