"""What the plugin's page asks for: connections, tests, the journal, a search. Nothing secret goes out."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from adapters import Access, list_datasets, load_backend
from adapters.check import check
from bridge.errors import BridgeError, SettingsError
from bridge.settings import HIDDEN, shown
from console.connections import KEPT, Connections, Storage
from console.journal import Journal

log = logging.getLogger(__name__)

Answer = dict[str, Any]


class Plugin(Storage, Protocol):
    """The plugin object as the page needs it: what it holds, and what the host answers."""

    connections: Connections
    journal: Journal
    takes_connections: bool

    def access(self) -> Access:
        """The pool as the calling installation uses it; SettingsError for a configuration that can't be used."""

    async def list_knowledge_bases(self) -> list[dict[str, Any]]:
        """Every knowledge base of the host: uuid, name and more."""

    async def retrieve_knowledge(self, kb_id: str, query_text: str, top_k: int = 5) -> list[dict[str, Any]]:
        """A search through the host, as a pipeline makes it."""


async def answer(plugin: Plugin, endpoint: str, body: Any) -> Answer:
    """The answer to one call of the page: `ok` and its data, or not ok with `error` (a text to show) and `kind`.

    Raises nothing, since LangBot shows a page no error's text.
    """
    asked = dict(body) if isinstance(body, Mapping) else {}
    handler = _HANDLERS.get(endpoint, _unknown)
    try:
        return {"ok": True, **await handler(plugin, asked)}
    except BridgeError as error:
        return {"ok": False, "kind": type(error).__name__, "error": str(error)}
    except Exception:
        log.exception("page call %s", endpoint)
        return {"ok": False, "kind": "Error", "error": "Something failed inside the plugin; LangBot's log tells what."}


async def _unknown(_plugin: Plugin, _: Answer) -> Answer:
    raise SettingsError("this page is older or newer than the plugin", "Load it anew")


async def _overview(plugin: Plugin, _: Answer) -> Answer:
    return {
        "now": time.time(),
        "calls": plugin.journal.calls(plugin.tenant),
        "queries": plugin.journal.with_queries(plugin.tenant),
        "takes_connections": plugin.takes_connections,
        "knowledge_bases": await _bases(plugin),
    }


async def _queries(plugin: Plugin, asked: Answer) -> Answer:
    plugin.journal.keep_queries(plugin.tenant, on=asked.get("on") is True)
    return {"queries": plugin.journal.with_queries(plugin.tenant)}


async def _connections(plugin: Plugin, _: Answer) -> Answer:
    good, damaged = await plugin.connections.all(plugin)
    names = {base["uuid"]: base["name"] for base in await _bases(plugin)}
    used: dict[str, set[str]] = {}
    for call in plugin.journal.calls(plugin.tenant):
        if call["connection"]:
            used.setdefault(call["connection"], set()).add(names.get(call["knowledge_base"], call["knowledge_base"]))
    found = [{**connection.shown(), "used_by": sorted(used.get(connection.name, ()))} for connection in good]
    return {"connections": found, "damaged": damaged}


async def _save(plugin: Plugin, asked: Answer) -> Answer:
    settings = await _settings(plugin, asked)
    load_backend(settings, {})
    made = await plugin.connections.save(
        plugin,
        str(asked.get("name") or ""),
        settings,
        str(asked.get("original") or ""),
        str(asked.get("revision") or ""),
    )
    return {"connection": made.shown()}


async def _delete(plugin: Plugin, asked: Answer) -> Answer:
    await plugin.connections.delete(plugin, str(asked.get("name") or ""), str(asked.get("revision") or ""))
    return {}


async def _test(plugin: Plugin, asked: Answer) -> Answer:
    """The steps of `python -m adapters check` with the settings of the page's form."""
    started = time.perf_counter()
    query = str(asked.get("query") or "")
    steps: list[Answer] = []
    entries: list[Answer] = []
    async for step in check(await _settings(plugin, asked), {"top_k": 3}, plugin.access(), query):
        state = {"ok": step.state != "failed", "warning": step.state == "warning"}
        steps.append({"name": step.name, **state, "text": step.text})
        entries = _entries(step.response) if step.response else entries
    return {"steps": steps, "entries": entries, "milliseconds": _since(started)}


