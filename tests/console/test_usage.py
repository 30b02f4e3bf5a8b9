"""Which knowledge base stands on what: kept over a restart, added to by searches, never in anybody's way."""

import asyncio
import json

import pytest

from console.usage import PREFIX, TRIES
from tests.console.host import KEY, Plugin, dify, retrieved, saved, say

ON_SHOP = {"backend": "connection", "connection": "shop"}
RECORD = f"{PREFIX}a"


async def restarted(plugin):
    """Another process over the same storage and knowledge bases."""
    made = Plugin()
    await made.initialize()
    made.engine, made.stored, made.bases = plugin.engine, plugin.stored, plugin.bases
    return made


async def users(plugin):
    [shown] = (await say(plugin, "/connections"))["connections"]
    return [base["uuid"] for base in shown["used_by"]]


async def created(plugin, base="a", config=ON_SHOP):
    plugin.bases[base] = config
    await plugin.engine.on_knowledge_base_create(base, {**config, "check_on_save": False})


async def test_who_uses_a_connection_survives_a_restart(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    await created(plugin)
    assert json.loads(plugin.stored[RECORD]) == {"backend": "dify", "connection": "shop"}
    new = await restarted(plugin)
    assert await users(new) == ["a"]
    [base] = (await say(new, "/overview"))["knowledge_bases"]
    assert (base["mine"], base["backend"], base["connection"]) == (True, "dify", "shop")
    await new.close()
    await plugin.engine.on_knowledge_base_delete("a")
    assert RECORD not in plugin.stored
    assert await users(plugin) == []


async def test_an_older_knowledge_base_is_known_by_its_first_search_and_stored_once(plugin, dify_service, monkeypatch):
    writes = []
    write = plugin.set_plugin_storage

    async def counted(key, value):
        writes.append((key, value))
        await write(key, value)

    monkeypatch.setattr(plugin, "set_plugin_storage", counted)
    await saved(plugin, dify(dify_service))
    writes.clear()
    plugin.bases["a"] = ON_SHOP
    for _ in range(3):
        await retrieved(plugin)
    assert [key for key, _ in writes] == [RECORD]
    assert await users(plugin) == ["a"]
    plugin.bases["a"] = dify(dify_service)
    await retrieved(plugin)
    assert json.loads(plugin.stored[RECORD]) == {"backend": "dify", "connection": ""}
    assert await users(plugin) == []


async def test_a_search_never_waits_for_the_storage_and_never_fails_with_it(plugin, dify_service, monkeypatch):
    started = 0

    async def hangs(*_):
        nonlocal started
        started += 1
        if started > 1:
            raise RuntimeError(KEY)
        await asyncio.Event().wait()

    monkeypatch.setattr(plugin, "set_plugin_storage", hangs)
    plugin.bases["a"] = dify(dify_service)
    assert (await retrieved(plugin)).results
    assert started == 1
    assert (await say(plugin, "/overview"))["knowledge_bases"][0]["mine"]
    plugin.bases["b"] = dify(dify_service)
    for _ in range(TRIES + 3):
        assert (await retrieved(plugin, "b")).results
    assert started == 1 + TRIES


@pytest.mark.parametrize("broken", ["keys", "read", "write", "delete", "keys read write delete"])
async def test_a_storage_that_fails_fails_no_create_no_delete_and_no_overview(broken, plugin, dify_service):
    plugin.broken = broken
    plugin.bases["a"] = dify(dify_service)
    await plugin.engine.on_knowledge_base_create("a", plugin.bases["a"])
    assert (await retrieved(plugin)).results
    assert (await say(plugin, "/overview"))["knowledge_bases"][0]["mine"]
    await plugin.engine.on_knowledge_base_delete("a")


async def test_records_of_knowledge_bases_that_are_gone_go(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    await created(plugin)
    await created(plugin, "b")
    del plugin.bases["a"]
    new = await restarted(plugin)
    assert await users(new) == ["b"]
    assert RECORD not in plugin.stored
    await new.close()


@pytest.mark.parametrize("damage", [b"", b"\xff", b"[]", b"{" * 5000, b'{"backend": 7}'])
async def test_a_damaged_record_is_mended_by_the_next_search(damage, plugin, dify_service):
    plugin.bases["a"] = dify(dify_service)
    plugin.stored[RECORD] = damage
    [base] = (await say(plugin, "/overview"))["knowledge_bases"]
    assert (base["mine"], base["connection"]) == (True, "")
    await retrieved(plugin)
    assert json.loads(plugin.stored[RECORD])["backend"] == "dify"


async def test_a_refused_knowledge_base_is_not_kept(plugin, dify_service):
    plugin.bases["a"] = {}
    with pytest.raises(Exception, match="dataset_id"):
        await plugin.engine.on_knowledge_base_create("a", dify(dify_service, dataset_id=""))
    assert plugin.stored == {}


async def test_installations_know_nothing_of_each_other(plugin, dify_service):
    await created(plugin, config=dify(dify_service))
    other = type("Other", (), {"tenant": "t2", "get_plugin_storage_keys": plugin.get_plugin_storage_keys})()
    other.stored = {}

    async def nothing():
        return []

    other.get_plugin_storage_keys = nothing
    assert await plugin.usage.all(other) == ({}, True)
    await plugin.on_installation_revoked(type("Binding", (), {"installation_uuid": ""})())
    plugin.stored.clear()
    assert await plugin.usage.all(plugin) == ({}, True)
