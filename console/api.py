"""What the page asks for: which call goes where, and every failure as a text to show. Nothing secret goes out."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bridge.errors import BridgeError, SettingsError
from console.bases import bases, unused
from console.form import datasets
from console.overview import overview
from console.plugin import Answer, Plugin
from console.search import search
from console.testing import save, test
from console.told import told
from console.travel import exported, read
from console.watch import Watched

log = logging.getLogger(__name__)


async def answer(plugin: Plugin, endpoint: str, body: Any) -> Answer:
    """The answer to one call of the page: `ok` and its data, or not ok with `kind`, `error` (a text) and `fields`.

    Raises nothing, since LangBot shows a page no error's text. Those of _WATCHED can be watched and stopped by the
    `call` that the page gives them.
    """
    asked = dict(body) if isinstance(body, Mapping) else {}
    if watched_handler := _WATCHED.get(endpoint):
        with plugin.watches.watching(plugin.tenant, _call(asked)) as watched:
            watched.answer = await _answered(endpoint, watched_handler(plugin, asked, watched))
            return watched.answer
    return await _answered(endpoint, _HANDLERS.get(endpoint, _unknown)(plugin, asked))


async def _answered(endpoint: str, work: Awaitable[Answer]) -> Answer:
    try:
        return {"ok": True, **await work}
    except Exception as error:
        if not isinstance(error, BridgeError):
            log.exception("page call %s", endpoint)
        return {"ok": False, **told(error)}


def _call(asked: Answer) -> str:
    return str(asked.get("call") or "")[:100]


async def _unknown(_plugin: Plugin, _: Answer) -> Answer:
    raise SettingsError("this page is older or newer than the plugin", "Load it anew")


async def _progress(plugin: Plugin, asked: Answer) -> Answer:
    return plugin.watches.progress(plugin.tenant, _call(asked))


async def _stop(plugin: Plugin, asked: Answer) -> Answer:
    return {"known": plugin.watches.stop(plugin.tenant, _call(asked))}


async def _draft(plugin: Plugin, asked: Answer) -> Answer:
    plugin.drafts.keep(plugin.tenant, asked.get("draft"))
    return {}


async def _queries(plugin: Plugin, asked: Answer) -> Answer:
    plugin.journal.keep_queries(plugin.tenant, on=asked.get("on") is True)
    return {"queries": plugin.journal.with_queries(plugin.tenant)}


async def _connections(plugin: Plugin, _: Answer) -> Answer:
    known, listing = await bases(plugin), await plugin.connections.all(plugin)
    if over := unused(listing, known):
        await plugin.connections.retire(plugin, over)
    found = []
    for one in listing.connections:
        former = [name for name in listing.of(one.name) if name not in over]
        used_by = [{"uuid": base.uuid, "name": base.name} for base in known.using(one.name, *former)]
        found.append({**one.shown(), "former": former, "used_by": used_by})
    return {"connections": found, "damaged": listing.damaged}


async def _delete(plugin: Plugin, asked: Answer) -> Answer:
    await plugin.connections.delete(plugin, str(asked.get("name") or ""), str(asked.get("revision") or ""))
    return {}


_WATCHED: Mapping[str, Callable[[Plugin, Answer, Watched], Awaitable[Answer]]] = {
    "/connections/save": save,
    "/test": test,
    "/search": search,
}
_HANDLERS: Mapping[str, Callable[[Plugin, Answer], Awaitable[Answer]]] = {
    "/progress": _progress,
    "/stop": _stop,
    "/overview": overview,
    "/queries": _queries,
    "/connections": _connections,
    "/connections/delete": _delete,
    "/connections/export": exported,
    "/connections/read": read,
    "/datasets": datasets,
    "/draft": _draft,
}
