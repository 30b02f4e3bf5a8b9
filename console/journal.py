"""What the last calls came to, in memory: for the page that shows an admin why an answer is missing."""

import secrets
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from bridge.errors import BridgeError
from bridge.recent import Recent
from console.counted import counted, retrieving

CALLS = 50
"""Calls kept for a knowledge base."""
BASES = 20
"""Knowledge bases of an installation that calls are kept for; the one longest without a call goes first."""
WORKED = ("ok", "empty")
Origin = Literal["search", "page", "save"]


@dataclass(frozen=True, slots=True)
class Call:
    """One retrieval: `outcome` is ok, empty or the class of the error; `query` is blank unless it was asked for.

    `notes` are warnings of a call that didn't fail. `trial`: an admin tried other settings than those that are saved.
    """

    id: str
    at: float
    origin: Origin
    trial: bool
    knowledge_base: str
    connection: str
    service: str
    outcome: str
    entries: int
    milliseconds: int
    tries: int
    """0: nothing was sent."""
    text: str
    notes: tuple[str, ...]
    query: str
    settings: dict[str, Any]
    measure: str
    version: str

    @property
    def failed(self) -> bool:
        """Whether it ended in an error."""
        return self.outcome not in WORKED

    def shown(self) -> dict[str, Any]:
        """As the page is told it."""
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = tuple(one.name for one in fields(Call))


@dataclass(slots=True)
class Share:
    """The calls of one knowledge base."""

    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=CALLS))
    last_error: Call | None = None
    """Of a search with the settings that are saved; stays when its call has left."""
    refused: Call | None = None
    """The last save that was refused, if nothing worked since."""
    retrieval: dict[str, Any] = field(default_factory=dict)
    """How it was searched last."""

    def add(self, call: Call) -> None:
        """Note a call."""
        self.calls.append(call)
        if call.trial:
            return
        if not call.failed:
            self.refused = None
        elif call.origin == "save":
            self.refused = call
        else:
            self.last_error = call

    def everything(self) -> list[Call]:
        """Every call that is kept."""
        old = [call for call in (self.last_error,) if call and call.id < self.calls[0].id]
        return [*old, *self.calls]

    def without_queries(self) -> None:
        """Drop the texts of queries."""
        self.calls = deque((replace(call, query="") for call in self.calls), CALLS)
        self.last_error = replace(self.last_error, query="") if self.last_error else None
        self.refused = replace(self.refused, query="") if self.refused else None


class Journal:
    """The last calls of every installation. Holds no key; query texts only where an installation wants them."""

    def __init__(self) -> None:
        self._shares: dict[str, Recent[tuple[str], Share]] = {}
        self._with_queries: set[str] = set()
        self._run = secrets.token_hex(4)
        self._count = 0

    def calls(self, tenant: str) -> list[Call]:
        """An installation's calls, the newest first."""
        kept = [call for share in self.shares(tenant).values() for call in share.everything()]
        return sorted(kept, key=lambda call: call.id, reverse=True)

    def shares(self, tenant: str) -> Mapping[str, Share]:
        """What is kept for each knowledge base of an installation."""
        return {name: share for (name,), share in self._shares.get(tenant, {}).items()}

    def with_queries(self, tenant: str) -> bool:
        """Whether query texts are kept."""
        return tenant in self._with_queries

    def keep_queries(self, tenant: str, *, on: bool) -> None:
        """Keep query texts from now on, or drop those there are."""
        if on:
            self._with_queries.add(tenant)
            return
        self._with_queries.discard(tenant)
        for share in self.shares(tenant).values():
            share.without_queries()

    def add(  # noqa: PLR0913 - all that a call has to say
        self,
        tenant: str,
        context: RetrievalContext,
        started: float,
        outcome: RetrievalResponse | BaseException,
        *,
        creation: Mapping[str, Any] | None = None,
        origin: Origin = "search",
        trial: bool = False,
    ) -> Call:
        """Note a call that began at `started` (time.monotonic); `creation`: the settings that a connection stands for."""
        bridge = outcome if isinstance(outcome, BridgeError) else None
        answer = outcome if isinstance(outcome, RetrievalResponse) else None
        told = answer.metadata if answer else {}
        found = answer.results if answer else []
        own = context.creation_settings
        self._count += 1
        call = Call(
            id=f"{self._run}-{self._count:012}",
            at=time.time(),
            origin=origin,
            trial=trial,
            knowledge_base=context.knowledge_base_id or "",
            connection=str(own.get("connection") or ""),
            service=bridge.where if bridge else str(told.get("service", "")),
            outcome=("ok" if found else "empty") if answer else type(outcome).__name__,
            entries=len(found),
            milliseconds=round((time.monotonic() - started) * 1000),
            tries=bridge.tries if bridge else int(told.get("tries", 0)),
            text=str(bridge) if bridge else "",
            notes=tuple(told.get("notes", ())),
            query=context.query[:200] if tenant in self._with_queries else "",
            settings=counted(own if creation is None else creation, context.retrieval_settings),
            measure=str(found[0].metadata.get("measure") or "") if found else "",
            version=bridge.version if bridge else str(told.get("version", "")),
        )
        share = self._share(tenant, call.knowledge_base)
        share.add(call)
        if origin == "search":
            share.retrieval = retrieving(context.retrieval_settings)
        return call

    def accepted(self, tenant: str, knowledge_base: str) -> None:
        """A knowledge base's settings were saved, so that no refusal before that counts any more."""
        if share := self.shares(tenant).get(knowledge_base):
            share.refused = None

    def _share(self, tenant: str, knowledge_base: str) -> Share:
        shares = self._shares.setdefault(tenant, Recent(BASES))
        share = shares.get((knowledge_base,)) or Share()
        shares.put((knowledge_base,), share)
        return share

    def forget(self, tenant: str) -> None:
        """Drop everything of an installation."""
        self._shares.pop(tenant, None)
        self._with_queries.discard(tenant)
