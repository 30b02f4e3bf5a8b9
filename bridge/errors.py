"""What can go wrong with a retrieval: one class per remedy, one form of text."""

from dataclasses import dataclass
from typing import Self

from langbot_plugin.api.entities.builtin.rag.errors import RetrievalError

TEXT_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Retry:
    """May be tried again: not before `after` seconds, `tries` tries in all; `unsent`: the service did nothing yet.

    `patient`: for a share of the timeout instead, however many tries.
    """

    after: float = 0.0
    tries: int = 3
    unsent: bool = False
    patient: bool = False


class BridgeError(RetrievalError):
    """A failed retrieval; its text is `<Product> at <host>: <what happened>. <What to do>.`, under 300 characters.

    The text never holds a key, the query, a header, HTML or a traceback.
    """

    def __init__(self, happened: str, remedy: str, *, retry: Retry | None = None) -> None:
        super().__init__(happened, remedy)
        self.happened = happened
        self.remedy = remedy
        self.retry = retry
        self.where = ""
        self.dataset = ""
        self.version = ""
        """What the service called itself, if it answered."""
        self.tries = 0
        """How often the last request was sent; 0: nothing was."""
        self.answered = False
        """Whether the service was reached at all."""
        self.by_address = False
        """Whether the address did it, and not what it was asked for: no connection, no answer in time, a gateway's 502."""
        self.foreign = False
        """Whether somebody else answered in the service's place."""

    def at(self, where: str, tries: int = 0) -> Self:
        """Say which service failed, and after how many tries."""
        self.where, self.tries = where, tries
        return self

    def __str__(self) -> str:
        start = f"{self.where}: " if self.where else ""
        end = f" (dataset {self.dataset})" if self.dataset else ""
        end += f", {self.tries} tries" if self.tries > 1 else ""
        end += f". {self.remedy}."
        room = TEXT_LIMIT - 1 - len(start) - len(end)
        return start + shortened(self.happened, max(room, 20)) + end


class SettingsError(BridgeError):
    """A setting or filter can't be used, here or by the service. Names the setting, not its value."""


class AuthError(BridgeError):
    """The service refused the key, or the key's owner may not do this."""


class NotFoundError(BridgeError):
    """No such dataset, or no such API at this address."""


class RateLimitedError(BridgeError):
    """The service wants fewer requests."""


class UnavailableError(BridgeError):
    """No connection, no answer in time, or a fault on the service's side that may pass."""


class ResponseError(BridgeError):
    """The service answered something that can't be read as a search result."""


def shortened(text: str, limit: int) -> str:
    """`text` in one line of at most `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
