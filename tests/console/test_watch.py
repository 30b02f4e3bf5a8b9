"""Calls that are watched and stopped: steps as they end, which try, and requests that really end."""

import asyncio
from dataclasses import replace

import pytest

from adapters import load_backend
from console.watch import CALLS, KEPT, Stopped, Watches
from tests.console.host import dify, saved, say
from tests.recorded import FOUND
from tests.service import reply, until_hung_up

ENDPOINTS = ["/test", "/connections/save", "/search"]
GOOD = {"known": True, "done": True, "trying": None}


async def until(holds):
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - the service is not ours to wait for
            await asyncio.sleep(0.005)


async def begun(plugin, endpoint, service, **rest):
    """A watched call whose search hangs."""
    service.answers = [until_hung_up]
    body = {"call": "c1", "name": "shop", "query": "refunds", "settings": dify(service), **rest}
    call = asyncio.create_task(say(plugin, endpoint, **body))
    await until(lambda: service.posts)
    return call


async def searching(plugin, service, through):
    """What a search of the page asks, with a connection or a knowledge base through LangBot."""
    await saved(plugin, dify(service, search_mode="semantic"))
    plugin.bases["a"] = {"backend": "connection", "connection": "shop"}
    return {"connection": "shop"} if through == "connection" else {"knowledge_base": "a"}


@pytest.mark.parametrize("endpoint", ["/test", "/connections/save"])
async def test_a_test_that_hangs_is_seen_and_stopped(endpoint, plugin, dify_service):
    call = await begun(plugin, endpoint, dify_service)
    seen = await say(plugin, "/progress", call="c1")
    assert (seen["known"], seen["done"], seen["answer"]) == (True, False, None)
    assert [step["name"] for step in seen["steps"]] == ["settings", "address", "key", "dataset"]
    assert await say(plugin, "/stop", call="c1") == {"ok": True, "known": True}
    stopped = {"ok": False, "kind": "Stopped", "error": "stopped", "fields": []}
    assert await call == stopped
    await until(lambda: dify_service.hung_up)
    seen = await say(plugin, "/progress", call="c1")
    assert (seen["done"], seen["answer"], len(seen["steps"])) == (True, stopped, 4)
    assert plugin.stored == {}
    task = asyncio.current_task()
    assert task
    assert task.cancelling() == 0


@pytest.mark.parametrize("through", ["connection", "knowledge base"])
async def test_a_search_that_hangs_is_stopped_in_the_engine_too(through, plugin, dify_service):
    asked = await searching(plugin, dify_service, through)
    answers = [FOUND]
    dify_service.answers = answers
    variants = [{}, {"search_mode": "semantic", "top_k": 2}]
    first = await say(plugin, "/search", query="refunds", variants=variants[:1], **asked)
    assert first["columns"][0]["ok"]
    dify_service.turn, dify_service.answers = 0, [FOUND, until_hung_up]
    call = asyncio.create_task(say(plugin, "/search", call="c1", query="refunds", variants=variants, **asked))
    await until(lambda: len(dify_service.posts) == 3)
    assert len((await say(plugin, "/progress", call="c1"))["columns"]) == 1
    await say(plugin, "/stop", call="c1")
    assert (await call)["kind"] == "Stopped"
    await until(lambda: dify_service.hung_up)
    last = plugin.journal.calls("")[0]
    assert (last.outcome, last.trial) == ("Stopped", True)


async def test_which_try_and_why_the_last_failed_is_seen(plugin, dify_service):
    dify_service.answers = [reply(503, b"<html>busy</html>"), until_hung_up]
    call = asyncio.create_task(say(plugin, "/test", call="c1", settings=dify(dify_service), query="refunds"))
    await until(lambda: len(dify_service.posts) == 2)
    trying = (await say(plugin, "/progress", call="c1"))["trying"]
    assert trying["tries"] == 2
    assert "503" in trying["text"]
    await say(plugin, "/stop", call="c1")
    await call


async def test_a_try_that_worked_is_told_no_longer(plugin, dify_service):
    told = []
    dify_service.looked_up = None
    dify_service.answers = [reply(503, b"busy"), FOUND]

    def tried(tries, error):
        told.append((tries, error is None))

    backend = load_backend(dify(dify_service), {"search_mode": "semantic"})
    async with replace(plugin.access(), watch=tried).open(backend) as http:
        await backend.search(backend.question("x"), http)
    assert told == [(2, False), (2, True)]


async def test_an_answer_that_the_page_missed_can_be_asked_for(plugin, dify_service):
    answer = await say(plugin, "/test", call="c1", settings=dify(dify_service), query="refunds")
    seen = await say(plugin, "/progress", call="c1")
    assert {name: seen[name] for name in GOOD} == GOOD
    assert (seen["answer"], seen["steps"]) == (answer, answer["steps"])
    assert answer["entries"]


@pytest.mark.parametrize("call", ["", None])
async def test_a_call_without_an_id_is_not_watched(call, plugin, dify_service):
    await say(plugin, "/test", call=call, settings=dify(dify_service))
    assert (await say(plugin, "/progress", call=call))["known"] is False
    assert (await say(plugin, "/stop", call=call))["known"] is False


async def test_one_installation_neither_sees_nor_stops_anothers(plugin):
    with plugin.watches.watching("t1", "c1"):
        assert plugin.watches.progress("t2", "c1")["known"] is False
        assert plugin.watches.stop("t2", "c1") is False
        assert plugin.watches.progress("t1", "c1")["known"] is True
        await plugin.on_installation_revoked(type("Binding", (), {"installation_uuid": "t1"})())
        assert plugin.watches.progress("t1", "c1")["known"] is False


async def test_what_is_kept_is_bounded_in_number_and_time():
    now = [0.0]
    watches = Watches(lambda: now[0])
    for number in range(CALLS + 1):
        with watches.watching("", str(number)):
            now[0] += 1
    assert [watches.progress("", call)["known"] for call in ("0", "1")] == [False, True]
    assert watches.progress("", "1")["seconds"] == 1
    now[0] += KEPT
    with watches.watching("", "new"):
        assert [watches.progress("", call)["known"] for call in ("1", str(CALLS), "new")] == [False, True, True]


async def test_work_that_begins_after_the_stop_does_not_begin():
    with Watches().watching("", "c") as watched:
        watched.stop()
        with pytest.raises(Stopped), watched.working():
            raise AssertionError


async def test_another_cancellation_is_no_stop(plugin, dify_service):
    call = await begun(plugin, "/test", dify_service)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await say(plugin, "/progress", call="c1"))["done"] is True
