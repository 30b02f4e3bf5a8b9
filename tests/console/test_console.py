"""The plugin's page: what it is told, what is kept, and what happens when the storage or an admin gets in the way."""

import asyncio
import json

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from bridge.errors import BridgeError, SettingsError
from components.knowledge_engine.engine import DifyEngine, RemoteEngine
from console import api
from console.connections import PREFIX
from console.journal import CALLS
from main import KnowledgeBridge
from scripts.page import PAGE, page
from tests.contract.cases import CASES
from tests.contract.stand_in import context, recording
from tests.service import Service, reply

[DIFY] = [case for case in CASES if case.backend == "dify"]
[FASTGPT] = [case for case in CASES if case.backend == "fastgpt"]
FOUND = reply(body=recording("dify", "v1.14.2__semantic")["response"])
DATASET = reply(body=recording("dify", "v1.14.2__get-dataset-vectors")["response"])
KEY = "dataset-console-Secret-88"


class Plugin(KnowledgeBridge):
    """The plugin with a host of its own: storage in a dict, knowledge bases in a list."""

    def __init__(self):
        super().__init__()
        self.stored: dict[str, bytes] = {}
        self.broken = ""
        self.engine: RemoteEngine
        self.bases: dict[str, dict[str, object]] = {}

    def fail(self, what):
        if what in self.broken:
            raise RuntimeError(f"ActionCallError: sql internals {KEY}")

    async def set_plugin_storage(self, key, value):
        self.fail("write")
        await asyncio.sleep(0)
        self.stored[key] = value

    async def get_plugin_storage(self, key):
        self.fail("read")
        if key not in self.stored:
            raise RuntimeError(f"Storage with key {key} not found")
        return self.stored[key]

    async def get_plugin_storage_keys(self):
        self.fail("keys")
        return list(self.stored)

    async def delete_plugin_storage(self, key):
        self.fail("delete")
        self.stored.pop(key, None)

    async def list_knowledge_bases(self):
        return [{"uuid": name, "name": f"KB {name}"} for name in self.bases]

    async def retrieve_knowledge(self, kb_id, query_text, top_k=5, filters=None):
        try:
            answer = await self.engine.retrieve(
                RetrievalContext(
                    query=query_text,
                    knowledge_base_id=kb_id,
                    creation_settings=self.bases[kb_id],
                    retrieval_settings={"top_k": top_k},
                )
            )
        except BridgeError as error:
            told = f"ActionCallError: [RetrievalError/ActionCallError] [kb_id={kb_id}] ActionCallError: "
            raise RuntimeError(f"{told}{type(error).__name__}: {error}") from None
        return answer.model_dump(mode="json")["results"]


@pytest.fixture
async def plugin():
    made = Plugin()
    await made.initialize()
    made.engine = RemoteEngine()
    made.engine.plugin = made
    await made.engine.initialize()
    yield made
    await made.close()


async def say(plugin, endpoint, **body):
    return await api.answer(plugin, endpoint, body)


def dify(service, **rest):
    return {"backend": "dify", "api_key": KEY, **DIFY.creation} | {"api_base_url": service.base} | rest


@pytest.fixture
async def dify_service():
    async with Service([FOUND], looked_up=DATASET) as service:
        yield service


async def saved(plugin, settings, name="shop", **rest):
    answer = await say(plugin, "/connections/save", name=name, settings=settings, **rest)
    assert answer["ok"], answer
    return answer["connection"]


async def search(plugin, kb="a"):
    return await say(plugin, "/search", knowledge_base=kb, query="How long do refunds take?")


async def test_a_connection_is_made_used_changed_and_its_key_never_shown(plugin, dify_service):
    made = await saved(plugin, dify(dify_service))
    plugin.bases["a"] = {"backend": "connection", "connection": "shop"}
    found = await search(plugin)
    assert found["entries"][0]["title"] == "refund-policy.txt"
    listed = await say(plugin, "/connections")
    [shown] = listed["connections"]
    assert (shown["has_key"], shown["used_by"]) == (True, ["KB a"])
    assert KEY not in json.dumps([made, listed, found])

    async with Service([reply(body=recording("fastgpt", "v4.14.13__embedding")["response"])]) as other:
        settings = {"backend": "fastgpt", "api_key": "fastgpt-x", **FASTGPT.creation, "api_base_url": other.base}
        await saved(plugin, settings, original="shop", revision=made["revision"])
        assert len((await search(plugin))["entries"]) > 1
        assert len(other.posts) == 1
    assert len(dify_service.posts) == 1


