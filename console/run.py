"""A search from a knowledge base's own settings to its outcome, noted in the journal, and what its hooks keep."""

import time
from contextlib import nullcontext
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from adapters import load_backend, retrieve
from adapters.check import PROBE
from console.bases import retire_unused
from console.journal import Origin
from console.plugin import Plugin
from console.trials import TICKET, Trial
from console.usage import Use

CONNECTION = "connection"
"""As `backend`: the settings are those of the connection that `connection` names."""


async def search(plugin: Plugin, context: RetrievalContext, backend: str = "") -> RetrievalResponse:
    """See `adapters.retrieve`; the call is noted in the journal, however it ends. `backend`: the engine's own, if it has one.

    With a ticket among the filters it is a trial of the plugin's page: its settings go on top.
    """
    if TICKET not in context.filters:
        return await run(plugin, context, backend)
    filters = dict(context.filters)
    trial = plugin.trials.take(plugin.tenant, filters.pop(TICKET))
    retrieval = {**context.retrieval_settings, **trial.variant}
    own = context.model_copy(update={"filters": filters, "retrieval_settings": retrieval})
    return await run(plugin, own, backend, "page", trial)


async def run(
    plugin: Plugin, context: RetrievalContext, backend: str = "", origin: Origin = "search", trial: Trial | None = None
) -> RetrievalResponse:
    """One search of a knowledge base (or, where the context has none, of a connection alone)."""
    started = time.monotonic()
    creation: dict[str, Any] | None = None
    outcome: RetrievalResponse | BaseException
    try:
        with trial.watched.working() if trial else nullcontext():
            creation = await settings(plugin, context.creation_settings, backend)
            started = time.monotonic()  # what LangBot's storage took is no search
            if origin != "save" and context.knowledge_base_id:
                use = _use(creation, context.creation_settings, backend)
                plugin.usage.seen(plugin, context.knowledge_base_id, use)
            access = trial.watched.over(plugin.access()) if trial else plugin.access()
            outcome = await retrieve(context.model_copy(update={"creation_settings": creation}), access)
    except BaseException as error:
        outcome = error
        if (name := connection_of(context.creation_settings, backend)) is not None:
            plugin.connections.doubt(plugin, name)
        raise
    finally:
        tried = trial is not None and bool(trial.variant or not context.knowledge_base_id)
        call = plugin.journal.add(
            plugin.tenant, context, started, outcome, creation=creation, origin=origin, trial=tried
        )
        if trial is not None:
            trial.ended(call, outcome)
    return outcome


async def created(plugin: Plugin, knowledge_base: str, config: dict[str, Any], backend: str = "") -> None:
    """Refuse settings that can't be used; with `check_on_save` also those that a real search fails with.

    A refusal is noted in the journal, a search as the save that it belongs to. What is used is kept.
    """
    context = RetrievalContext(
        query=PROBE, knowledge_base_id=knowledge_base, creation_settings=config, retrieval_settings={"top_k": 1}
    )
    started = time.monotonic()
    try:
        creation = await settings(plugin, config, backend)
        checked = load_backend({**creation, "check_on_save": config.get("check_on_save")}, {}).check_on_save
    except BaseException as error:
        plugin.journal.add(plugin.tenant, context, started, error, origin="save")
        raise
    if checked:
        await run(plugin, context, backend, "save")
    plugin.journal.accepted(plugin.tenant, knowledge_base)
    await plugin.usage.created(plugin, knowledge_base, _use(creation, config, backend))


async def deleted(plugin: Plugin, knowledge_base: str) -> None:
    """Forget what a knowledge base stood on, and the former name that only it used. Raises nothing."""
    await plugin.usage.drop(plugin, [knowledge_base])
    await retire_unused(plugin, knowledge_base)


async def settings(plugin: Plugin, creation: dict[str, Any], backend: str = "") -> dict[str, Any]:
    """The settings that count: the engine's backend, or those of the connection that is named."""
    if backend:
        return {**creation, "backend": backend}
    name = connection_of(creation)
    return creation if name is None else (await plugin.connections.current(plugin, name)).settings


def connection_of(creation: dict[str, Any], backend: str = "") -> str | None:
    """The name of the connection that these settings stand on, if they do."""
    on_one = not backend and creation.get("backend") == CONNECTION
    return str(creation.get("connection") or "").strip() if on_one else None


def _use(creation: dict[str, Any], own: dict[str, Any], backend: str) -> Use:
    return Use(str(creation.get("backend") or ""), connection_of(own, backend) or "")
