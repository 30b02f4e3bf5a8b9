"""What the page asks for besides: the steps of a test, odd calls, faults of ours."""

import json

import pytest

from components.knowledge_engine.engine import DifyEngine
from console import api
from tests.console.host import KEY, dify, saved, say
from tests.contract.stand_in import recording
from tests.service import reply


async def test_testing_shows_each_step_and_the_first_passages(plugin, dify_service):
    answer = await say(plugin, "/test", settings=dify(dify_service), query="refunds")
    assert [(step["name"], step["state"]) for step in answer["steps"]] == [
        (name, "ok") for name in ("settings", "address", "key", "dataset", "search")
    ]
    assert answer["entries"][0]["title"] == "refund-policy.txt"
    dify_service.looked_up = reply(401, {"code": "unauthorized", "message": f"no {KEY}"})
    answer = await say(plugin, "/test", settings=dify(dify_service, api_key=KEY + "9"))
    told = [(step["name"], step["state"], step["kind"]) for step in answer["steps"]]
    assert told == [("settings", "ok", ""), ("address", "ok", ""), ("key", "failed", "AuthError")]
    assert KEY not in json.dumps(answer)


async def test_a_test_of_a_stored_connection_uses_its_key(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    await say(plugin, "/test", settings=dify(dify_service, api_key=""), original="shop")
    assert dify_service.posts[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_datasets_are_listed_with_the_forms_settings_or_the_stored_key(plugin, dify_service):
    listing = recording("dify", "v1.14.2__list-datasets")["response"]
    dify_service.looked_up = reply(body=listing)
    answer = await say(plugin, "/datasets", settings=dify(dify_service, dataset_id=""))
    assert answer["ok"]
    assert answer["notes"] == []
    assert answer["datasets"][0] == {
        "id": listing["data"][0]["id"],
        "name": "economy",
        "line": "economy, text_model, 3 documents",
        "note": "economy: searched by keyword only",
        "searchable": True,
        "group": "",
    }
    await saved(plugin, dify(dify_service))
    assert (await say(plugin, "/datasets", settings=dify(dify_service, api_key=""), original="shop"))["ok"]
    assert dify_service.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    blank = dify(dify_service, api_key="", dataset_id="")
    assert (await say(plugin, "/datasets", settings=blank, original="shop"))["ok"]
    assert (await say(plugin, "/datasets", settings=dify(dify_service, api_key="")))["kind"] == "SettingsError"


async def test_a_list_that_fails_says_why(plugin, dify_service):
    dify_service.looked_up = reply(401, {"code": "unauthorized", "message": f"no {KEY}"})
    answer = await say(plugin, "/datasets", settings=dify(dify_service))
    assert (answer["ok"], answer["kind"]) == (False, "AuthError")
    assert KEY not in json.dumps(answer)
    answer = await say(plugin, "/datasets", settings={"backend": "jinba"})
    assert "can't be listed here" in answer["error"]


async def test_the_engine_of_one_service_takes_no_connections(plugin):
    engine = DifyEngine()
    engine.plugin = plugin
    await engine.initialize()
    assert (await say(plugin, "/overview"))["takes_connections"] is False


@pytest.mark.parametrize("body", [None, [], "x", 7])
async def test_odd_calls_get_a_message(body, plugin):
    assert (await api.answer(plugin, "/nothing", body))["error"].startswith("this page is older")
    assert "blank" in (await api.answer(plugin, "/search", body))["error"]


async def test_a_fault_of_ours_is_logged_and_shows_no_internals(plugin, monkeypatch, caplog):
    async def broken():
        raise KeyError("internals")

    monkeypatch.setattr(plugin, "list_knowledge_bases", broken)
    answer = await say(plugin, "/overview")
    assert answer["error"] == "Something failed inside the plugin; LangBot's log tells what."
    assert "internals" in caplog.text