async def test_an_addresss_own_query_is_never_shown_and_stays_until_the_address_changes(plugin):
    secret = "code=Zm9vYmFyLXNlY3JldA"
    found = reply(body={"records": [{"content": "a", "title": "t", "score": 0.9}]})
    async with Service([found]) as kb:
        settings = {"backend": "external_knowledge", "api_base_url": f"{kb.base}/kb?{secret}", "dataset_id": "kb-1"}
        made = await saved(plugin, settings)
        plugin.bases["a"] = {"backend": "connection", "connection": "shop"}
        page = made["settings"]
        assert page["api_base_url"] == f"{kb.base}/kb?…"
        made = await saved(plugin, page, original="shop", revision=made["revision"])
        tested = await say(plugin, "/test", settings=page, original="shop")
        told = [made, tested, await search(plugin), await say(plugin, "/connections"), await say(plugin, "/overview")]
        assert {request.path for request in kb.requests} == {f"/kb/retrieval?{secret}"}
        assert secret not in json.dumps(told)
    moved = {**page, "api_base_url": f"{kb.base}/else?…"}
    refused = await say(plugin, "/connections/save", settings=moved, name="shop", original="shop")
    assert "enter it whole" in refused["error"]


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
    assert sorted(plugin.stored) == [f"{PREFIX}three", f"{PREFIX}two"]
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
    assert "connection 'shp' is not there. Use one of: shop" in found["reason"]
    plugin.stored.clear()
    assert "none yet" in (await search(plugin))["reason"]


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
        assert plugin.stored == before


@pytest.mark.parametrize("damage", [b"", b"\xff", b"[]", b'{"settings": 7}', b"{" * 5000])
async def test_damaged_data_is_named_never_saved_over_and_can_be_deleted(damage, plugin, dify_service):
    await saved(plugin, dify(dify_service), name="good")
    plugin.stored[f"{PREFIX}bad"] = damage
    listed = await say(plugin, "/connections")
    assert ([c["name"] for c in listed["connections"]], listed["damaged"]) == (["good"], ["bad"])
    assert not (await say(plugin, "/connections/save", name="bad", settings=dify(dify_service)))["ok"]
    assert plugin.stored[f"{PREFIX}bad"] == damage
    plugin.bases["a"] = {"backend": "connection", "connection": "bad"}
    assert "damaged" in (await search(plugin))["reason"]
    assert (await say(plugin, "/connections/delete", name="bad", revision=""))["ok"]


async def test_what_others_store_is_left_alone(plugin):
    plugin.stored["something/else"] = b"x"
    assert (await say(plugin, "/connections")) == {"ok": True, "connections": [], "damaged": []}


async def test_testing_shows_each_step_and_the_first_passages(plugin, dify_service):
    answer = await say(plugin, "/test", settings=dify(dify_service), query="refunds")
    assert [(step["name"], step["ok"]) for step in answer["steps"]] == [
        (name, True) for name in ("settings", "address", "key", "dataset", "search")
    ]
    assert answer["entries"][0]["title"] == "refund-policy.txt"
    dify_service.looked_up = reply(401, {"code": "unauthorized", "message": f"no {KEY}"})
    answer = await say(plugin, "/test", settings=dify(dify_service, api_key=KEY + "9"))
    assert [(s["name"], s["ok"]) for s in answer["steps"]] == [("settings", True), ("address", True), ("key", False)]
    assert KEY not in json.dumps(answer)


async def test_a_test_of_a_stored_connection_uses_its_key(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    await say(plugin, "/test", settings=dify(dify_service, api_key=""), original="shop")
    assert dify_service.posts[-1].headers["authorization"] == f"Bearer {KEY}"


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


def test_the_page_is_the_one_that_its_parts_make():
    assert PAGE.read_text("utf-8") == page()


def test_the_page_asks_nobody_else():
    text = page()
    assert [
        line for line in text.splitlines() if "://" in line and "www.w3.org" not in line and "FORMS" not in line
    ] == []
    assert text.count("<script src=") == 1
