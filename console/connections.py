"""Named connections: sets of settings in the plugin's storage, so that a service is swapped or a key rotated in one place."""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from bridge.beside import Beside
from bridge.errors import BridgeError, SettingsError
from bridge.recent import Recent
from console.connection import NAME_LIMIT, Connection, Former, Listing, named, read
from console.storage import Storage, StorageError, names, stored

log = logging.getLogger(__name__)

PREFIX = "connection/"
COPIES = 512
FRESH = 5.0
"""Seconds after which the storage is read again."""
HOPS = 16
"""Renamings that are followed at most."""


class ConflictError(BridgeError):
    """Somebody else saved or deleted the connection in between, or has the name."""


class Copy(NamedTuple):
    """A connection as it was read or saved at a time; `doubted` after a failed query."""

    at: float
    connection: Connection
    doubted: bool = False


class Connections:
    """The connections of any number of storages. Writes of one process are made one after another.

    One that is renamed goes on answering under its former name, until `retire` ends that.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._writing = asyncio.Lock()
        self._copies: Recent[tuple[str, str], Copy] = Recent(COPIES)
        self._beside = Beside()

    # ---- for queries

    async def current(self, storage: Storage, name: str) -> Connection:
        """One connection for a query: what was last saved here, or read; see `get` for what it raises.

        A copy that is older than FRESH seconds is read again beside the query, for the next one. A storage that fails
        doesn't matter while there is a copy.
        """
        name = name.strip()
        key = (storage.tenant, name)
        copy = self._copies.get(key)
        if copy is None:
            self._remember(storage, name, await self.get(storage, name))
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
            self._remember(storage, name, await self.get(storage, name))
        except SettingsError:
            self._copies.pop((storage.tenant, name), None)
        except StorageError as error:
            log.info("connection %r: the last one known goes on being used; %s", name, error)

    def _remember(self, storage: Storage, name: str, connection: Connection) -> None:
        self._copies.put((storage.tenant, name), Copy(self._clock(), connection))

    def _drop(self, storage: Storage, *changed: str) -> None:
        """Nothing that was known under these names counts any more, nor what their former names stood for."""
        for key, copy in list(self._copies.items()):
            if key[0] == storage.tenant and (key[1] in changed or copy.connection.name in changed):
                del self._copies[key]

    # ---- reading

    async def all(self, storage: Storage) -> Listing:
        """All that is stored; StorageError where it can't be read."""
        have = await names(storage, PREFIX)
        found = await asyncio.gather(*(self._read_if_good(storage, name) for name in have))
        connections = [one for one in found if isinstance(one, Connection)]
        formers = {one.name: one for one in found if isinstance(one, Former)}
        damaged = [name for name, one in zip(have, found, strict=True) if one is None]
        return Listing(connections, formers, damaged)

    async def get(self, storage: Storage, name: str) -> Connection:
        """One connection by its name or a former one; SettingsError that lists the names there are where it's missing."""
        asked = name
        try:
            for _ in range(HOPS):
                found = await self._read(storage, asked)
                if isinstance(found, Connection):
                    return found
                asked = found.now
        except ValueError:
            raise StorageError(
                f"connection {name!r} is damaged", "Delete it on the plugin's page, make it anew"
            ) from None
        except StorageError:
            if asked in await names(storage, PREFIX):  # the host doesn't tell a missing value from a storage that fails
                raise
        have = ", ".join(one.name for one in (await self.all(storage)).connections) or "none yet"
        raise SettingsError(f"connection {name[:NAME_LIMIT]!r} is not there", f"Use one of: {have}"[:150])

    # ---- writing

    async def check(
        self, storage: Storage, name: str, original: str, revision: str, users: Mapping[str, list[str]]
    ) -> Former | None:
        """Raise what `save` would; the former name that it would take back. `users`: who names which connection."""
        name = named(name)
        have = await names(storage, PREFIX)
        if original:
            await self._unchanged(storage, original, revision, have)
        if name == original or name not in have:
            return None
        return await self._free(storage, name, original, users)

    async def save(  # noqa: PLR0913, PLR0917 - a save is what it is
        self,
        storage: Storage,
        name: str,
        settings: dict[str, Any],
        original: str = "",
        revision: str = "",
        users: Mapping[str, list[str]] | None = None,
    ) -> Connection:
        """Store a new connection, or change or rename the one called `original` as it was at `revision`.

        ConflictError where somebody else was faster or has the name, SettingsError for a bad name.
        """
        async with self._writing:
            before = await self.check(storage, name, original, revision, users or {})
            made = Connection(named(name), settings, uuid.uuid4().hex)
            await self._put(storage, made, "saved")
            self._drop(storage, made.name, original)
            self._remember(storage, made.name, made)
            if original and original != made.name:
                await self._rename(storage, original, made.name, before)
        return made

    async def delete(self, storage: Storage, name: str, revision: str) -> None:
        """Delete a connection as it was at `revision`, its former names too; one that is damaged has no revision.

        ConflictError otherwise.
        """
        async with self._writing:
            await self._unchanged(storage, name, revision, await names(storage, PREFIX))
            formers = (await self.all(storage)).of(name)
            self._drop(storage, name)
            await stored(storage.delete_plugin_storage(PREFIX + name), "deleted")
            for former in formers:  # one that stays leads nowhere, and goes with the next listing
                with suppress(StorageError):
                    await stored(storage.delete_plugin_storage(PREFIX + former), "deleted")

    async def retire(self, storage: Storage, formers: Iterable[str]) -> None:
        """These names answer no longer, as far as they are former ones."""
        async with self._writing:
            for name in formers:
                with suppress(ValueError, StorageError):  # it goes with the next listing
                    if isinstance(await self._read(storage, name), Former):
                        self._drop(storage, name)
                        await stored(storage.delete_plugin_storage(PREFIX + name), "deleted")

    async def _rename(self, storage: Storage, original: str, name: str, before: Former | None) -> None:
        """Let a connection's old name, and those before it, lead to the new one; as before where that fails."""
        try:
            await self._put(storage, Former(original, name, time.time()), "renamed")
        except StorageError:
            self._drop(storage, name)
            with suppress(StorageError):
                if before:
                    await self._put(storage, before, "renamed")
                else:
                    await stored(storage.delete_plugin_storage(PREFIX + name), "deleted")
            raise
        with suppress(StorageError):  # a chain is followed as well
            listing = await self.all(storage)
            for former in listing.formers.values():
                if former.now == original:
                    await self._put(storage, Former(former.name, name, former.since), "renamed")

    async def _free(self, storage: Storage, name: str, original: str, users: Mapping[str, list[str]]) -> Former:
        """A former name that may be taken: it leads nowhere, or to `original` itself. ConflictError for any other."""
        listing = await self.all(storage)
        if name not in listing.formers:
            raise ConflictError(f"a connection called {name!r} is there already", "Choose another name")
        now = listing.now(name)
        if now and now != original:
            whom = ", ".join(users.get(name, ())) or "knowledge bases that nobody has searched since"
            raise ConflictError(
                f"{name!r} is a former name of connection {now!r} and still answers for {whom}"[:200],
                "Choose another name",
            )
        return listing.formers[name]

    async def _unchanged(self, storage: Storage, name: str, revision: str, have: list[str]) -> None:
        found = await self._read_if_good(storage, name) if name in have else None
        if name not in have or isinstance(found, Former):
            raise ConflictError(f"connection {name!r} was deleted or renamed by somebody else", "Load the list anew")
        if (found.revision if found else "") != revision:
            raise ConflictError(
                f"connection {name!r} was changed by somebody else", "Load it anew and repeat your change"
            )

    @staticmethod
    async def _put(storage: Storage, what: Connection | Former, how: str) -> None:
        await stored(storage.set_plugin_storage(PREFIX + what.name, what.raw()), how)

    @staticmethod
    async def _read(storage: Storage, name: str) -> Connection | Former:
        """ValueError where what is stored is neither."""
        return read(name, await stored(storage.get_plugin_storage(PREFIX + name), "read"))

    async def _read_if_good(self, storage: Storage, name: str) -> Connection | Former | None:
        try:
            return await self._read(storage, name)
        except ValueError:
            return None
