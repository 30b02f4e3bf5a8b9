"""What the last calls came to."""

import asyncio
import json

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from bridge.errors import SettingsError
from console.journal import CALLS
from tests.console.host import DIFY, KEY, dify, say, search
from tests.contract.stand_in import context
from tests.service import reply


async def test_the_journal_tells_how_calls_ended(plugin, dify_service):
    plugin.bases |= {"a": dify(dify_service), "b": dify(dify_service, api_base_url="http://127.0.0.1:9")}
    await search(plugin)
    dify_service.answers = [reply(body={"records": []})]
    await search(plugin)
    await search(plugin, "b")
    overview = await say(plugin, "/overview")
    assert [(call["outcome"], call["entries"], call["knowledge_base"]) for call in overview["calls"]] == [
        ("UnavailableError", 0, "b"),
        ("empty", 0, "a"),
        ("ok", 4, "a"),
    ]
    failed, _, good = overview["calls"]
    assert failed["text"].startswith("Dify at 127.0.0.1:9: the connection was refused")
    assert (failed["tries"], good["tries"]) == (3, 1)
    assert good["service"].startswith("Dify at 127.0.0.1:")
    assert overview["knowledge_bases"] == [{"uuid": "a", "name": "KB a"}, {"uuid": "b", "name": "KB b"}]
    assert "refunds" not in json.dumps(overview)
    assert KEY not in json.dumps(overview)


async def test_query_texts_only_while_they_are_wanted(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service)
    assert (await say(plugin, "/queries", on=True))["queries"] is True
    await search(plugin)
    assert (await say(plugin, "/overview"))["calls"][0]["query"] == "How long do refunds take?"
    await say(plugin, "/queries", on=False)
    assert (await say(plugin, "/overview"))["calls"][0]["query"] == ""


async def test_ten_thousand_calls_make_the_journal_no_larger(plugin):
    made = RetrievalContext(query="x", knowledge_base_id="a", creation_settings={})
    for _ in range(10_000):
        plugin.journal.add("", made, 0.0, SettingsError("x", "y"))
    assert len((await say(plugin, "/overview"))["calls"]) == CALLS


async def test_installations_see_their_own_calls_and_leave_nothing(plugin):
    made = RetrievalContext(query="x", knowledge_base_id="a", creation_settings={})
    plugin.journal.keep_queries("t1", on=True)
    plugin.journal.add("t1", made, 0.0, SettingsError("x", "y"))
    assert plugin.journal.calls("t2") == []
    await plugin.on_installation_revoked(type("Binding", (), {"installation_uuid": "t1"})())
    assert plugin.journal.calls("t1") == []
    assert not plugin.journal.with_queries("t1")


async def test_a_cancelled_call_is_noted_too(plugin, dify_service):
    async def stuck(*_):
        await asyncio.sleep(30)

    dify_service.answers = [stuck]
    plugin.bases["a"] = dify(dify_service)
    call = asyncio.create_task(plugin.engine.retrieve(context(DIFY, creation=plugin.bases["a"])))
    while not dify_service.posts:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert plugin.journal.calls("")[0]["outcome"] == "CancelledError"


async def test_what_a_call_had_to_say_stands_beside_its_outcome(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service, search_mode="semantic")
    record = {"segment": {"id": "s", "content": "text"}, "score": 0.5}
    dify_service.answers = [reply(body={"records": [record, {"segment": {"content": " "}}]})]
    await search(plugin)
    [call] = (await say(plugin, "/overview"))["calls"]
    assert call["outcome"] == "ok"
    assert call["notes"] == ("1 of 2 records had no passage and were left out",)
