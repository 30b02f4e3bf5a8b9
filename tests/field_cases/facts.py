"""What came of a case: the outcome of a call, and what the service was asked meanwhile."""

import asyncio
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalResponse, RetrievalResultEntry

from tests.field_cases.answers import body_of
from tests.service import Request


@dataclass
class Outcome:
    """The end of one call."""

    response: RetrievalResponse | None = None
    error: BaseException | None = None

    @property
    def entries(self) -> list[RetrievalResultEntry]:
        return self.response.results if self.response else []

    @property
    def kind(self) -> str:
        if self.error:
            return "cancelled" if isinstance(self.error, asyncio.CancelledError) else "error"
        return "results" if self.entries else "empty"

    @property
    def message(self) -> str:
        return str(self.error or "")

    @property
    def whole(self) -> str:
        """What is shown of an error: its class and its text."""
        return f"{type(self.error).__name__}: {self.message}" if self.error else ""


@dataclass
class Facts:
    """One call of a case, and everything around it."""

    outcome: Outcome = field(default_factory=Outcome)
    requests: list[Request] = field(default_factory=list)
    elsewhere: list[Request] = field(default_factory=list)
    """What another server was asked."""
    refused: int = 0
    """Connections that nobody took."""
    hang_ups: int = 0
    took: float = 0.0
    log: str = ""
    spoken: str = ""
    """The log from INFO up."""

    @property
    def ids(self) -> list[str]:
        return [entry.id for entry in self.outcome.entries]

    @property
    def scores(self) -> list[float | None]:
        return [entry.score for entry in self.outcome.entries]

    @property
    def distances(self) -> list[float]:
        return [entry.distance for entry in self.outcome.entries]

    @property
    def total(self) -> int:
        return self.outcome.response.total_found if self.outcome.response else 0

    def text(self, place: str) -> str:
        """An entry's text, by its place in the list; empty where there is none."""
        return text_of(self.outcome.entries[int(place)]) if int(place) < len(self.ids) else ""

    def metadata(self, place: str) -> str:
        return _json(self.outcome.entries[int(place)].metadata) if int(place) < len(self.ids) else ""

    @property
    def told(self) -> str:
        """Where an admin could read of something: metadata and the log."""
        response = self.outcome.response
        return _json([response.metadata if response else {}, [e.metadata for e in self.outcome.entries]]) + self.spoken

    @cached_property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method != "GET"]

    @property
    def count(self) -> int:
        return len(self.posts) + self.refused

    @property
    def body(self) -> Any:
        """What the first search said."""
        return body_of(self.posts[0]) or {}

    @property
    def sent(self) -> str:
        return json.dumps(self.body) + self.posts[0].path


def text_of(entry: RetrievalResultEntry) -> str:
    return "".join(part.text or "" for part in entry.content)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
