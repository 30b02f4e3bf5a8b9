"""Searches that an admin makes on the page: one question, up to three ways to search, side by side."""

from collections.abc import Mapping
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from bridge.errors import BridgeError, NotFoundError, SettingsError, UnavailableError
from console.counted import retrieving
from console.plugin import Answer, Plugin
from console.run import CONNECTION, run
from console.told import passage, passages, told
from console.trials import TICKET, Trial
from console.watch import Watched

VARIANTS = 3
TOP_K = 5
"""What LangBot's callers ask for where nobody says how many."""
OTHERS = "the knowledge base belongs to another plugin, is a draft, or is gone"
_COUNTED = ("milliseconds", "settings", "service", "version", "measure", "tries")


async def search(plugin: Plugin, asked: Answer, watched: Watched) -> Answer:
    """A column for each variant, one search after the other, so that their times can be compared.

    With a knowledge base a search goes through LangBot, as a pipeline makes it.
    """
    query = str(asked.get("query") or "")
    if not query.strip():
        raise SettingsError("the question is blank", "Type something to search for")
    variants = asked.get("variants") or [{}]
    if not isinstance(variants, list) or len(variants) > VARIANTS or not all(isinstance(v, Mapping) for v in variants):
        raise SettingsError(f"variants must be a list of 1 to {VARIANTS} sets of settings", "Load the page anew")
    filters = asked.get("filters") or {}
    if not isinstance(filters, dict):
        raise SettingsError("filters must be a JSON object", 'Type it like {"category": "policy"}')
    connection, knowledge_base = (str(asked.get(part) or "") for part in ("connection", "knowledge_base"))
    with watched.working():
        for variant in variants:
            trial = Trial(retrieving(variant), watched)
            if connection:
                column = await _by_connection(plugin, connection, query, filters, trial)
            else:
                column = await _through_langbot(plugin, knowledge_base, query, filters, trial)
            watched.column(column)
    return {"columns": list(watched.columns)}


async def _by_connection(plugin: Plugin, name: str, query: str, filters: dict[str, Any], trial: Trial) -> Answer:
    context = RetrievalContext(
        query=query,
        creation_settings={"backend": CONNECTION, "connection": name},
        retrieval_settings=trial.variant,
        filters=filters,
    )
    try:
        return _column(trial, await run(plugin, context, origin="page", trial=trial))
    except Exception as error:  # noqa: BLE001 - it is told
        return _column(trial, error)


async def _through_langbot(
    plugin: Plugin, knowledge_base: str, query: str, filters: dict[str, Any], trial: Trial
) -> Answer:
    """The engine's own outcome, where this plugin's engine was asked."""
    ticket = plugin.trials.issue(plugin.tenant, trial)
    try:
        found = await plugin.retrieve_knowledge(
            knowledge_base, query, _top_k(trial.variant), {**filters, TICKET: ticket}
        )
    except Exception:  # noqa: BLE001 - the host wraps every failure in a class of its own, with others' words in it
        found = []
    finally:
        plugin.trials.drop(plugin.tenant, trial)
    if trial.outcome is not None:
        return _column(trial, trial.outcome)
    if trial.taken:
        return _column(
            trial, UnavailableError("LangBot waited no longer for the search", "Lower timeout to less than 30 s")
        )
    if not found:
        return _column(trial, NotFoundError(OTHERS, "Choose a knowledge base of this plugin"))
    note = "another plugin searched: settings, time and notes of it aren't known here"
    return _blank() | {"ok": True, "entries": [passage(entry) for entry in found], "notes": [note]}


def _top_k(variant: Mapping[str, Any]) -> int:
    """How many passages LangBot is asked for; the engine reads the variant's own number."""
    wanted = variant.get("top_k")
    return int(wanted) if isinstance(wanted, (int, float)) and 1 <= wanted <= 100 else TOP_K


def _column(trial: Trial, outcome: RetrievalResponse | BaseException) -> Answer:
    call = trial.call.shown() if trial.call else {}
    counted = {name: call[name] for name in _COUNTED if name in call}
    if isinstance(outcome, RetrievalResponse):
        notes = list(outcome.metadata.get("notes", ()))
        return _blank() | counted | {"ok": True, "entries": passages(outcome), "notes": notes}
    where = {"service": outcome.where} if isinstance(outcome, BridgeError) else {}
    return _blank() | where | counted | told(outcome)


def _blank() -> Answer:
    return {
        "ok": False,
        "kind": "",
        "error": "",
        "fields": [],
        "entries": [],
        "milliseconds": 0,
        "notes": [],
        "settings": {},
        "service": "",
        "version": "",
        "measure": "",
        "tries": 0,
    }
