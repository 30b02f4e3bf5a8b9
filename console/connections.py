"""Named connections: sets of settings in the plugin's storage, so that a service is swapped or a key rotated in one place."""

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from bridge.beside import Beside
from bridge.errors import BridgeError, SettingsError
from bridge.recent import Recent
from bridge.settings import shown
from bridge.values import mapping, text

log = logging.getLogger(__name__)

PREFIX = "connection/"
NAME_LIMIT = 60
COPIES = 512
FRESH = 5.0
"""Seconds after which the storage is read again."""
KEPT = ("api_key",)
"""Settings that never leave for a browser."""
NO_STORAGE = "Check LangBot's database and log; where its SQLAlchemy is 2.1 or newer, install sqlalchemy<2.1"


class Storage(Protocol):
    """The host's storage of one installation's plugin, as the SDK's plugin object offers it. Every call may raise."""

    @property
    def tenant(self) -> str:
        """Whose storage it is."""

    async def set_plugin_storage(self, key: str, value: bytes) -> None: ...
    async def get_plugin_storage(self, key: str) -> bytes: ...
    async def get_plugin_storage_keys(self) -> list[str]: ...
    async def delete_plugin_storage(self, key: str) -> None: ...


class ConflictError(BridgeError):
    """Somebody else saved or deleted the connection in between."""


class StorageError(BridgeError):
    """The host's storage can't be read or written, or holds what is no connection."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One named set of creation settings (`backend` among them). `revision` changes with every save."""

    name: str
    settings: dict[str, Any]
    revision: str

    def shown(self) -> dict[str, Any]:
        """What a browser may see: no key, only whether there is one, and no address's query string."""
        settings = {name: value for name, value in self.settings.items() if name not in KEPT}
        if "api_base_url" in settings:
            settings["api_base_url"] = shown(settings["api_base_url"])
        return {
            "name": self.name,
            "revision": self.revision,
            "settings": settings,
            "has_key": bool(self.settings.get("api_key")),
        }


class Copy(NamedTuple):
    """A connection as it was read or saved at a time; `doubted` after a failed query."""

    at: float
    connection: Connection
    doubted: bool = False


