"""Which knowledge base stands on which service and connection: kept in the plugin's storage, so that it survives a restart."""

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bridge.beside import Beside
from bridge.recent import Recent
from bridge.values import mapping, text
from console.storage import Storage, StorageError, names, stored

log = logging.getLogger(__name__)

PREFIX = "knowledge_base/"
KNOWN = 4096
TRIES = 3
"""How often a process tries to store what a knowledge base's searches show."""
LIMIT = 5.0
"""Seconds that a hook waits for the storage."""


class Use(NamedTuple):
    """What a knowledge base stands on: a service, by the word that settings use for it, and a connection or blank."""

    backend: str
    connection: str = ""


@dataclass(slots=True)
class Noted:
    """A use, whether the storage has it, and how often a search tried to put it there."""

    use: Use
    is_stored: bool = False
    tries: int = 0


class Usage:
    """The uses of any number of installations. A storage that fails never fails what it is about: nothing here raises."""

    def __init__(self) -> None:
        self._noted: Recent[tuple[str, str], Noted] = Recent(KNOWN)
        self._beside = Beside()

    def seen(self, storage: Storage, knowledge_base: str, use: Use) -> None:
        """A search shows a use: what is new is stored beside it. Costs nothing where the use is stored already."""
        name = (storage.tenant, knowledge_base)
        noted = self._noted.get(name)
        if noted is None or noted.use != use:
            noted = Noted(use)
            self._noted.put(name, noted)
        if not noted.is_stored and noted.tries < TRIES:
            noted.tries += 1
            new = noted
            self._beside.start(name, lambda: self._store(storage, knowledge_base, new))

    async def created(self, storage: Storage, knowledge_base: str, use: Use) -> None:
        """A knowledge base was made, or a draft's settings saved."""
        noted = Noted(use)
        self._noted.put((storage.tenant, knowledge_base), noted)
        await self._store(storage, knowledge_base, noted)

    async def drop(self, storage: Storage, knowledge_bases: Iterable[str]) -> None:
        """Knowledge bases that are gone."""
        for one in knowledge_bases:
            self._noted.pop((storage.tenant, one), None)
            await _quietly(storage.delete_plugin_storage(PREFIX + one), one)

    async def all(self, storage: Storage) -> tuple[dict[str, Use], bool]:
        """The uses by knowledge base, and whether these are all that were ever stored."""
        whole = True
        try:
            keys = await names(storage, PREFIX)
        except StorageError:
            keys, whole = [], False
        unread = [key for key in keys if (storage.tenant, key) not in self._noted]
        for key, use in zip(unread, await asyncio.gather(*(self._read(storage, key) for key in unread)), strict=True):
            if use is None:
                whole = False
            elif (storage.tenant, key) not in self._noted:  # what was noted meanwhile is newer
                self._noted.put((storage.tenant, key), Noted(use, is_stored=True))
        return {key: noted.use for (tenant, key), noted in self._noted.items() if tenant == storage.tenant}, whole

    def forget(self, tenant: str) -> None:
        """Drop what is known of an installation; its storage goes with it."""
        self._noted.forget(tenant)

    async def close(self) -> None:
        """End what is going on beside."""
        await self._beside.close()

    @staticmethod
    async def _read(storage: Storage, knowledge_base: str) -> Use | None:
        try:
            told = mapping(json.loads(await stored(storage.get_plugin_storage(PREFIX + knowledge_base), "read")))
        except StorageError:
            return None
        except (ValueError, RecursionError):
            return Use("")  # damaged; its next search mends it
        return Use(text(told.get("backend")), text(told.get("connection")))

    @staticmethod
    async def _store(storage: Storage, knowledge_base: str, noted: Noted) -> None:
        raw = json.dumps(noted.use._asdict(), ensure_ascii=False).encode()
        noted.is_stored = await _quietly(storage.set_plugin_storage(PREFIX + knowledge_base, raw), knowledge_base)


async def _quietly(request: Any, knowledge_base: str) -> bool:
    """Whether the storage did it, in time."""
    try:
        async with asyncio.timeout(LIMIT):
            await stored(request, "kept")
    except (StorageError, TimeoutError) as error:
        log.info("knowledge base %s: what it stands on isn't kept; %s", knowledge_base, error)
        return False
    return True
