"""The page's form: its settings, with what the page was never shown, and the datasets to choose from."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from adapters import list_datasets, load_backend
from bridge.errors import SettingsError
from bridge.settings import HIDDEN, shown
from console.counted import KEPT
from console.plugin import Answer, Plugin


async def datasets(plugin: Plugin, asked: Answer) -> Answer:
    """What the key of the page's form may read; no dataset needs to stand in the form."""
    found, notes = await list_datasets(await settings_of(plugin, asked, choosing=True), {}, plugin.access())
    return {"datasets": [asdict(dataset) for dataset in found], "notes": notes}


async def settings_of(plugin: Plugin, asked: Answer, *, choosing: bool = False) -> Answer:
    """The settings of the page's form; what the page wasn't shown is that of the connection that is being changed.

    `choosing` is for listing datasets, as for `load_backend`. SettingsError where the stored key belongs to another service or address: it goes nowhere else.
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
            _of_same_owner(settings, stored, choosing=choosing)
    return settings


def _of_same_owner(settings: dict[str, Any], stored: dict[str, Any], *, choosing: bool) -> None:
    """SettingsError unless both settings' keys belong to one service at one address, and both can be used."""
    wanted = load_backend(settings, {}, choosing=choosing)
    try:
        same = load_backend(stored, {}).key_owner == wanted.key_owner
    except SettingsError:
        same = False  # nobody can tell any more
    if not same:
        raise SettingsError(
            "the stored key belongs to another service or address",
            "Enter api_key again; for a service without a key, add a new connection",
        ).at(f"{wanted.product} settings")
