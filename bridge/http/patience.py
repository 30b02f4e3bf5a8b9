"""Leaving an address alone that failed repeatedly, so that nobody waits for what can't come."""

from collections.abc import Callable
from dataclasses import dataclass

from bridge.errors import BridgeError, UnavailableError
from bridge.recent import Recent

FAILURES = 3
"""Failed calls in a row after which an address is left alone."""
PAUSE = 1.0
"""Seconds until one call may try it again; so soon its return is noticed."""
RESTART = 10.0
"""Seconds for which refused connections may be a restart and don't count yet."""
REMEMBERED = 512
Name = tuple[str, str]
"""Tenant, and the address as it stands in the settings.

No key and no dataset, since whether a server is there doesn't depend on them; but the path, since one gateway answers
502 for one of the services behind it and not for another. Tenants stay apart: each reaches an address over a proxy and
with certificates of its own, and none may decide what another can ask.
"""


@dataclass(slots=True)
class Trouble:
    """What an address did last."""

    since: float
    """When the first call began that failed."""
    failures: int = 0
    reason: str = ""
    until: float = 0.0
    """When the next call may try it."""


class Patience:
    """One memory for many addresses; nothing is shared between names."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._troubles: Recent[Name, Trouble] = Recent(REMEMBERED)

    def probing(self, name: Name) -> bool:
        """Whether a call that begins now is a probe: the first for a while to an address that is left alone.

        UnavailableError with the last reason for every other call to such an address.
        """
        trouble = self._troubles.get(name)
        if not trouble or trouble.failures < FAILURES:
            return False
        now = self._clock()
        if now < trouble.until:
            raise UnavailableError(
                f"left alone after {trouble.failures} failures in a row ({trouble.reason})",
                "Check that the service runs; it is tried again every second",
            )
        trouble.until = now + PAUSE
        return True

    def failed(self, name: Name, error: BridgeError, began: float) -> None:
        """Count a failure of the address itself; `began` is when the call did."""
        now = self._clock()
        trouble = self._troubles.get(name) or Trouble(began)
        refused = error.retry is not None and error.retry.patient
        if not refused or now - trouble.since >= RESTART:
            trouble.failures += 1
        trouble.reason, trouble.until = error.happened, now + PAUSE
        self._troubles.put(name, trouble)

    def answered(self, name: Name) -> None:
        """The address works, whatever it says."""
        self._troubles.pop(name, None)

    def forget(self, tenant: str) -> None:
        """Start anew with every name of this tenant."""
        self._troubles.forget(tenant)
