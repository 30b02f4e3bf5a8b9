"""A connection is tested before it is saved; the fields that a refusal is about are named."""

import pytest

from tests.console.host import KEY, dify, saved, say
from tests.service import reply

REFUSED = reply(401, {"code": "unauthorized", "message": "Access token is invalid"})


async def test_a_save_tests_first_and_a_failing_one_needs_to_be_told_anyway(plugin, dify_service):
    dify_service.looked_up = REFUSED
    body = {"name": "shop", "settings": dify(dify_service)}
    answer = await say(plugin, "/connections/save", **body)
    assert (answer["ok"], answer["saved"], answer["steps"][-1]["state"]) == (True, False, "failed")
    assert plugin.stored == {}
    answer = await say(plugin, "/connections/save", **body, anyway=True)
    assert (answer["saved"], answer["steps"], answer["connection"]["name"]) == (True, [], "shop")


async def test_a_good_one_is_saved_with_its_steps_and_passages(plugin, dify_service):
    answer = await say(plugin, "/connections/save", name="shop", settings=dify(dify_service), query="refunds")
    assert (answer["saved"], [step["name"] for step in answer["steps"]][-1]) == (True, "search")
    assert answer["entries"]
    assert dify_service.posts[-1].json["query"] == "refunds"


async def test_what_cannot_be_saved_is_refused_before_it_is_tested(plugin, dify_service):
    made = await saved(plugin, dify(dify_service))
    for body in ({"name": "shop"}, {"name": ""}, {"name": "x", "original": "shop", "revision": made["revision"] + "x"}):
        assert not (await say(plugin, "/connections/save", settings=dify(dify_service), **body))["ok"]
    assert dify_service.requests == []


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"api_key": ""}, ["api_key"]),
        ({"api_key": "", "dataset_id": ""}, ["api_key"]),
        ({"api_base_url": "ftp://x"}, ["api_base_url"]),
        ({"backend": "x"}, ["backend"]),
        ({"dataset_id": "x"}, ["dataset_id"]),
    ],
)
async def test_the_fields_that_are_wrong_are_named(change, fields, plugin, dify_service):
    settings = dify(dify_service) | change
    answer = await say(plugin, "/connections/save", name="x", settings=settings, anyway=True)
    assert (answer["kind"], answer["fields"]) == ("SettingsError", fields)
    assert "knowledge base's settings" not in answer["error"]
    assert KEY not in answer["error"]
    [step] = (await say(plugin, "/test", settings=settings))["steps"]
    assert (step["state"], step["kind"], step["fields"]) == ("failed", "SettingsError", fields)
