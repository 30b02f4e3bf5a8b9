"""What Dify's answers become."""

from typing import Any

import httpx
import pytest
import respx

from adapters import Pool, retrieve
from bridge.errors import BridgeError, NotFoundError, UnavailableError
from tests.contract.cases import case_of
from tests.contract.stand_in import answer, context, recording, service

CASE = case_of("dify")


async def entries(name: str, pool: Pool, **retrieval: Any) -> Any:
    with service(CASE, recording("dify", name)):
        return (await retrieve(context(CASE, retrieval=retrieval), pool)).results


async def test_hits_that_contradict_the_filters_are_dropped(pool):
    """1.13.3 drops the conditions and returns everything."""
    told = recording("dify", "v1.13.3__filter-string-is")
    with service(CASE, told):
        whole = await retrieve(context(CASE), pool)
        found = await retrieve(context(CASE, filters={"category": "policy"}), pool)
    categories = [entry.metadata["document_metadata"].get("category") for entry in whole.results]
    assert len(set(categories)) > 1
    assert [e.metadata["document_metadata"]["category"] for e in found.results] == ["policy"] * categories.count(
        "policy"
    )
    assert any("did not match the filters" in note for note in found.metadata["notes"])


async def test_questions_carry_their_answers(pool):
    [first, *_] = await entries("v1.14.2__qa", pool)
    record = recording("dify", "v1.14.2__qa")["response"]["records"][0]["segment"]
    assert first.content[0].text == f"{record['content']}\n{record['answer']}"
    assert first.metadata["answer"] == record["answer"]


async def test_parents_carry_their_children(pool):
    [first, *_] = await entries("v1.14.2__parent-child", pool)
    record = recording("dify", "v1.14.2__parent-child")["response"]["records"][0]
    assert first.content[0].text == record["segment"]["content"]
    assert first.metadata["child_chunks"] == record["child_chunks"]


async def test_summaries_and_files_stay_in_the_metadata(pool):
    summary = recording("dify", "v1.14.2__summary-hit")["response"]["records"][0]["summary"]
    files = recording("dify", "v1.14.2__files-hit")["response"]["records"][0]["files"]
    assert (await entries("v1.14.2__summary-hit", pool))[0].metadata["summary"] == summary
    assert (await entries("v1.14.2__files-hit", pool))[0].metadata["files"] == files


@pytest.mark.parametrize(
    ("version", "signature"),
    [("v1.13.3", "?timestamp=1767225600&nonce=0&sign=FAKE"), ("v1.14.2", "")],
)
async def test_links_to_files_become_absolute_and_are_signed_where_dify_signs_them(version, signature, pool):
    [picture, *_] = await entries(f"{version}__files-hit", pool)
    [file] = picture.metadata["files"]
    link = f"http://service.test/files/{file['id']}/file-preview{signature}"
    assert picture.content[0].text == f"Wiring diagram of the pump ![pump]({link})"


async def test_the_cloud_serves_files_at_a_host_of_their_own(pool):
    segment = {"id": "s", "content": '<a href="/files/1">x</a>', "answer": "![](/files/2) [x](/docs)"}
    with respx.mock(base_url="https://api.dify.ai", assert_all_called=False) as router:
        router.get(url__regex=".*").respond(json={})
        router.post(f"/v1/datasets/{CASE.creation['dataset_id']}/retrieve").respond(
            json={"records": [{"segment": segment, "score": 0.5}]}
        )
        [found] = (await retrieve(context(CASE, creation={"api_base_url": "https://cloud.dify.ai"}), pool)).results
    files = "https://upload.dify.ai/files"
    assert found.content[0].text == f'<a href="{files}/1">x</a>\n![]({files}/2) [x](/docs)'