async def _datasets(plugin: Plugin, asked: Answer) -> Answer:
    """What the key of the page's form may read, to choose from; no dataset needs to stand in the form."""
    found, notes = await list_datasets(await _settings(plugin, asked), {}, plugin.access())
    return {"datasets": [asdict(dataset) for dataset in found], "notes": notes}


async def _search(plugin: Plugin, asked: Answer) -> Answer:
    """A search through LangBot itself, as a pipeline makes it."""
    started = time.perf_counter()
    query = str(asked.get("query") or "").strip()
    if not query:
        raise SettingsError("the question is blank", "Type something to search for")
    try:
        found = await plugin.retrieve_knowledge(
            str(asked.get("knowledge_base") or ""), query, int(asked.get("top_k") or 5)
        )
    except Exception as error:  # noqa: BLE001 - the host wraps every failure in a class of its own
        told = re.sub(r"^.*?\w*Error: (?!.*?\w*Error: )", "", str(error), flags=re.DOTALL)
        return {"entries": [], "reason": told[:400], "milliseconds": _since(started)}
    return {
        "entries": [_shown(entry) for entry in found],
        "reason": "",
        "milliseconds": _since(started),
    }


def _since(started: float) -> int:
    """Milliseconds since a reading of time.perf_counter."""
    return round((time.perf_counter() - started) * 1000)


async def _settings(plugin: Plugin, asked: Answer) -> Answer:
    """The settings of the page's form; what the page wasn't shown is that of the connection that is being changed.

    SettingsError where the stored key belongs to another service or address: it goes nowhere else.
    """
    given = asked.get("settings")
    settings = {str(name): value for name, value in given.items()} if isinstance(given, Mapping) else {}
    original = str(asked.get("original") or "")
    address = settings.get("api_base_url")
    if original and (not settings.get("api_key") or str(address).endswith(HIDDEN)):
        stored = (await plugin.connections.get(plugin, original)).settings
        if address == shown(stored.get("api_base_url")):
            settings["api_base_url"] = stored["api_base_url"]
        kept = {name: stored[name] for name in KEPT if stored.get(name) and not settings.get(name)}
        settings |= kept
        if kept:
            _of_same_owner(settings, stored)
    return settings


def _of_same_owner(settings: Answer, stored: Answer) -> None:
    """SettingsError unless both settings' keys belong to one service at one address, and both can be used."""
    wanted = load_backend(settings, {})
    try:
        same = load_backend(stored, {}).key_owner == wanted.key_owner
    except SettingsError:
        same = False  # nobody can tell any more
    if not same:
        raise SettingsError(
            "the stored key belongs to another service or address",
            "Enter api_key again; for a service without a key, add a new connection",
        ).at(f"{wanted.product} settings")


async def _bases(plugin: Plugin) -> list[dict[str, str]]:
    found = await plugin.list_knowledge_bases()
    return [{"uuid": str(base.get("uuid", "")), "name": str(base.get("name", ""))} for base in found]


def _entries(response: RetrievalResponse) -> list[Answer]:
    return [_shown(entry.model_dump(mode="json")) for entry in response.results]


def _shown(entry: Mapping[str, Any]) -> Answer:
    """An entry as the page shows it."""
    metadata = entry.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    parts = entry.get("content") or []
    return {
        "title": str(metadata.get("document_name") or entry.get("id") or ""),
        "text": " ".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))[:2000],
        "score": entry.get("score"),
        "distance": entry.get("distance"),
        "measure": metadata.get("measure"),
        "metadata": metadata,
    }


_HANDLERS: Mapping[str, Callable[[Plugin, Answer], Awaitable[Answer]]] = {
    "/overview": _overview,
    "/queries": _queries,
    "/connections": _connections,
    "/connections/save": _save,
    "/connections/delete": _delete,
    "/datasets": _datasets,
    "/test": _test,
    "/search": _search,
}
