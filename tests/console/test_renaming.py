"""A connection that is renamed goes on answering under its old name until nobody uses that."""

import asyncio
import json

import pytest

from bridge.errors import SettingsError
from console.bases import GRACE
from console.connection import Former
from console.connections import PREFIX
from tests.console.host import KEY, dify, retrieved, saved, say
from tests.console.test_usage import ON_SHOP, created, restarted
from tests.recorded import DATASET, FOUND
from tests.service import Service


async def listed(plugin):
    answer = await say(plugin, "/connections")
    return {one["name"]: (one["former"], [base["uuid"] for base in one["used_by"]]) for one in answer["connections"]}


async def renamed(plugin, service, old, new, **rest):
    settings = dify(service, api_key="", **rest)
    connections = (await say(plugin, "/connections"))["connections"]
    revision = next(one["revision"] for one in connections if one["name"] == old)
    return await saved(plugin, settings, name=new, original=old, revision=revision)


@pytest.fixture
async def used(plugin, dify_service):
    """A connection `shop` with a knowledge base on it."""
    await saved(plugin, dify(dify_service))
    await created(plugin)
    return plugin


async def test_the_old_name_goes_on_answering_with_what_is_saved_under_the_new_one(used, dify_service):
    assert (await retrieved(used)).results
    await renamed(used, dify_service, "shop", "store")
    assert (await retrieved(used)).results
    assert await listed(used) == {"store": (["shop"], ["a"])}
    assert KEY.encode() not in used.stored[f"{PREFIX}shop"]
    async with Service([FOUND], looked_up=DATASET) as other:
        settings = dify(other, api_key="dataset-new")
        [shown] = (await say(used, "/connections"))["connections"]
        await saved(used, settings, name="store", original="store", revision=shown["revision"])
        assert (await retrieved(used)).results
        assert other.posts[-1].headers["authorization"] == "Bearer dataset-new"
    new = await restarted(used)
    assert (await new.connections.get(new, "shop")).name == "store"
    await new.close()


async def test_a_second_renaming_leads_all_to_the_newest(used, dify_service):
    await renamed(used, dify_service, "shop", "store")
    await created(used, "b", {**ON_SHOP, "connection": "store"})
    await renamed(used, dify_service, "store", "market")
    assert await listed(used) == {"market": (["shop", "store"], ["a", "b"])}
    assert json.loads(used.stored[f"{PREFIX}shop"])["now"] == "market"
    assert [bool((await retrieved(used, base)).results) for base in "ab"] == [True, True]


async def test_back_to_a_former_name(used, dify_service):
    await renamed(used, dify_service, "shop", "store")
    await renamed(used, dify_service, "store", "shop")
    assert await listed(used) == {"shop": ([], ["a"])}
    assert (await retrieved(used)).results
    assert sorted(used.stored) == [f"{PREFIX}shop", "knowledge_base/a"]


async def test_a_former_name_that_answers_is_taken_by_nobody_else(used, dify_service):
    await renamed(used, dify_service, "shop", "store")
    other = await saved(used, dify(dify_service), name="other")
    bodies = [{"name": "shop"}, {"name": "shop", "original": "other", "revision": other["revision"]}]
    for body in bodies:
        answer = await say(used, "/connections/save", settings=dify(dify_service), anyway=True, **body)
        assert (answer["ok"], answer["kind"]) == (False, "ConflictError")
        assert "former name of connection 'store' and still answers for KB a" in answer["error"]
    assert (await used.connections.get(used, "shop")).name == "store"


async def test_the_old_name_goes_with_the_last_knowledge_base_on_it(used, dify_service):
    await created(used, "b")
    await renamed(used, dify_service, "shop", "store")
    await used.engine.on_knowledge_base_delete("a")
    del used.bases["a"]
    assert f"{PREFIX}shop" in used.stored
    await used.engine.on_knowledge_base_delete("b")  # the host lists it until after that
    assert f"{PREFIX}shop" not in used.stored
    await saved(used, dify(dify_service), name="shop")


async def test_an_old_name_that_nobody_uses_goes_at_the_renaming_and_with_a_listing(used, dify_service):
    await saved(used, dify(dify_service), name="two")
    await renamed(used, dify_service, "two", "three")
    assert f"{PREFIX}two" not in used.stored
    used.stored[f"{PREFIX}old"] = Former("old", "three", 0.0).raw()
    used.stored[f"{PREFIX}nowhere"] = Former("nowhere", "gone", 0.0).raw()
    assert (await listed(used))["three"] == ([], [])
    assert not {f"{PREFIX}old", f"{PREFIX}nowhere"} & used.stored.keys()