@pytest.mark.parametrize("name", ["v1.9.2__keyword-economy", "v1.14.2__keyword-economy"])
async def test_keyword_hits_are_unscored(name, pool):
    found = await entries(name, pool, search_mode="keyword")
    assert len(found) >= 1
    assert {(entry.score, entry.distance) for entry in found} == {(None, 1.0)}
    assert all("measure" not in entry.metadata for entry in found)


@pytest.mark.parametrize(
    ("retrieval", "measure"),
    [
        ({"search_mode": "semantic"}, "similarity"),
        ({"search_mode": "full_text"}, "text_rank"),
        ({"search_mode": "hybrid"}, "similarity"),
        ({"search_mode": "semantic", "rerank": True, "rerank_model": "a/b"}, "rerank"),
    ],
)
async def test_the_kind_of_measure_is_told(retrieval, measure, pool):
    assert {entry.metadata["measure"] for entry in await entries("v1.14.2__semantic", pool, **retrieval)} == {measure}


async def test_a_full_text_list_without_ranks_is_unscored(pool):
    told = recording("dify", "v1.14.2__full-text")
    for record in told["response"]["records"]:
        record["score"] = 0.0
    with service(CASE, told):
        found = await retrieve(context(CASE, retrieval={"search_mode": "full_text"}), pool)
    assert {entry.score for entry in found.results} == {None}


async def test_logits_are_clamped_and_kept(pool):
    found = await entries("v1.14.2__semantic-reranked-logits", pool)
    assert found[0].score == 1.0
    assert found[0].metadata["raw_score"] > 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("v1.14.2__key-of-an-app", "Dify 1.14.2 at .*Service API"),
        ("v1.14.2__dataset-api-off", "API access"),
        ("v1.12.1__dataset-of-another-workspace", "permission"),
        ("v1.14.2__rate-limit-request-3", "60 s"),
        ("v1.14.2__dataset-unknown", "dataset_id"),
        ("v1.14.2__path-without-v1", "/v1"),
        ("v1.14.2__semantic-on-economy", "economy"),
        ("v1.14.2__provider-not-installed", "langgenius/openai/openai.*models"),
        ("v1.14.2__path-double-slash", "redirects to http"),
        ("v1.9.2__retrieval-model-partial", "Dify 1.9.2"),
    ],
)
async def test_errors_say_what_to_do(name, says, pool, no_waiting):
    with service(CASE, recording("dify", name)), pytest.raises(BridgeError, match=says):
        await retrieve(context(CASE), pool)


async def test_a_page_that_is_not_difys_is_told_apart(pool):
    told = answer(recording("dify", "v1.14.2__path-without-v1"))
    del told.headers["X-Version"]
    with service(CASE, told), pytest.raises(NotFoundError, match=r"not Dify's API.*api_base_url"):
        await retrieve(context(CASE), pool)


@pytest.mark.parametrize(
    ("name", "requests"),
    [
        ("v1.14.2__key-wrong", 1),
        ("v1.14.2__rate-limit-request-3", 1),
        ("v1.14.2__query-251", 1),
        ("v1.14.2__provider-down", 2),
        ("v1.14.2__infra-database-down", 2),
        ("v1.14.2__external-full-retrieval-model", 1),
    ],
)
async def test_only_what_may_pass_is_tried_again(name, requests, pool, no_waiting):
    with service(CASE, recording("dify", name)) as calls, pytest.raises(BridgeError):
        await retrieve(context(CASE), pool)
    assert sum(call.method == "POST" for call in calls) == requests


async def test_a_failure_inside_mentions_the_reranker_where_one_is_asked_for(pool, no_waiting):
    told = httpx.Response(500, json={"code": "unknown", "message": "Internal Server Error", "status": 500})
    for retrieval, mentioned in (({}, False), ({"rerank": True, "rerank_model": "a/b/c/d"}, True)):
        with service(CASE, told), pytest.raises(UnavailableError) as failed:
            await retrieve(context(CASE, retrieval=retrieval), pool)
        assert ("rerank_model" in failed.value.remedy) is mentioned