class Connections:
    """The connections of any number of storages. Writes of one process are made one after another."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._writing = asyncio.Lock()
        self._copies: Recent[tuple[str, str], Copy] = Recent(COPIES)
        self._beside = Beside()

    async def current(self, storage: Storage, name: str) -> Connection:
        """One connection for a query: what was last saved here, or read; see `get` for what it raises.

        A copy that is older than FRESH seconds is read again beside the query, for the next one. A storage that fails
        doesn't matter while there is a copy.
        """
        name = name.strip()
        key = (storage.tenant, name)
        copy = self._copies.get(key)
        if copy is None:
            self._remember(storage, await self.get(storage, name))
        elif copy.doubted:
            await self._renew(storage, name)
        elif self._clock() - copy.at > FRESH:
            self._beside.start(key, lambda: self._renew(storage, name))
        return self._copies[key].connection if key in self._copies else await self.get(storage, name)

    def doubt(self, storage: Storage, name: str) -> None:
        """After a failed query: read this connection before the next one, not beside it."""
        key = (storage.tenant, name.strip())
        if key in self._copies:
            self._copies[key] = self._copies[key]._replace(doubted=True)

    def forget(self, tenant: str) -> None:
        """Drop everything of an installation."""
        self._copies.forget(tenant)

    async def close(self) -> None:
        """End what is going on beside."""
        await self._beside.close()

    async def _renew(self, storage: Storage, name: str) -> None:
        try:
            self._remember(storage, await self.get(storage, name))
        except SettingsError:
            self._drop(storage, name)
        except StorageError as error:
            log.info("connection %r: the last one known goes on being used; %s", name, error)

    def _remember(self, storage: Storage, connection: Connection) -> None:
        self._copies.put((storage.tenant, connection.name), Copy(self._clock(), connection))

    def _drop(self, storage: Storage, name: str) -> None:
        self._copies.pop((storage.tenant, name), None)

    async def all(self, storage: Storage) -> tuple[list[Connection], list[str]]:
        """All connections by name, and the names under which something damaged is stored. StorageError otherwise."""
        good, damaged = [], []
        for name in await self._names(storage):
            try:
                good.append(await self._read(storage, name))
            except ValueError:
                damaged.append(name)
        return good, damaged

    async def get(self, storage: Storage, name: str) -> Connection:
        """One connection; SettingsError that lists the names there are where it's missing."""
        try:
            return await self._read(storage, name)
        except ValueError:
            raise StorageError(
                f"connection {name!r} is damaged", "Delete it on the plugin's page, make it anew"
            ) from None
        except StorageError:
            names = await self._names(storage)  # the host doesn't tell a missing value from a storage that fails
            if name in names:
                raise
        have = ", ".join(names) or "none yet"
        raise SettingsError(f"connection {name[:NAME_LIMIT]!r} is not there", f"Use one of: {have}"[:150])

    async def save(
        self, storage: Storage, name: str, settings: dict[str, Any], original: str = "", revision: str = ""
    ) -> Connection:
        """Store a new connection, or change or rename the one called `original` as it was at `revision`.

        ConflictError where somebody else was faster, SettingsError for a bad name.
        """
        name = name.strip()
        if not name or len(name) > NAME_LIMIT or not name.isprintable():
            raise SettingsError(f"name must have 1 to {NAME_LIMIT} characters in one line", "Choose another name")
        async with self._writing:
            names = await self._names(storage)
            if original:
                await self._unchanged(storage, original, revision, names)
            if name != original and name in names:
                raise ConflictError(f"a connection called {name!r} is there already", "Choose another name")
            made = Connection(name, settings, uuid.uuid4().hex)
            raw = json.dumps({"settings": settings, "revision": made.revision}, ensure_ascii=False).encode()
            await self._call(storage.set_plugin_storage(PREFIX + name, raw), "saved")
            self._remember(storage, made)
            if original and original != name:
                self._drop(storage, original)
                await self._call(storage.delete_plugin_storage(PREFIX + original), "renamed")
        return made

    async def delete(self, storage: Storage, name: str, revision: str) -> None:
        """Delete a connection as it was at `revision`; one that is damaged has none. ConflictError otherwise."""
        async with self._writing:
            await self._unchanged(storage, name, revision, await self._names(storage))
            self._drop(storage, name)
            await self._call(storage.delete_plugin_storage(PREFIX + name), "deleted")

    async def _unchanged(self, storage: Storage, name: str, revision: str, names: list[str]) -> None:
        if name not in names:
            raise ConflictError(f"connection {name!r} was deleted by somebody else", "Load the list anew")
        try:
            found = (await self._read(storage, name)).revision
        except ValueError:
            found = ""
        if found != revision:
            raise ConflictError(
                f"connection {name!r} was changed by somebody else", "Load it anew and repeat your change"
            )

    async def _names(self, storage: Storage) -> list[str]:
        keys = await self._call(storage.get_plugin_storage_keys(), "listed")
        return sorted(key.removeprefix(PREFIX) for key in keys if key.startswith(PREFIX))

    async def _read(self, storage: Storage, name: str) -> Connection:
        """ValueError where what is stored is no connection."""
        told = json.loads(await self._call(storage.get_plugin_storage(PREFIX + name), "read"))
        settings = mapping(mapping(told).get("settings"))
        if not settings:
            raise ValueError(name)
        return Connection(name, settings, text(mapping(told).get("revision")))

    @staticmethod
    async def _call(request: Any, what: str) -> Any:
        try:
            return await request
        except Exception:  # noqa: BLE001 - the host's faults come as many classes, and with its internals in their texts
            raise StorageError(f"the plugin's storage failed: nothing could be {what}", NO_STORAGE) from None
