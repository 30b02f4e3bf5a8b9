"""What the last calls came to."""

import asyncio
import json
from collections import Counter

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from bridge.errors import BridgeError, SettingsError
from bridge.settings import HIDDEN
from console.journal import BASES, CALLS
from tests.console.host import DIFY, KEY, dify, retrieved, say, search
from tests.contract.stand_in import context, recording
from tests.service import reply


def with_version(version):
    return reply(body=recording("dify", "v1.14.2__semantic")["response"], headers={"X-Version": version})


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
    assert failed["tries"] > good["tries"] == 1
    assert good["service"].startswith("Dify at 127.0.0.1:")
    assert (failed["origin"], failed["trial"], good["measure"]) == ("page", False, "similarity")
    assert "refunds" not in json.dumps(overview)
    assert KEY not in json.dumps(overview)


async def test_query_texts_only_while_they_are_wanted(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service)
    assert (await say(plugin, "/queries", on=True))["queries"] is True
    await search(plugin)
    assert (await say(plugin, "/overview"))["calls"][0]["query"] == "How long do refunds take?"
    await say(plugin, "/queries", on=False)
    assert (await say(plugin, "/overview"))["calls"][0]["query"] == ""


def noted(plugin, base="a", outcome=None, tenant="", **rest):
    made = RetrievalContext(query="x", knowledge_base_id=base, creation_settings={})
    return plugin.journal.add(tenant, made, 0.0, outcome or SettingsError("x", "y"), **rest)


def bases_of(calls):
    return Counter(call.knowledge_base for call in calls)


async def test_one_noisy_knowledge_base_pushes_nobody_out(plugin):
    noted(plugin, "quiet")
    for _ in range(10_000):
        noted(plugin, "noisy")
    assert bases_of(plugin.journal.calls("")) == {"noisy": CALLS, "quiet": 1}


async def test_of_many_knowledge_bases_the_one_longest_without_a_call_goes_first(plugin):
    for number in range(BASES):
        noted(plugin, str(number))
    noted(plugin, "0")
    noted(plugin, "new")
    assert bases_of(plugin.journal.calls("")).keys() == {"0", "new", *map(str, range(2, BASES))}


async def test_the_last_error_stays_when_its_call_has_left(plugin):
    failed = noted(plugin)
    good = RetrievalResponse(results=[], total_found=0)
    for _ in range(CALLS + 5):
        noted(plugin, outcome=good)
    calls = plugin.journal.calls("")
    assert calls[-1] is failed
    assert bases_of(calls) == {"a": CALLS + 1}
    plugin.bases["a"] = {}
    health = (await say(plugin, "/overview"))["knowledge_bases"][0]["health"]
    assert (health["last_error"]["id"], health["last"]["outcome"]) == (failed.id, "empty")


async def test_pages_and_filters(plugin):
    with_notes = RetrievalResponse(results=[], total_found=0, metadata={"notes": ["cut"]})
    for number in range(45):
        noted(plugin, outcome=with_notes if number == 7 else None)
    noted(plugin, "b")

    async def ask(**asked):
        answer = await say(plugin, "/overview", **asked)
        return len(answer["calls"]), answer["total"], answer["page"], answer["pages"]

    assert await ask() == (20, 46, 0, 3)
    assert await ask(page=2) == (6, 46, 2, 3)
    assert await ask(page=99) == (6, 46, 2, 3)
    assert await ask(page="x") == (20, 46, 0, 3)
    assert await ask(knowledge_base="b") == (1, 1, 0, 1)
    assert await ask(outcome="failed", knowledge_base="a") == (20, 44, 0, 3)
    assert await ask(outcome="warning") == await ask(outcome="empty") == (1, 1, 0, 1)
    assert await ask(outcome="ok") == (0, 0, 0, 1)


