"""Searches of the page: variants side by side, through LangBot by one-time tickets, and knowledge bases of others."""

import asyncio
import json

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from bridge.errors import SettingsError
from console.trials import TICKET, Trial
from console.watch import Watched
from tests.console.host import KEY, QUESTION, dify, retrieved, saved, say, search
from tests.recorded import FOUND
from tests.service import reply


async def test_variants_count_on_top_of_the_knowledge_bases_own_settings(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service)
    plugin.retrieval["a"] = {"search_mode": "semantic", "score_threshold": 0.2}
    answer = await say(
        plugin, "/search", knowledge_base="a", query=QUESTION, variants=[{}, {"search_mode": "full_text", "top_k": 2}]
    )
    one, other = answer["columns"]
    assert (one["ok"], one["error"], one["tries"], one["service"][:8]) == (True, "", 1, "Dify at ")
    assert one["settings"] | other["settings"] == other["settings"]
    assert (one["settings"]["search_mode"], one["settings"]["top_k"]) == ("semantic", 5)
    assert (other["settings"]["search_mode"], other["settings"]["score_threshold"]) == ("full_text", 0.2)
    assert len(other["entries"]) == 2
    models = [request.json["retrieval_model"] for request in dify_service.posts]
    assert [model["search_method"] for model in models] == ["semantic_search", "full_text_search"]
    calls = (await say(plugin, "/overview"))["calls"]
    assert [(call["origin"], call["trial"]) for call in calls] == [("page", True), ("page", False)]
    assert KEY not in json.dumps([answer, calls])


async def test_filters_reach_the_engine_and_the_ticket_does_not_reach_the_service(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service, search_mode="semantic")
    body = {"knowledge_base": "a", "query": QUESTION, "filters": {"document_name": "warranty.txt"}}
    column = (await say(plugin, "/search", **body))["columns"][0]
    assert {entry["title"] for entry in column["entries"]} == {"warranty.txt"}
    assert TICKET.encode() not in b"".join(request.body for request in dify_service.requests)


async def test_a_connection_is_searched_alone(plugin, dify_service):
    await saved(plugin, dify(dify_service))
    answer = await say(plugin, "/search", connection="shop", query=QUESTION, variants=[{"top_k": 1}, {"top_k": 3}])
    assert [len(column["entries"]) for column in answer["columns"]] == [1, 3]
    assert all(call.trial and call.connection == "shop" for call in plugin.journal.calls(""))
    assert (await say(plugin, "/overview"))["knowledge_bases"] == []
    missing = (await say(plugin, "/search", connection="shp", query=QUESTION))["columns"][0]
    assert (missing["ok"], missing["kind"]) == (False, "SettingsError")
    assert "Use one of: shop" in missing["error"]


async def test_an_error_names_its_settings(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service)
    column = await search(plugin, rerank=True, search_mode="keyword")
    assert (column["kind"], column["fields"]) == ("SettingsError", ["rerank", "search_mode"])
    dify_service.answers = [reply(401, {"code": "unauthorized", "message": f"no {KEY}"})]
    column = await search(plugin, search_mode="semantic")
    assert (column["kind"], column["fields"]) == ("AuthError", ["api_key"])
    assert KEY not in json.dumps(column)


async def test_a_base_of_another_plugin(plugin):
    async def theirs(*_, **__):
        return found

    async def fails(*_, **__):
        raise RuntimeError(f"ActionCallError: their key {KEY}")

    found = [{"id": "1", "content": [{"type": "text", "text": "theirs"}], "metadata": {}, "distance": 0.1}]
    plugin.retrieve_knowledge = theirs
    column = await search(plugin)
    assert (column["ok"], column["entries"][0]["text"]) == (True, "theirs")
    assert "another plugin" in column["notes"][0]
    found = []
    for answered in (theirs, fails):
        plugin.retrieve_knowledge = answered
        column = await search(plugin)
        assert (column["ok"], column["kind"]) == (False, "NotFoundError")
        assert "belongs to another plugin" in column["error"]
        assert KEY not in json.dumps(column)
    assert not plugin.trials._open


async def test_a_host_that_stops_waiting_says_so(plugin, dify_service):
    async def impatient(kb_id, query_text, top_k, filters):
        plugin.trials.take("", filters[TICKET])
        raise TimeoutError

    plugin.retrieve_knowledge = impatient
    column = await search(plugin)
    assert (column["kind"], "waited no longer" in column["error"]) == ("UnavailableError", True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": " "}, "blank"),
        ({"variants": [{}] * 4}, "variants"),
        ({"variants": "x"}, "variants"),
        ({"variants": [1]}, "variants"),
        ({"filters": "x"}, "filters"),
    ],
)
async def test_odd_searches_are_refused(body, said, plugin):
    answer = await say(plugin, "/search", **{"knowledge_base": "a", "query": "x"} | body)
    assert (answer["kind"], said in answer["error"]) == ("SettingsError", True)


# ---- tickets


async def test_a_ticket_is_good_once_and_for_its_installation_alone(plugin, dify_service):
    trial = Trial({"top_k": 1}, Watched())
    ticket = plugin.trials.issue("", trial)
    assert len(ticket) >= 32
    with pytest.raises(SettingsError):
        plugin.trials.take("other", ticket)
    context = RetrievalContext(
        query=QUESTION, knowledge_base_id="a", creation_settings=dify(dify_service), filters={TICKET: ticket}
    )
    assert len((await plugin.engine.retrieve(context)).results) == 1
    with pytest.raises(SettingsError, match="is over"):
        await plugin.engine.retrieve(context)
    assert len(dify_service.posts) == 1
    await plugin.on_installation_revoked(type("Binding", (), {"installation_uuid": ""})())
    assert not plugin.trials._open


async def test_a_trial_beside_a_pipelines_search_changes_nothing_of_it(plugin, dify_service):
    plugin.bases["a"] = dify(dify_service)
    plugin.retrieval["a"] = {"search_mode": "semantic"}
    dify_service.answers = [FOUND]
    _, pipeline = await asyncio.gather(search(plugin, top_k=1), retrieved(plugin))
    assert len(pipeline.results) == 4
