"""What the last calls came to, in memory: for the page that shows an admin why an answer is missing."""

import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from bridge.errors import BridgeError

CALLS = 200
"""Calls kept per installation."""


@dataclass(frozen=True, slots=True)
class Call:
    """One retrieval: `outcome` is ok, empty or the class of the error; `query` is blank unless it was asked for.

    `notes` are warnings of a call that didn't fail.
    """

    at: float
    knowledge_base: str
    connection: str
    service: str
    outcome: str
    entries: int
    milliseconds: int
    tries: int
    text: str
    notes: tuple[str, ...]
    query: str


class Journal:
    """The last calls of every installation. Holds no key; query texts only where an installation wants them."""

    def __init__(self) -> None:
        self._calls: dict[str, deque[Call]] = {}
        self._with_queries: set[str] = set()

    def calls(self, tenant: str) -> list[dict[str, Any]]:
        """An installation's calls, the newest first."""
        return [asdict(call) for call in reversed(self._calls.get(tenant, ()))]

    def with_queries(self, tenant: str) -> bool:
        """Whether query texts are kept."""
        return tenant in self._with_queries

    def keep_queries(self, tenant: str, *, on: bool) -> None:
        """Keep query texts from now on, or drop those there are."""
        if on:
            self._with_queries.add(tenant)
            return
        self._with_queries.discard(tenant)
        old = self._calls.get(tenant, ())
        self._calls[tenant] = deque((Call(**{**asdict(call), "query": ""}) for call in old), CALLS)

    def add(
        self, tenant: str, context: RetrievalContext, started: float, outcome: RetrievalResponse | BaseException
    ) -> None:
        """Note a call that began at `started` (time.monotonic)."""
        bridge = outcome if isinstance(outcome, BridgeError) else None
        answer = outcome if isinstance(outcome, RetrievalResponse) else None
        told = answer.metadata if answer else {}
        entries = len(answer.results) if answer else 0
        call = Call(
            at=time.time(),
            knowledge_base=context.knowledge_base_id or "",
            connection=str(context.creation_settings.get("connection") or ""),
            service=bridge.where if bridge else str(told.get("service", "")),
            outcome=("ok" if entries else "empty") if answer else type(outcome).__name__,
            entries=entries,
            milliseconds=round((time.monotonic() - started) * 1000),
            tries=bridge.tries if bridge else int(told.get("tries", 0)),
            text=str(bridge) if bridge else "",
            notes=tuple(told.get("notes", ())),
            query=context.query[:200] if tenant in self._with_queries else "",
        )
        self._calls.setdefault(tenant, deque(maxlen=CALLS)).append(call)

    def forget(self, tenant: str) -> None:
        """Drop everything of an installation."""
        self._calls.pop(tenant, None)
        self._with_queries.discard(tenant)
