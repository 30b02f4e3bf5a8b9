"""Whether a case came out as it must."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from tests.field_cases.answers import body_of, on_route
from tests.field_cases.facts import Facts, Outcome, text_of
from tests.field_cases.refusals import refusal
from tests.field_cases.wishes import ALWAYS, ENTRIES, ERRORS, NEEDED, RESULTS, SEARCHES, Wishes


def problems(case: dict[str, Any], facts: Facts) -> list[str]:
    """What is wrong with a case's first call, and with its requests."""
    want = wanted(case, facts.outcome)
    found = [*_secrets(case, facts), *_error(facts.outcome), *_fit(case, facts.outcome), *_refused(case, facts)]
    if facts.outcome.kind not in want["outcome"].split("_or_"):
        found.append(f"{facts.outcome.kind}, wanted {want['outcome']} ({facts.outcome.whole[:200]})")
    if not facts.posts and facts.outcome.kind != "error" and any(name in want for name in NEEDED):
        found.append("no search request arrived")
    found += [
        f"{name}: {json.dumps(want[name], ensure_ascii=False)[:200]} doesn't hold ({_shown(name, facts)[:400]})"
        for name, holds in _wishes(facts).items()
        if name in want and not holds(want[name], facts)
    ]
    return list(dict.fromkeys(found))


def wanted(case: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """The case's `expect` for this outcome, with what goes without saying."""
    want = {"request_count_max": 99, **case["expect"]}
    if "score_in" in want:
        want.setdefault("score_null_ok", False)
    return {**want, **want.get("if_error", {})} if outcome.kind == "error" else want


def _wishes(facts: Facts) -> Wishes:
    """Those that can be asked of such an outcome."""
    ended: dict[str, Wishes] = {"error": ERRORS, "results": RESULTS | ENTRIES, "empty": ENTRIES}
    return ALWAYS | (SEARCHES if facts.posts else {}) | ended.get(facts.outcome.kind, {})


def _shown(name: str, facts: Facts) -> str:
    if name in SEARCHES:
        return f"sent: {facts.sent}"
    if name in ENTRIES:
        return f"ids {facts.ids}, scores {facts.scores}, distances {facts.distances}, {facts.total} found"
    return f"{facts.count} requests in {facts.took:.2f} s: {facts.outcome.whole or facts.outcome.kind}"


# ---- what holds in every case


def _secrets(case: dict[str, Any], facts: Facts) -> Iterator[str]:
    for call in case.get("calls") or [case]:
        key = re.sub(r"(?i)^bearer\s+", "", (call["settings"]["creation"].get("api_key") or "").strip())
        if len(key) > 7 and key in facts.outcome.whole:
            yield "the API key is in the error text"
        if len(key) > 7 and key in facts.log:
            yield "the API key is in the log"


def _error(outcome: Outcome) -> Iterator[str]:
    if outcome.kind == "error" and not outcome.message.strip():
        yield f"{type(outcome.error).__name__} has no text"
    if outcome.kind == "error" and re.search(r"(?i)<!doctype|<html|Traceback \(most", outcome.message):
        yield "the error text holds HTML or a traceback"


def _fit(case: dict[str, Any], outcome: Outcome) -> Iterator[str]:
    """Entries that LangBot can take."""
    entries, ids = outcome.entries, [entry.id for entry in outcome.entries]
    if not all(isinstance(ident, str) and ident.strip() for ident in ids) or len(set(ids)) != len(ids):
        yield f"ids empty or not unique: {ids}"
    if any(not math.isfinite(number) for e in entries for number in (e.distance, e.score) if number is not None):
        yield "a number is not finite"
    if any(not text_of(entry).strip() for entry in entries):
        yield "an entry has no text"
    top_k = case["settings"]["retrieval"].get("top_k") if case["settings"] else None
    if isinstance(top_k, int) and 0 < top_k < len(entries):
        yield f"{len(entries)} entries, top_k {top_k}"
    if outcome.response:
        try:
            told = json.dumps(outcome.response.model_dump(mode="json"), allow_nan=False)
            type(outcome.response).model_validate(json.loads(told))
        except ValueError as error:
            yield f"the response does not survive JSON: {type(error).__name__}"


def _refused(case: dict[str, Any], facts: Facts) -> Iterator[str]:
    for request in facts.posts:
        why = refusal(case["backend"], body_of(request)) if on_route(case, request) else ""
        if why:
            yield f"a real server would refuse the request: {why}"
