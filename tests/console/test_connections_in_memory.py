"""The connections that queries use: kept in memory, read again beside a query, never lost with the storage."""

import asyncio
import json

import pytest

from bridge.errors import SettingsError
from console.connections import PREFIX, Connections
from console.storage import StorageError


class Storage:
    """A host's storage in a dict, which counts its readings and can fail."""

    tenant = ""

    def __init__(self):
        self.stored, self.reads, self.broken = {}, 0, False

    def put(self, name, **settings):
        self.stored[PREFIX + name] = json.dumps({"settings": settings, "revision": "r"}).encode()

    async def get_plugin_storage(self, key):
        self.reads += 1
        if self.broken or key not in self.stored:
            raise RuntimeError("storage")
        return self.stored[key]

    async def get_plugin_storage_keys(self):
        if self.broken:
            raise RuntimeError("storage")
        return list(self.stored)

    async def set_plugin_storage(self, key, value):
        self.stored[key] = value

    async def delete_plugin_storage(self, key):
        del self.stored[key]


@pytest.fixture
def now():
    return [1000.0]


@pytest.fixture
async def connections(now):
    made = Connections(lambda: now[0])
    yield made
    await made.close()


@pytest.fixture
def storage():
    made = Storage()
    made.put("shop", key="old")
    return made


async def key(connections, storage, name="shop"):
    return (await connections.current(storage, name)).settings["key"]


async def test_the_storage_is_read_once(connections, storage, now):
    for _ in range(10):
        assert await key(connections, storage) == "old"
        now[0] += 0.5
    assert storage.reads == 1


async def test_a_change_elsewhere_counts_from_the_next_query_on(connections, storage, now):
    await key(connections, storage)
    storage.put("shop", key="new")
    now[0] += 6
    assert await key(connections, storage) == "old"
    await asyncio.sleep(0)
    assert await key(connections, storage) == "new"
    assert storage.reads == 2


async def test_what_is_saved_here_counts_at_once(connections, storage):
    await key(connections, storage)
    await connections.save(storage, "shop", {"key": "new"}, "shop", "r")
    assert await key(connections, storage) == "new"
    assert storage.reads == 2  # the first, and the one of the save


async def test_renamed_and_deleted_ones_are_gone_at_once(connections, storage):
    await key(connections, storage)
    made = await connections.save(storage, "store", {"key": "new"}, "shop", "r")
    assert [await key(connections, storage, name) for name in ("shop", "store")] == ["new", "new"]
    await connections.retire(storage, ["shop", "store", "nobody"])
    with pytest.raises(SettingsError, match="Use one of: store"):
        await key(connections, storage)
    await connections.delete(storage, "store", made.revision)
    with pytest.raises(SettingsError, match="none yet"):
        await key(connections, storage, "store")


async def test_one_that_is_deleted_elsewhere_is_missed_at_the_next_query(connections, storage, now):
    await key(connections, storage)
    storage.stored.clear()
    now[0] += 6
    assert await key(connections, storage) == "old"
    await asyncio.sleep(0)
    with pytest.raises(SettingsError):
        await key(connections, storage)


async def test_a_storage_that_fails_fails_no_query_with_a_copy(connections, storage, now):
    await key(connections, storage)
    storage.broken = True
    for _ in range(3):
        now[0] += 6
        assert await key(connections, storage) == "old"
        await asyncio.sleep(0)
    connections.doubt(storage, "shop")
    assert await key(connections, storage) == "old"
    with pytest.raises(StorageError):
        await key(connections, storage, "other")


async def test_after_a_failed_query_the_storage_is_read_first(connections, storage):
    await key(connections, storage)
    storage.put("shop", key="new")
    connections.doubt(storage, "shop")
    assert await key(connections, storage) == "new"


async def test_installations_have_copies_of_their_own(connections, storage):
    other = Storage()
    other.tenant = "other"
    other.put("shop", key="theirs")
    assert [await key(connections, storage), await key(connections, other)] == ["old", "theirs"]
    connections.forget("other")
    other.put("shop", key="changed")
    assert [await key(connections, storage), await key(connections, other)] == ["old", "changed"]
    assert storage.reads == 1
