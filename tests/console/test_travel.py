"""Connections as text: out without keys, in with the checks of a save."""

import json

import pytest

from tests.console.host import KEY, dify, saved, say
from tests.console.test_renaming import renamed
from tests.console.test_usage import created
from tests.contract.cases import CASES


def text(*connections, **rest):
    told = {"format": "knowledge-bridge-connections", "version": 1, "connections": list(connections)}
    return json.dumps(told | rest)


async def read(plugin, *connections):
    answer = await say(plugin, "/connections/read", text=text(*connections))
    assert answer["ok"], answer
    return answer["connections"]


def settings(service, **rest):
    return {name: value for name, value in dify(service, **rest).items() if name != "api_key"}


async def test_out_and_in_again(plugin, dify_service):
    await saved(plugin, dify(dify_service), name="b")
    await saved(plugin, dify(dify_service), name="ä")
    out = (await say(plugin, "/connections/export"))["text"]
    assert out == (await say(plugin, "/connections/export"))["text"]
    assert KEY not in out
    assert "ä" in out
    [one, two] = (await say(plugin, "/connections/read", text=out))["connections"]
    assert (one["name"], two["name"], one["exists"], one["needs_key"], one["problem"]) == ("b", "ä", True, False, None)
    for shown in (one, two):
        body = {"name": shown["name"], "original": shown["name"], "revision": shown["revision"]}
        await saved(plugin, shown["settings"], **body)
    plugin.stored.clear()
    [one, _] = (await say(plugin, "/connections/read", text=out))["connections"]
    assert (one["exists"], one["revision"], one["needs_key"], one["problem"]) == (False, "", True, None)
    assert plugin.stored == {}


async def test_a_hidden_query_string_has_to_be_typed_but_for_the_one_that_is_stored(plugin, dify_service):
    jinba = next(case for case in CASES if case.backend == "jinba")
    own = {"backend": "jinba", **jinba.creation, "route": "search_url", "api_base_url": f"{dify_service.base}/s?code=7"}
    await saved(plugin, {**own, "api_key": KEY})
    out = (await say(plugin, "/connections/export"))["text"]
    assert "code=7" not in out
    [one] = (await say(plugin, "/connections/read", text=out))["connections"]
    assert (one["problem"], one["needs_key"]) == (None, False)
    assert "code=7" not in json.dumps(one)
    plugin.stored.clear()
    [one] = (await say(plugin, "/connections/read", text=out))["connections"]
    assert one["problem"]["fields"] == ["api_base_url"]


async def test_a_query_string_that_somebody_typed_into_the_text_stays(plugin, dify_service):
    typed = f"{dify_service.base}/v1?code=8"
    [one] = await read(plugin, {"name": "x", "settings": settings(dify_service, api_base_url=typed)})
    assert (one["settings"]["api_base_url"], one["problem"]) == (typed, None)


async def test_a_key_in_the_text_is_neither_read_nor_shown(plugin, dify_service):
    [one] = await read(plugin, {"name": "x", "settings": dify(dify_service)})
    assert (one["needs_key"], KEY in json.dumps(one)) == (True, False)


async def test_the_stored_key_of_another_address_doesnt_count(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    [one] = await read(plugin, {"name": "shop", "settings": settings(dify_service, api_base_url="http://other.test")})
    assert (one["exists"], one["needs_key"], one["problem"]) == (True, True, None)
    assert dify_service.requests == []


async def test_what_a_save_would_refuse_is_told(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    await created(plugin)
    await renamed(plugin, dify_service, "shop", "store")
    good = settings(dify_service)
    found = await read(
        plugin,
        {"name": "", "settings": good},
        {"name": "shop", "settings": good},
        {"name": "one", "settings": {**good, "dataset_id": ""}},
        {"name": "two", "settings": {"backend": "nothing"}},
        {"name": "three"},
        {"name": "four", "settings": good},
        {"name": "four", "settings": good},
    )
    problems = [(one["problem"] or {"kind": "", "fields": []}) for one in found]
    assert [(problem["kind"], problem["fields"]) for problem in problems] == [
        ("SettingsError", []),
        ("ConflictError", []),
        ("SettingsError", ["dataset_id"]),
        ("SettingsError", ["backend"]),
        ("SettingsError", ["backend"]),
        ("", []),
        ("ConflictError", []),
    ]
    assert "still answers for KB a" in problems[1]["error"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "no JSON"),
        ("{" * 9000, "no JSON"),
        ("[]", "holds no connections"),
        (text(format="x"), "holds no connections"),
        (text(version=2), "version is not 1"),
        (text(connections=7), "no list"),
        (text("x"), "no list"),
        (text(*[{}] * 201), "more than 200"),
        ("x" * 500_001, "longer than"),
    ],
)
async def test_what_is_no_such_text_is_refused_in_words(given, said, plugin):
    answer = await say(plugin, "/connections/read", text=given)
    assert (answer["ok"], answer["kind"], answer["fields"], said in answer["error"]) == (
        False,
        "SettingsError",
        [],
        True,
    )