async def test_the_settings_that_counted_stand_there_without_what_is_secret_or_the_callers(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service, api_base_url=dify_service.base + "/v1?code=secret-1", verify_tls="")
    plugin.retrieval["a"] = {"search_mode": "semantic", "unknown": 1, "rerank_model": None}
    dify_service.answers = [with_version("1.14.2")]
    await retrieved(plugin)
    answer = await say(plugin, "/overview")
    [call] = answer["calls"]
    assert call["settings"] == {
        "backend": "dify",
        "dataset_id": DIFY.creation["dataset_id"],
        "api_base_url": f"{dify_service.base}/v1?{HIDDEN}",
        "search_mode": "semantic",
        "top_k": 5,
    }
    assert (call["origin"], call["version"]) == ("search", "1.14.2")
    assert answer["knowledge_bases"][0]["retrieval"] == {"search_mode": "semantic", "top_k": 5}
    for secret in (KEY, "secret-1", "person-9"):
        assert secret not in json.dumps(answer)


async def test_an_error_knows_the_version_too(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service, search_mode="semantic")
    dify_service.answers = [reply(401, {"code": "unauthorized", "message": "x"}, {"X-Version": "1.9.2"})]
    await retrieved(plugin)
    [call] = plugin.journal.calls("")
    assert (call.outcome, call.version, call.tries) == ("AuthError", "1.9.2", 1)


# ---- saves


async def test_a_refused_save_is_noted_with_its_reason_and_forgotten_when_one_works(plugin, dify_service):
    plugin.bases["a"] = {}
    refused = [
        (dify(dify_service, dataset_id=""), "SettingsError", "dataset_id is missing"),
        ({"backend": "connection", "connection": "shp"}, "SettingsError", "connection 'shp' is not there"),
        (dify(dify_service, api_base_url="ftp://x"), "SettingsError", "api_base_url must start with"),
        (dify(dify_service, api_base_url="http://127.0.0.1:9"), "UnavailableError", "the connection was refused"),
    ]
    for number, (config, kind, reason) in enumerate(refused, 1):
        with pytest.raises(BridgeError):
            await plugin.engine.on_knowledge_base_create("a", config)
        answer = await say(plugin, "/overview")
        call = answer["calls"][0]
        assert (call["origin"], call["outcome"], answer["total"]) == ("save", kind, number)
        assert reason in call["text"]
        [base] = answer["knowledge_bases"]
        assert (base["refused"], base["mine"], base["health"]) == (call, False, None)
    await plugin.engine.on_knowledge_base_create("a", dify(dify_service))
    answer = await say(plugin, "/overview")
    assert (answer["calls"][0]["origin"], answer["calls"][0]["outcome"], answer["total"]) == ("save", "ok", 5)
    [base] = answer["knowledge_bases"]
    assert (base["refused"], base["mine"], base["health"]["rate"]) == (None, True, None)
    assert KEY not in json.dumps(answer)


async def test_a_save_without_a_test_clears_the_refusal_too(plugin, dify_service):
    plugin.bases["a"] = {}
    with pytest.raises(SettingsError):
        await plugin.engine.on_knowledge_base_create("a", dify(dify_service, dataset_id=""))
    await plugin.engine.on_knowledge_base_create("a", dify(dify_service, check_on_save=False))
    answer = await say(plugin, "/overview")
    assert (answer["total"], answer["knowledge_bases"][0]["refused"]) == (1, None)
    assert dify_service.requests == []


async def test_installations_see_their_own_calls_and_leave_nothing(plugin):
    plugin.journal.keep_queries("t1", on=True)
    noted(plugin, tenant="t1")
    assert plugin.journal.calls("t2") == []
    assert (await say(plugin, "/overview"))["calls"] == []
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
    assert plugin.journal.calls("")[0].outcome == "CancelledError"


async def test_what_a_call_had_to_say_stands_beside_its_outcome(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service, search_mode="semantic")
    record = {"segment": {"id": "s", "content": "text"}, "score": 0.5}
    dify_service.answers = [reply(body={"records": [record, {"segment": {"content": " "}}]})]
    await search(plugin)
    [call] = (await say(plugin, "/overview"))["calls"]
    assert call["outcome"] == "ok"
    assert call["notes"] == ("1 of 2 records had no passage and were left out",)