async def test_it_stays_while_there_are_knowledge_bases_that_nothing_is_known_of(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    plugin.bases["older"] = ON_SHOP
    await renamed(plugin, dify_service, "shop", "store")
    assert await listed(plugin) == {"store": (["shop"], [])}
    assert (await retrieved(plugin, "older")).results
    assert await listed(plugin) == {"store": (["shop"], ["older"])}


async def test_but_not_for_ever(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    plugin.bases["another plugin's"] = {}
    await renamed(plugin, dify_service, "shop", "store")
    told = json.loads(plugin.stored[f"{PREFIX}shop"])
    plugin.stored[f"{PREFIX}shop"] = json.dumps({**told, "since": told["since"] - GRACE}).encode()
    assert await listed(plugin) == {"store": ([], [])}


async def test_deleting_a_connection_deletes_its_former_names(used, dify_service):
    made = await renamed(used, dify_service, "shop", "store")
    assert (await say(used, "/connections/delete", name="store", revision=made["revision"]))["ok"]
    assert sorted(used.stored) == ["knowledge_base/a"]
    error = await retrieved(used)
    assert "connection 'shop' is not there. Use one of: none yet" in str(error)


@pytest.mark.parametrize("chain", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b", "b": "c"}])
async def test_chains_that_lead_nowhere_end(chain, plugin):
    for name, now in chain.items():
        plugin.stored[PREFIX + name] = Former(name, now, 0.0).raw()
    with pytest.raises(SettingsError, match="'a' is not there"):
        await plugin.connections.current(plugin, "a")
    assert await listed(plugin) == {}


async def test_a_chain_that_was_left_is_followed_and_kept(used, dify_service):
    await renamed(used, dify_service, "shop", "store")
    await renamed(used, dify_service, "store", "market")
    used.stored[f"{PREFIX}shop"] = Former("shop", "store", 0.0).raw()
    used.stored[f"{PREFIX}store"] = Former("store", "market", 0.0).raw()
    assert await listed(used) == {"market": (["shop", "store"], ["a"])}
    used.connections.forget("")
    assert (await retrieved(used)).results


@pytest.mark.parametrize("step", range(1, 31))
async def test_a_storage_that_fails_at_any_step_of_a_renaming_breaks_nobody(step, used, dify_service):
    await renamed(used, dify_service, "shop", "store")
    await created(used, "b", {**ON_SHOP, "connection": "store"})
    [shown] = (await say(used, "/connections"))["connections"]
    body = {"name": "market", "original": "store", "revision": shown["revision"], "anyway": True}
    used.fails_at = step
    answer = await say(used, "/connections/save", settings=dify(dify_service, api_key=""), **body)
    assert answer["ok"] or answer["kind"] == "StorageError"
    used.fails_at = 0
    used.connections.forget("")
    for base in "ab":
        assert (await retrieved(used, base)).results
    assert await listed(used) == {
        "market" if answer["ok"] else "store": (["shop", "store"] if answer["ok"] else ["shop"], ["a", "b"])
    }


@pytest.mark.parametrize("step", range(1, 16))
async def test_a_storage_that_fails_at_any_step_of_deleting_a_knowledge_base(step, used, dify_service):
    await renamed(used, dify_service, "shop", "store")
    used.fails_at = step
    await used.engine.on_knowledge_base_delete("a")
    used.fails_at = 0
    del used.bases["a"]
    assert await listed(used) == {"store": ([], [])}
    assert f"{PREFIX}shop" not in used.stored


@pytest.mark.parametrize("step", range(1, 12))
async def test_a_storage_that_fails_while_the_page_reads_takes_no_name_away(step, used, dify_service):
    await renamed(used, dify_service, "shop", "store")
    new = await restarted(used)
    new.fails_at = step
    await say(new, "/connections")
    new.fails_at = 0
    assert await listed(new) == {"store": (["shop"], ["a"])}
    await new.close()


@pytest.mark.parametrize("step", range(1, 16))
async def test_a_storage_that_fails_at_any_step_of_a_deletion_leaves_nothing_half(step, used, dify_service):
    made = await renamed(used, dify_service, "shop", "store")
    used.fails_at = step
    answer = await say(used, "/connections/delete", name="store", revision=made["revision"])
    used.fails_at = 0
    assert answer["ok"] or answer["kind"] == "StorageError"
    assert await listed(used) == ({} if answer["ok"] else {"store": (["shop"], ["a"])})


async def test_two_renamings_at_once_lose_nothing(used, dify_service):
    [shown] = (await say(used, "/connections"))["connections"]
    body = {
        "settings": dify(dify_service, api_key=""),
        "original": "shop",
        "revision": shown["revision"],
        "anyway": True,
    }
    answers = await asyncio.gather(*(say(used, "/connections/save", name=name, **body) for name in ("x", "y")))
    assert sorted(answer["ok"] for answer in answers) == [False, True]
    assert (await retrieved(used)).results
