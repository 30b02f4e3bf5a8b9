"""When a request that failed is sent again, and how often."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import tenacity

from bridge.errors import BridgeError
from bridge.http.reply import Json

PATIENT_SHARE = 1 / 3
"""Of the timeout: for so long a connection that nobody takes is tried again, which rides out a restart."""
LONGEST_PAUSE = 1.0
"""Seconds between two tries at most, unless the service asks for more; so soon its return is noticed."""

Watch = Callable[[int, BridgeError | None], None]
"""Is told which try comes next and why the one before failed, then, with no error, which try it was that worked."""


@dataclass(slots=True)
class Retries:
    """The further tries of one request."""

    timeout: float
    ends: float
    """When the call's time is up, by the clock."""
    resend: bool
    """Whether a request that may have arrived can be sent again."""
    clock: Callable[[], float]
    watch: Watch | None = None
    counted: int = 0
    """Failures that `Retry.tries` limits."""
    refused_at: float | None = None

    async def after(self, failed: BridgeError, attempt: Callable[[], Awaitable[Json]]) -> Json:
        """What a further attempt gives after one that failed. Raises the last failure, with the number of tries."""
        tries = 0

        async def again() -> Json:
            # tenacity costs as much as all the rest of a call, so it comes in with the first failure, as its first try
            nonlocal tries
            tries += 1
            if tries == 1:
                raise failed
            return await attempt()

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(self._may), wait=_pause, before_sleep=self._tell, reraise=True
        )
        try:
            answer: Json = await retrying(again)
        except BridgeError as error:
            raise error.at(error.where, tries) from None
        if self.watch:
            self.watch(tries, None)
        return answer

    def _may(self, error: BaseException) -> bool:
        """Whether there may be one more try; asked once for each failure."""
        if not isinstance(error, BridgeError) or error.retry is None:
            return False
        retry, now = error.retry, self.clock()
        if now + retry.after >= self.ends or not (self.resend or retry.unsent):
            return False
        if retry.patient:
            self.refused_at = now if self.refused_at is None else self.refused_at
            return now < self.refused_at + self.timeout * PATIENT_SHARE
        self.counted += 1
        return self.counted < retry.tries

    def _tell(self, state: tenacity.RetryCallState) -> None:
        """Say that there will be one more try."""
        error = state.outcome.exception() if state.outcome else None
        if self.watch and isinstance(error, BridgeError):
            self.watch(state.attempt_number + 1, error)


def _pause(state: tenacity.RetryCallState) -> float:
    """Seconds before the next try: what the failure asks for, at least a random and growing pause."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry.after if isinstance(error, BridgeError) and error.retry else 0.0
    return max(asked, float(tenacity.wait_random_exponential(multiplier=0.2, max=LONGEST_PAUSE)(state)))
