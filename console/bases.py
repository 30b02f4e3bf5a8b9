"""The host's knowledge bases and what they stand on, and the former names of connections that they need."""

import logging
import time
from typing import NamedTuple

from console.connection import Listing
from console.plugin import Plugin
from console.usage import Use

log = logging.getLogger(__name__)

GRACE = 30 * 86_400.0
"""Seconds for which a former name answers for knowledge bases that nothing is known of yet: nobody has searched them."""


class Base(NamedTuple):
    """A knowledge base of the host; `use` is None where it isn't known as this plugin's."""

    uuid: str
    name: str
    use: Use | None


class Bases(NamedTuple):
    """All of them; `complete`: whether every use that was ever stored could be read."""

    all: list[Base]
    complete: bool

    def using(self, *names: str) -> list[Base]:
        """Those that name one of these connections, by name."""
        found = [base for base in self.all if base.use and base.use.connection in names]
        return sorted(found, key=lambda base: (base.name, base.uuid))

    def users(self) -> dict[str, list[str]]:
        """The names of the knowledge bases on each connection, by what they call it."""
        found: dict[str, list[str]] = {}
        for base in self.all:
            if base.use and base.use.connection:
                found.setdefault(base.use.connection, []).append(base.name)
        return found


async def bases(plugin: Plugin) -> Bases:
    """What the host lists. What was kept of others is dropped: they are gone."""
    uses, complete = await plugin.usage.all(plugin)  # first, so that one that is being made is in both or in the list
    found = [(str(base.get("uuid", "")), str(base.get("name", ""))) for base in await plugin.list_knowledge_bases()]
    gone = uses.keys() - {uuid for uuid, _ in found}
    if gone:
        await plugin.usage.drop(plugin, gone)
    return Bases([Base(uuid, name, uses.get(uuid)) for uuid, name in found], complete)


def unused(listing: Listing, known: Bases) -> set[str]:
    """The former names that nobody needs any more."""
    if not known.complete:
        return set()
    used = known.users()
    unknown = any(base.use is None for base in known.all)
    recent = {name for name, former in listing.formers.items() if time.time() - former.since < GRACE}
    needed = listing.answering({*used, *(recent if unknown else ())})
    return {name for name in listing.formers if name not in needed or not listing.now(name)}


async def retire_unused(plugin: Plugin, gone: str = "") -> None:
    """End the former names that nobody needs, or only the knowledge base that is `gone` (the host may still list it).

    Raises nothing, since the next listing does it.
    """
    try:
        listing = await plugin.connections.all(plugin)
        if listing.formers:
            known = await bases(plugin)
            left = Bases([base for base in known.all if base.uuid != gone], known.complete)
            await plugin.connections.retire(plugin, unused(listing, left))
    except Exception as error:  # noqa: BLE001 - the host's faults come as many classes; the next listing does it
        log.info("former names of connections: %s", type(error).__name__)
