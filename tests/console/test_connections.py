"""Named connections: made, changed, renamed, deleted, and what happens when the storage or another admin gets in the way."""

import asyncio
import json

import pytest

from console.connections import PREFIX
from tests.console.host import FASTGPT, KEY, dify, saved, say, search
from tests.contract.stand_in import recording
from tests.service import Service, reply


async def test_a_connection_is_made_used_changed_and_its_key_never_shown(plugin, dify_service):
    made = await saved(plugin, dify(dify_service))
    plugin.bases["a"] = {"backend": "connection", "connection": "shop"}
    found = await search(plugin)
    assert found["entries"][0]["title"] == "refund-policy.txt"
    listed = await say(plugin, "/connections")
    [shown] = listed["connections"]
    assert (shown["has_key"], shown["used_by"]) == (True, [{"uuid": "a", "name": "KB a"}])
    assert KEY not in json.dumps([made, listed, found])

    async with Service([reply(body=recording("fastgpt", "v4.14.13__embedding")["response"])]) as other:
        settings = {"backend": "fastgpt", "api_key": "fastgpt-x", **FASTGPT.creation, "api_base_url": other.base}
        await saved(plugin, settings, original="shop", revision=made["revision"])
        assert len((await search(plugin))["entries"]) > 1
        assert len(other.posts) == 1
    assert len(dify_service.posts) == 1


async def test_a_blank_key_keeps_the_stored_one_and_a_new_one_replaces_it(plugin, dify_service):
    made = await saved(plugin, dify(dify_service))
    plugin.bases["a"] = {"backend": "connection", "connection": "shop"}
    made = await saved(plugin, dify(dify_service, api_key=""), original="shop", revision=made["revision"])
    await search(plugin)
    assert dify_service.posts[-1].headers["authorization"] == f"Bearer {KEY}"
    await saved(plugin, dify(dify_service, api_key="dataset-new"), original="shop", revision=made["revision"])
    await search(plugin)
    assert dify_service.posts[-1].headers["authorization"] == "Bearer dataset-new"


async def test_renaming_moves_and_takes_no_other_name(plugin, dify_service):
    one = await saved(plugin, dify(dify_service), name="one")
    await saved(plugin, dify(dify_service), name="two")
    settings = dify(dify_service, api_key="")
    answer = await say(
        plugin, "/connections/save", name="two", settings=settings, original="one", revision=one["revision"]
    )
    assert (answer["ok"], answer["kind"]) == (False, "ConflictError")
    await saved(plugin, settings, name="three", original="one", revision=one["revision"])
    assert sorted(plugin.stored) == [f"{PREFIX}three", f"{PREFIX}two"]  # nobody used the old name
    assert KEY.encode() in plugin.stored[f"{PREFIX}three"]


async def test_two_admins_saving_at_once_lose_nothing_silently(plugin, dify_service):
    made = await saved(plugin, dify(dify_service))
    answers = await asyncio.gather(
        *(
            say(
                plugin,
                "/connections/save",
                name="shop",
                settings=dify(dify_service, api_key=f"dataset-{n}"),
                original="shop",
                revision=made["revision"],
            )
            for n in range(2)
        )
    )
    assert sorted(answer["ok"] for answer in answers) == [False, True]
    [told] = [answer for answer in answers if not answer["ok"]]
    assert (told["kind"], "changed by somebody else" in told["error"]) == ("ConflictError", True)
    new = await asyncio.gather(
        *(say(plugin, "/connections/save", name="new", settings=dify(dify_service)) for _ in range(2))
    )
    assert sorted(answer["ok"] for answer in new) == [False, True]


async def test_deleting_needs_the_state_that_was_seen(plugin, dify_service):
    made = await saved(plugin, dify(dify_service))
    answer = await say(plugin, "/connections/delete", name="shop", revision="old")
    assert answer["kind"] == "ConflictError"
    assert (await say(plugin, "/connections/delete", name="shop", revision=made["revision"]))["ok"]
    assert (await say(plugin, "/connections/delete", name="shop", revision=made["revision"]))["kind"] == "ConflictError"
    assert plugin.stored == {}


async def test_a_missing_connection_lists_those_there_are(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    plugin.bases["a"] = {"backend": "connection", "connection": "shp"}
    found = await search(plugin)
    assert "connection 'shp' is not there. Use one of: shop" in found["error"]
    plugin.stored.clear()
    assert "none yet" in (await search(plugin))["error"]


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "a\nb"])
async def test_bad_names(name, plugin, dify_service):
    answer = await say(plugin, "/connections/save", name=name, settings=dify(dify_service))
    assert "name must have" in answer["error"]


@pytest.mark.parametrize("settings", [None, [], {}, {"backend": "connection"}, {"backend": "dify", "api_key": KEY}])
async def test_settings_that_cant_be_used_are_not_saved(settings, plugin):
    answer = await say(plugin, "/connections/save", name="x", settings=settings)
    assert (answer["ok"], answer["kind"]) == (False, "SettingsError")
    assert plugin.stored == {}


@pytest.mark.parametrize("broken", ["keys", "read", "write", "delete"])
async def test_a_storage_that_fails_gives_a_message_and_never_an_empty_list(broken, plugin, dify_service):
    made = await saved(plugin, dify(dify_service))
    before = dict(plugin.stored)
    plugin.broken = broken
    plugin.bases["a"] = dify(dify_service)
    assert (await search(plugin))["entries"]
    listed = await say(plugin, "/connections")
    if broken in ("keys", "read"):
        assert (listed["ok"], listed["kind"]) == (False, "StorageError")
        assert "connections" not in listed
    answers = [
        await say(plugin, "/connections/save", name="other", settings=dify(dify_service)),
        await say(plugin, "/connections/delete", name="shop", revision=made["revision"]),
    ]
    refused = [answer for answer in answers if not answer["ok"]]
    assert refused
    for answer in refused:
        assert "storage failed" in answer["error"]
        assert "sqlalchemy<2.1" in answer["error"]
        assert KEY not in answer["error"]
    if broken == "keys":
        assert {key: raw for key, raw in plugin.stored.items() if key.startswith(PREFIX)} == before


@pytest.mark.parametrize("damage", [b"", b"\xff", b"[]", b'{"settings": 7}', b"{" * 5000])
async def test_damaged_data_is_named_never_saved_over_and_can_be_deleted(damage, plugin, dify_service):
    await saved(plugin, dify(dify_service), name="good")
    plugin.stored[f"{PREFIX}bad"] = damage
    listed = await say(plugin, "/connections")
    assert ([c["name"] for c in listed["connections"]], listed["damaged"]) == (["good"], ["bad"])
    assert not (await say(plugin, "/connections/save", name="bad", settings=dify(dify_service)))["ok"]
    assert plugin.stored[f"{PREFIX}bad"] == damage
    plugin.bases["a"] = {"backend": "connection", "connection": "bad"}
    assert "damaged" in (await search(plugin))["error"]
    assert (await say(plugin, "/connections/delete", name="bad", revision=""))["ok"]


async def test_what_others_store_is_left_alone(plugin):
    plugin.stored["something/else"] = b"x"
    assert (await say(plugin, "/connections")) == {"ok": True, "connections": [], "damaged": []}
