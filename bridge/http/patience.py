"""Leaving an address alone that failed repeatedly, so that nobody waits for what can't come."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bridge.errors import UnavailableError

FAILURES = 3
"""Failed calls in a row after which an address is left alone."""
PAUSE = 10.0
"""Seconds until one call may try it again."""
REMEMBERED = 512


@dataclass(slots=True)
class Trouble:
    """What an address did last."""

    failures: int = 0
    reason: str = ""
    until: float = 0.0
    probing: bool = False


class Patience:
    """One memory for many addresses and keys, each by tenant and digest; nothing is shared between names."""

    def __init__(self) -> None:
        self._troubles: dict[tuple[str, bytes], Trouble] = {}

    @contextmanager
    def call(self, name: tuple[str, bytes]) -> Iterator[None]:
        """Around one call. UnavailableError with the last reason while the address is left alone.

        What leaves the call as UnavailableError counts as its failure, any other end as its recovery; a cancelled call
        counts as neither. After the pause one call goes through as a probe, the others go on failing until it ends.
        """
        trouble = self._troubles.get(name)
        now = time.monotonic()
        if trouble and trouble.failures >= FAILURES:
            if now < trouble.until or trouble.probing:
                raise UnavailableError(
                    f"left alone after {trouble.failures} failures in a row ({trouble.reason})",
                    f"It is tried again in {max(trouble.until - now, 1):.0f} s",
                )
            trouble.probing = True
        try:
            yield
        except UnavailableError as error:
            self._failed(name, error.happened)
            raise
        except Exception:
            self._troubles.pop(name, None)
            raise
        else:
            if trouble:
                self._troubles.pop(name, None)
        finally:
            if trouble:
                trouble.probing = False

    def _failed(self, name: tuple[str, bytes], reason: str) -> None:
        trouble = self._troubles.pop(name, None) or Trouble()
        trouble.failures += 1
        trouble.reason = reason
        trouble.until = time.monotonic() + PAUSE
        if len(self._troubles) >= REMEMBERED:
            del self._troubles[next(iter(self._troubles))]
        self._troubles[name] = trouble

    def forget(self, tenant: str) -> None:
        """Start anew with every name of this tenant."""
        for name in [name for name in self._troubles if name[0] == tenant]:
            del self._troubles[name]
