"""How knowledge bases are doing."""

import time
from dataclasses import replace

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from bridge.errors import SettingsError, UnavailableError
from console.journal import Share
from console.overview import HOUR, RECENT, _health
from tests.console.host import dify, retrieved, say

GOOD = RetrievalResponse(results=[], total_found=0, metadata={"tries": 1})


def call(plugin, outcome=GOOD, **rest):
    made = RetrievalContext(query="x", knowledge_base_id="a", creation_settings={})
    kept = plugin.journal.add("", made, 0.0, outcome)
    return replace(kept, **{"milliseconds": 10, "at": time.time(), **rest})


def health(*calls):
    share = Share()
    for one in calls:
        share.add(one)
    return _health(share, time.time())


def failed(tries):
    return UnavailableError("x", "y").at("Dify at h", tries)


async def test_what_was_refused_unsent_and_trials_count_nowhere(plugin):
    good = [call(plugin, milliseconds=time) for time in (10, 20, 30)]
    sent = call(plugin, failed(3), milliseconds=40)
    unsent = call(plugin, failed(0), milliseconds=0)
    tried = call(plugin, trial=True, milliseconds=9999)
    told = health(*good, sent, unsent, tried)
    assert (told["rate"], told["median"], told["p95"], told["calls"]) == (75, 30, 40, 5)
    assert told["last"]["id"] == told["last_error"]["id"] == unsent.id
    assert len(told["recent"]) == 5


async def test_a_save_is_no_search(plugin):
    told = health(call(plugin, origin="save", milliseconds=50))
    assert (told["rate"], told["median"], told["last"]["origin"]) == (None, 50, "save")
    assert health(call(plugin, SettingsError("x", "y"), origin="save")) is None
    assert health(call(plugin, trial=True)) is None


async def test_what_is_older_than_an_hour_counts_no_longer(plugin):
    told = health(call(plugin, failed(1), at=time.time() - HOUR - 9), call(plugin, milliseconds=7))
    assert (told["rate"], told["median"], told["calls"]) == (100, 7, 1)
    told = health(*(call(plugin, milliseconds=number) for number in range(RECENT + 5)))
    assert [one["milliseconds"] for one in told["recent"]] == list(range(5, RECENT + 5))
    told = health(call(plugin, failed(1), at=time.time() - HOUR - 9))
    assert (told["rate"], told["median"], told["p95"], told["calls"]) == (None, None, None, 0)


async def test_failing_ones_come_first_and_others_last(plugin, dify_service):
    plugin.bases |= {"z": {}, "b": dify(dify_service), "a": dify(dify_service), "c": dify(dify_service, dataset_id="")}
    for base in ("a", "b", "c"):
        await retrieved(plugin, base)
    found = (await say(plugin, "/overview"))["knowledge_bases"]
    assert [(base["uuid"], base["mine"]) for base in found] == [("c", True), ("a", True), ("b", True), ("z", False)]
    assert (found[1]["backend"], found[1]["connection"], found[3]["health"]) == ("dify", "", None)
