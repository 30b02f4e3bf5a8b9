"""How every knowledge base is doing, out of the journal, and the journal page by page."""

import time
from collections.abc import Sequence
from typing import Any

from console.bases import Base, bases
from console.journal import WORKED, Call, Share
from console.plugin import Answer, Plugin

PAGE = 20
"""Calls on a page."""
HOUR = 3600.0
RECENT = 40
"""Calls in a small chart."""


async def overview(plugin: Plugin, asked: Answer) -> Answer:
    """Every knowledge base with its health, failing ones first, and one page of the calls that were asked for."""
    now = time.time()
    shares = plugin.journal.shares(plugin.tenant)
    found = [_base(base, shares.get(base.uuid) or Share(), now) for base in (await bases(plugin)).all]
    return {
        "now": now,
        "takes_connections": plugin.takes_connections,
        "queries": plugin.journal.with_queries(plugin.tenant),
        "draft": plugin.drafts.kept(plugin.tenant),
        "knowledge_bases": sorted(found, key=_order),
        **_page(plugin.journal.calls(plugin.tenant), asked),
    }


def _page(calls: list[Call], asked: Answer) -> Answer:
    base, outcome = str(asked.get("knowledge_base") or ""), str(asked.get("outcome") or "")
    kept = [call for call in calls if base in ("", call.knowledge_base) and _ended(call, outcome)]
    pages = max(1, -(-len(kept) // PAGE))
    wanted = asked.get("page")
    page = min(max(wanted, 0), pages - 1) if isinstance(wanted, int) else 0
    shown = [call.shown() for call in kept[page * PAGE : (page + 1) * PAGE]]
    return {"calls": shown, "total": len(kept), "page": page, "pages": pages}


def _ended(call: Call, outcome: str) -> bool:
    match outcome:
        case "failed":
            return call.failed
        case "warning":
            return bool(call.notes)
    return outcome in ("", call.outcome)


def _base(base: Base, share: Share, now: float) -> dict[str, Any]:
    health = _health(share, now)
    return {
        "uuid": base.uuid,
        "name": base.name,
        "mine": base.use is not None or health is not None,
        "backend": base.use.backend if base.use else "",
        "connection": base.use.connection if base.use else "",
        "retrieval": share.retrieval,
        "refused": share.refused.shown() if share.refused else None,
        "health": health,
    }


def _health(share: Share, now: float) -> dict[str, Any] | None:
    """How the settings that are saved do; None where nobody searched with them yet."""
    own = [call for call in share.everything() if not (call.trial or (call.origin == "save" and call.failed))]
    if not own:
        return None
    sent = [call for call in own if call.tries and now - call.at <= HOUR]
    searched = [call for call in sent if call.origin != "save"]
    good = sum(call.outcome in WORKED for call in searched)
    times = sorted(call.milliseconds for call in sent)
    return {
        "last": own[-1].shown(),
        "rate": round(100 * good / len(searched)) if searched else None,
        "median": _rank(times, 0.5),
        "p95": _rank(times, 0.95),
        "calls": sum(now - call.at <= HOUR for call in own),
        "recent": [
            {"at": call.at, "milliseconds": call.milliseconds, "outcome": call.outcome} for call in own[-RECENT:]
        ],
        "last_error": share.last_error.shown() if share.last_error else None,
    }


def _rank(times: Sequence[int], share: float) -> int | None:
    """The time that so large a share of the calls took at most."""
    return times[min(len(times) - 1, int(len(times) * share))] if times else None


def _order(base: dict[str, Any]) -> tuple[bool, bool, str, str]:
    health = base["health"]
    fails = base["refused"] or (health and health["last"]["outcome"] not in WORKED)
    return not base["mine"], not fails, base["name"].casefold(), base["uuid"]
