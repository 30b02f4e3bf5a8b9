"""Settings tried before they are used: the steps of a test, and a save that tests first."""

import time

from adapters import load_backend
from adapters.check import Step, check
from console.bases import bases, retire_unused, unused
from console.form import settings_of
from console.plugin import Answer, Plugin
from console.told import passages, told
from console.watch import Watched

TOP_K = 3


async def test(plugin: Plugin, asked: Answer, watched: Watched) -> Answer:
    """The steps of `python -m adapters check` with the settings of the page's form."""
    with watched.working():
        return await _tested(plugin, asked, await settings_of(plugin, asked), watched)


async def save(plugin: Plugin, asked: Answer, watched: Watched) -> Answer:
    """Store a connection, tested first unless `anyway`; a test that fails saves nothing.

    Settings that can't be used, and a name that is taken, are refused before anything is tested.
    """
    name, original, revision = (str(asked.get(part) or "") for part in ("name", "original", "revision"))
    settings = await settings_of(plugin, asked)
    load_backend(settings, {})
    known = await bases(plugin)
    await plugin.connections.retire(plugin, unused(await plugin.connections.all(plugin), known))
    users = known.users()
    await plugin.connections.check(plugin, name, original, revision, users)
    tested: Answer = {"steps": [], "entries": [], "milliseconds": 0}
    if asked.get("anyway") is not True:
        with watched.working():
            tested = await _tested(plugin, asked, settings, watched)
        if tested["steps"][-1]["state"] == "failed":
            return {"saved": False, **tested}
    made = await plugin.connections.save(plugin, name, settings, original, revision, users)
    plugin.drafts.keep(plugin.tenant, None)
    if original and original != made.name:
        await retire_unused(plugin)
    return {"saved": True, "connection": made.shown(), **tested}


async def _tested(plugin: Plugin, asked: Answer, settings: Answer, watched: Watched) -> Answer:
    started = time.perf_counter()
    entries: list[Answer] = []
    access = watched.over(plugin.access())
    async for step in check(settings, {"top_k": TOP_K}, access, str(asked.get("query") or "")):
        watched.step(_shown(step))
        entries = passages(step.response) if step.response else entries
    return {
        "steps": list(watched.steps),
        "entries": entries,
        "milliseconds": round((time.perf_counter() - started) * 1000),
    }


def _shown(step: Step) -> Answer:
    failed = told(step.error) if step.error else {"kind": "", "fields": []}
    return {
        "name": step.name,
        "state": step.state,
        "text": step.text,
        "kind": failed["kind"],
        "fields": failed["fields"],
    }
