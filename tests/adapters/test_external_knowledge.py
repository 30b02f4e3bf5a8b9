"""What a server of the external knowledge API is sent, and what its answers become."""

import logging

import httpx
import pytest

from adapters import load_backend, retrieve
from bridge.errors import AuthError, NotFoundError, SettingsError, UnavailableError
from tests.adapters.asking import ask, sent
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording, service
from tests.service import Service, reply

CASE = case_of("external_knowledge")


def records(*found):
    return {"records": list(found)}


async def test_exactly_the_four_names_are_sent(pool):
    body = await sent(CASE, "01_success", pool, retrieval={"top_k": 3, "score_threshold": 0.2})
    assert body == {
        "knowledge_id": "kb-1",
        "query": "How long do refunds take?",
        "retrieval_setting": {"top_k": 3, "score_threshold": 0.2},
    }


async def test_filters_say_their_logic_under_both_names(pool):
    body = await sent(CASE, records(), pool, filters={"$or": [{"a": "x"}, {"b": {"$gt": 3}}]})
    assert body["metadata_condition"] == {
        "logical_operator": "or",
        "logic": "or",
        "conditions": [
            {"name": "a", "comparison_operator": "is", "value": "x"},
            {"name": "b", "comparison_operator": ">", "value": 3},
        ],
    }


@pytest.mark.parametrize(
    "pasted", ["http://h.test/kb", "http://h.test/kb/", "http://h.test/kb/retrieval", "http://h.test/kb/retrieval/"]
)
def test_the_endpoint_is_taken_with_and_without_its_end(pasted):
    assert (
        load_backend({**context(CASE).creation_settings, "api_base_url": pasted}, {}).api_base_url == "http://h.test/kb"
    )


async def test_the_key_is_optional(pool):
    _, [request] = await ask(CASE, "01_success", pool, creation={"api_key": ""})
    assert "authorization" not in request.headers


async def test_ids_come_from_the_metadata_else_from_a_hash(pool):
    found = [
        {"content": "a", "title": "t", "score": 0.9, "metadata": {"chunk_id": "c1", "document_id": "d"}},
        {"content": "b", "title": "t", "score": 0.8, "metadata": {"segment_id": "s1"}},
        {"content": "c", "title": "t", "score": 0.7, "metadata": {"document_id": "d"}},
        {"content": "d", "title": "t", "score": 0.6, "metadata": {"document_id": "d"}},
    ]
    first, _ = await ask(CASE, records(*found), pool)
    again, _ = await ask(CASE, records(*found), pool)
    ids = [entry.id for entry in first.results]
    assert ids[:2] == ["c1", "s1"]
    assert len(set(ids)) == 4
    assert [len(ident) for ident in ids[2:]] == [32, 32]
    assert ids == [entry.id for entry in again.results]


async def test_sloppy_records_do_no_harm(pool):
    response, _ = await ask(CASE, "18_sloppy_records", pool)
    assert [entry.score for entry in response.results] == [0.5, None]
    assert "2 of 4 records" in response.metadata["notes"][0]


async def test_a_link_in_the_metadata_can_be_cited(pool):
    found = {"content": "a", "title": "t", "score": 0.9, "metadata": {"source": "https://x.test/a"}}
    response, _ = await ask(CASE, records(found), pool, retrieval={"cite_source": True})
    assert response.results[0].content[0].text == "Source: t (https://x.test/a)\na"


