"""Connections as text, to carry them to another LangBot: without keys, read with the checks of a save."""

import json
from collections.abc import Mapping
from typing import Any

from adapters import load_backend
from bridge.errors import BridgeError, SettingsError
from console.bases import Bases, bases
from console.connection import Listing, named
from console.connections import ConflictError
from console.counted import KEPT, public
from console.form import settings_of
from console.plugin import Answer, Plugin
from console.told import told

FORMAT = "knowledge-bridge-connections"
VERSION = 1
MOST = 200
SIZE = 500_000
_PASTE = "Paste the whole text that the export of this page gives"


async def exported(plugin: Plugin, _: Answer) -> Answer:
    """Every connection, by name, without its key and its address's query string."""
    listing = await plugin.connections.all(plugin)
    found = [{"name": one.name, "settings": public(one.settings)} for one in listing.connections]
    text = {"format": FORMAT, "version": VERSION, "connections": found}
    return {"text": json.dumps(text, ensure_ascii=False, indent=2, sort_keys=True)}


async def read(plugin: Plugin, asked: Answer) -> Answer:
    """What such a text holds, and what would refuse to be saved; nothing is. SettingsError where it is no such text."""
    found = _connections(str(asked.get("text") or ""))
    listing, known = await plugin.connections.all(plugin), await bases(plugin)
    seen: set[str] = set()
    connections = []
    for one in found:
        connections.append(await _judged(plugin, one, listing, known, seen))
        seen.add(connections[-1]["name"])
    return {"connections": connections}


def _connections(text: str) -> list[Mapping[str, Any]]:
    if len(text) > SIZE:
        raise SettingsError(f"the text is longer than {SIZE} characters", "Read fewer connections at a time")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise SettingsError("the text is no JSON", _PASTE) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SettingsError(f"the text holds no connections (its format is not {FORMAT})", _PASTE)
    if data.get("version") != VERSION:
        raise SettingsError(f"the text's version is not {VERSION}", "Update the plugin, or export once more")
    found = data.get("connections")
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise SettingsError("the text's connections are no list", _PASTE)
    if len(found) > MOST:
        raise SettingsError(f"the text holds more than {MOST} connections", "Read fewer at a time")
    return found


async def _judged(
    plugin: Plugin, one: Mapping[str, Any], listing: Listing, known: Bases, seen: set[str]
) -> dict[str, Any]:
    """One connection of a text: what is in the way of saving it, and whether its key has to be typed."""
    name = str(one.get("name") or "").strip()
    given = one.get("settings")
    settings = {str(key): value for key, value in given.items() if key not in KEPT} if isinstance(given, dict) else {}
    stored = next((known for known in listing.connections if known.name == name), None)
    problem: BridgeError | None = None
    needs_key = False
    try:
        named(name)
        if name in seen:
            raise ConflictError(f"{name!r} stands in the text twice", "Give one of them another name")
        if stored is None and listing.now(name):
            whom = ", ".join(base.name for base in known.using(name)) or "knowledge bases that stand on it"
            raise ConflictError(f"{name!r} is a former name that still answers for {whom}"[:200], "Rename it")
        needs_key = await _needs_key(plugin, settings, name if stored else "")
    except BridgeError as error:
        problem = error
    return {
        "name": name,
        "settings": settings,
        "exists": stored is not None,
        "revision": stored.revision if stored else "",
        "needs_key": needs_key,
        "problem": told(problem) if problem else None,
    }


async def _needs_key(plugin: Plugin, settings: dict[str, Any], original: str) -> bool:
    """Whether only a key is missing; SettingsError where more is wrong with the settings."""
    try:
        filled = await settings_of(plugin, {"settings": settings, "original": original})
        load_backend(filled, {})
    except SettingsError:
        # with any key: what is wrong besides. Where the stored key belongs to somebody else, a new one has to be typed
        load_backend({**settings, "api_key": "x"}, {})
        return True
    return False