async def test_several_knowledge_ids_are_asked_side_by_side(pool):
    response, came = await ask(CASE, records({"content": "a", "score": 0.9}), pool, creation={"dataset_id": "x, y"})
    assert len(came) == 2
    assert [entry.metadata["dataset_id"] for entry in response.results] == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "kind", "says", "requests"),
    [
        ("04_error_1001_bad_header", AuthError, "api_key", 1),
        ("05_error_1002_refused", AuthError, "api_key", 1),
        ("06_error_2001_unknown_knowledge", NotFoundError, "dataset_id", 1),
        ("07_error_2001_with_http_200", NotFoundError, "dataset_id", 1),
        ("08_error_500", UnavailableError, "log", 2),
        ("11_ragflow_403_other_tenant", AuthError, "api_key", 1),
        ("12_ragflow_400_missing", SettingsError, "dataset_id", 1),
        ("16_llamacloud_wrong_key", UnavailableError, "api_key", 2),
    ],
)
async def test_errors_say_what_to_do(name, kind, says, requests, pool, no_waiting):
    with service(CASE, recording("external_knowledge", name)) as came, pytest.raises(kind, match=says):
        await retrieve(context(CASE), pool)
    assert len(came) == requests


async def test_options_that_the_protocol_lacks_are_refused(pool):
    for name, value in (("search_mode", "semantic"), ("rerank", True), ("vector_weight", 0.5)):
        with pytest.raises(SettingsError, match=f"{name} .* not available"):
            await ask(CASE, records(), pool, retrieval={name: value})


@pytest.mark.parametrize(
    ("status", "told", "kind", "says"),
    [
        (404, {"detail": "Knowledge base not found"}, NotFoundError, "Knowledge base not found.*dataset_id"),
        (404, {"detail": {"error_code": 2001, "error_msg": "unknown"}}, NotFoundError, "unknown.*dataset_id"),
        (500, {"detail": {"error_code": 2001, "error_msg": "unknown"}}, NotFoundError, "unknown.*dataset_id"),
        (403, {"detail": {"error_code": 1002, "error_msg": "bad key"}}, AuthError, "bad key"),
        (404, {"detail": "Not Found"}, NotFoundError, "no external knowledge API here.*api_base_url"),
        (
            200,
            {"code": 102, "message": "`dataset_ids` is required."},
            SettingsError,
            "`dataset_ids`.*api_base_url.*route",
        ),
        (
            422,
            {"detail": [{"type": "missing", "loc": ["body", "user_id"], "msg": "Field required"}]},
            SettingsError,
            "user_id: Field required.*api_base_url.*route",
        ),
        (400, {"message": "top_k too large"}, SettingsError, "top_k too large.*dataset_id and filters"),
    ],
)
async def test_errors_of_frameworks_are_read(status, told, kind, says, pool):
    with service(CASE, httpx.Response(status, json=told)) as came, pytest.raises(kind, match=says):
        await retrieve(context(CASE), pool)
    assert len(came) == 1


SECRET = "code=Zm9vYmFyLXNlY3JldA%3D%3D"


@pytest.mark.parametrize("pasted", ["/kb?{}", "/kb/retrieval?{}", "/kb/retrieval/?{}#top"])
async def test_the_endpoints_own_query_is_sent_and_shown_nowhere(pasted, pool, caplog):
    caplog.set_level(logging.DEBUG)
    echo = reply(400, {"message": f"no luck with POST /kb/retrieval?{SECRET}"})
    async with Service([reply(body=records({"content": "a", "score": 0.9})), echo]) as kb:
        made = context(CASE, creation={"api_base_url": kb.base + pasted.format(SECRET)})
        response = await retrieve(made, pool)
        with pytest.raises(SettingsError) as failed:
            await retrieve(made, pool)
    assert [request.path for request in kb.requests] == [f"/kb/retrieval?{SECRET}"] * 2
    loaded = load_backend(made.creation_settings, {})
    shown = (caplog.text, str(failed.value), repr(failed.value), response.model_dump_json(), repr(loaded), str(loaded))
    assert not [text for text in shown if "Zm9v" in text]


async def test_two_queries_are_two_identities(pool):
    with service(CASE, httpx.Response(200, json=records())) as came:
        for code in ("first-code", "second-code"):
            await retrieve(context(CASE, creation={"api_base_url": f"http://service.test/kb?code={code}"}), pool)
    assert [request.url.query for request in came] == [b"code=first-code", b"code=second-code"]
