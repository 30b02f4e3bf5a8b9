"""What AnythingLLM is sent, and what its answers become."""

import json

import httpx
import pytest
import respx

from adapters import load_backend, retrieve
from adapters.check import check
from bridge.errors import AuthError, NotFoundError, ResponseError, SettingsError, UnavailableError
from tests.adapters.asking import ask, sent
from tests.contract.cases import HOST, case_of
from tests.contract.stand_in import context, recording, service

CASE = case_of("anything_llm")
HEAD = "<document_metadata>\nsourceDocument: a.txt\npublished: 1/1/2026, 9:00:00 AM\n</document_metadata>\n\n"


def results(*found, **more):
    return {"results": list(found), **more}


def hit(text="a", **more):
    return {"text": text, "metadata": {"title": "t"}, **more}


def scores(response):
    return [entry.score for entry in response.results]


@pytest.mark.parametrize(
    ("settings", "body"),
    [
        ({"retrieval": {"top_k": 3}}, {"topN": 3, "scoreThreshold": 0}),
        ({"retrieval": {"top_k": 3, "score_threshold": 0.4}}, {"topN": 3, "scoreThreshold": 0.4}),
        ({"retrieval": {"top_k": 3}, "filters": {"title": "t"}}, {"topN": 100, "scoreThreshold": 0}),
    ],
    ids=["plain", "threshold", "filter"],
)
async def test_number_and_threshold_are_always_sent(settings, body, pool):
    assert await sent(CASE, results(hit(id="1", score=0.5)), pool, **settings) == {
        "query": "How long do refunds take?",
        **body,
    }


@pytest.mark.parametrize(
    ("pasted", "paths"),
    [
        ("support", ["support"]),
        ("http://h.test:3001/workspace/support", ["support"]),
        ("http://h.test/workspace/support/t/2b29b477?x=1, /workspace/other#top", ["support", "other"]),
        ("http://h.test/api/v1/workspace/support/vector-search", ["support"]),
        ("http://h.test/workspace/v1.0(b)%C3%A9", ["v1.0(b)é"]),
        ("support, support", ["support"]),
    ],
)
async def test_a_workspace_is_its_slug_or_its_pages_address(pasted, paths, pool):
    response, came = await ask(CASE, results(hit(score=0.5)), pool, creation={"dataset_id": pasted})
    assert sorted(httpx.URL(request.url).path for request in came) == sorted(
        f"/api/v1/workspace/{slug}/vector-search" for slug in paths
    )
    assert {entry.metadata["dataset_id"] for entry in response.results} == set(paths)


async def test_a_slug_stays_one_part_of_the_path(pool):
    _, [request] = await ask(CASE, results(), pool, creation={"dataset_id": "a%2Fb%3Fc"})
    assert request.url.raw_path == b"/api/v1/workspace/a%2Fb%3Fc/vector-search"


@pytest.mark.parametrize("pasted", ["My Workspace", "http://h.test:3001", "http://h.test/workspace/"])
async def test_what_holds_no_slug_is_refused(pasted, pool):
    with pytest.raises(SettingsError, match=r"dataset_id .* /workspace/"):
        await ask(CASE, results(), pool, creation={"dataset_id": pasted})


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("http://h.test:3001", "http://h.test:3001"),
        ("h.test:3001/", "http://h.test:3001"),
        ("http://h.test:3001/api", "http://h.test:3001"),
        ("http://h.test:3001/API/V1/", "http://h.test:3001"),
        ("http://h.test:3001/api/docs/", "http://h.test:3001"),
        ("http://h.test:3001/v1", "http://h.test:3001"),
        ("https://h.test/workspace/support/settings/vector-database", "https://h.test"),
        ("https://h.test/llm/settings/api-keys", "https://h.test/llm"),
        ("https://h.test/login?nt=1", "https://h.test"),
    ],
)
def test_addresses_as_people_paste_them(pasted, meant):
    assert load_backend({**context(CASE).creation_settings, "api_base_url": pasted}, {}).api_base_url == meant


# ---- scores


async def test_a_far_passage_is_scored_by_its_distance(pool):
    response, _ = await ask(CASE, "search_threshold_0_all", pool)
    assert scores(response)[-4:] == [0, 0, 0, 0]
    assert scores(response) == sorted(scores(response), reverse=True)
    assert {entry.metadata["measure"] for entry in response.results} == {"similarity"}


@pytest.mark.parametrize(("distance", "score"), [(0, 1), (0.25, 0.75), (1, 0), (1.5, 0), (-1e-9, 1)])
async def test_a_score_is_what_its_distance_leaves(distance, score, pool):
    told = 1 if distance >= 1 else 1 - abs(distance)
    response, _ = await ask(CASE, results(hit(distance=distance, score=told)), pool)
    assert scores(response) == [score]
    assert response.results[0].metadata["measure"] == "similarity"


async def test_a_threshold_cuts_what_the_service_let_pass_with_a_made_up_score(pool):
    response, _ = await ask(CASE, "search_threshold_0_4", pool, retrieval={"score_threshold": 0.4})
    assert len(response.results) == 4
    assert min(scores(response)) >= 0.4


async def test_without_distances_a_one_behind_a_lower_score_is_none(pool):
    found = [hit(str(n), score=score) for n, score in enumerate([1, 1, 0.5, 1, 0.25, 1])]
    response, _ = await ask(CASE, results(*found), pool)
    assert scores(response) == [1, 1, 0.5, None, 0.25, None]
    assert [entry.metadata.get("measure") for entry in response.results][2:4] == ["similarity", None]


async def test_a_reranked_list_keeps_its_order_and_is_called_so(pool):
    response, _ = await ask(CASE, "rerank_topn_50", pool)
    assert {entry.metadata["measure"] for entry in response.results} == {"rerank"}
    assert scores(response)[0] == pytest.approx(0.9996646)
    assert scores(response)[-1] == pytest.approx(0.0179862)


async def test_a_threshold_means_the_similarity_also_where_the_workspace_reranks(pool):
    found = [
        hit("near, reranked low", distance=0.4, score=0.02),
        hit("far, reranked high", distance=0.9, score=0.95),
        hit("unlike, let pass as 1", distance=1.2, score=0.9),
    ]
    response, _ = await ask(CASE, results(*found), pool, retrieval={"score_threshold": 0.5})
    assert [(entry.content[0].text, entry.score) for entry in response.results] == [("near, reranked low", 0.02)]


async def test_several_workspaces_are_merged_by_true_scores(pool):
    answers = {
        "one": results(hit("a", distance=0.5, score=0.5), hit("far", distance=1.2, score=1)),
        "two": results(hit("b", distance=0.25, score=0.75), hit("c", distance=0.9, score=0.1)),
    }
    assert await _together(answers, pool) == ["b", "a", "c", "far"]


async def test_a_reranking_workspace_and_a_plain_one_are_merged_in_turns(pool):
    answers = {
        "one": results(hit("a", distance=0.5, score=0.5), hit("b", distance=0.6, score=0.4)),
        "two": results(hit("x", distance=0.3, score=0.99), hit("y", distance=0.2, score=0.98)),
    }
    assert await _together(answers, pool) == ["a", "x", "b", "y"]


async def _together(answers, pool):
    def told(request):
        return httpx.Response(200, json=answers[request.url.path.split("/")[4]])

    with respx.mock() as router:
        router.post(url__startswith=HOST).mock(side_effect=told)
        response = await retrieve(context(CASE, creation={"dataset_id": ",".join(answers)}), pool)
    return [entry.content[0].text for entry in response.results]


async def test_vectors_of_no_use_are_said(pool):
    response, _ = await ask(CASE, "indexed_by_embedder_that_ignores_base64", pool)
    assert scores(response) == [None, None]
    assert "embedder" in response.metadata["notes"][0]


# ---- passages


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (f"{HEAD}Some words.", "Some words."),
        (f"search_document: {HEAD}Some words.", "Some words."),
        ("passage: Some words.", "Some words."),
        ("note: Some words.", "note: Some words."),
        (f"Words about {HEAD[:19]} alone.", f"Words about {HEAD[:19]} alone."),
        (f"A first line\n{HEAD}and more.", f"A first line\n{HEAD}and more."),
    ],
)
async def test_what_stands_there_for_the_embedder_is_taken_off(written, read, pool):
    response, _ = await ask(CASE, results(hit(written, score=0.5)), pool)
    assert response.results[0].content[0].text == read


async def test_a_header_without_a_passage_is_left_out(pool):
    response, _ = await ask(CASE, results(hit(HEAD, score=0.6), hit(score=0.5)), pool)
    assert scores(response) == [0.5]
    assert "1 of 2 records" in response.metadata["notes"][0]


async def test_what_the_header_says_stands_in_the_metadata(pool):
    head = HEAD.replace("</", "source: https://x.test/a\n</")
    response, _ = await ask(CASE, results({"text": f"{head}words", "score": 0.5}), pool)
    told = response.results[0].metadata
    assert told["document_name"] == "a.txt"
    assert told["url"] == "https://x.test/a"
    assert told["document_metadata"] == {
        "title": "a.txt",
        "published": "1/1/2026, 9:00:00 AM",
        "source": "https://x.test/a",
    }


@pytest.mark.parametrize(
    ("url", "source", "shown"),
    [
        ("https://x.test/a", "link://https://x.test/a", "https://x.test/a"),
        ("file:///srv/a", "link://https://x.test/a", "https://x.test/a"),
        ("file:///srv/a", "localfile://a", None),
        ("file:///srv/a", "", None),
        ("file:///srv/a", "link://file:///srv/a", None),
        ("file:///srv/a", "confluence://https://inner.test?token=abc", None),
    ],
)
async def test_only_a_web_address_is_a_link(url, source, shown, pool):
    found = {"text": "a", "score": 0.5, "metadata": {"title": "t", "url": url, "chunkSource": source}}
    response, _ = await ask(CASE, results(found), pool)
    told = response.results[0].metadata
    assert told.get("url") == shown
    assert "token" not in json.dumps(told)


async def test_ids_are_taken_only_where_they_are_unique(pool):
    found = [hit("a", id="d", score=0.9), hit("b", id="d", score=0.8), hit("c", score=0.7), hit("e", id="x", score=0.6)]
    ids = [entry.id for entry in (await ask(CASE, results(*found), pool))[0].results]
    assert ids[3] == "x"
    assert [len(ident) for ident in ids[:3]] == [32, 32, 32]
    assert len(set(ids)) == 4
    assert ids == [entry.id for entry in (await ask(CASE, results(*found), pool))[0].results]


async def test_a_filter_is_checked_on_what_is_returned(pool):
    response, _ = await ask(CASE, "search_defaults", pool, filters={"title": "refund-policy.txt"})
    assert [entry.metadata["document_name"] for entry in response.results] == ["refund-policy.txt"]
    with pytest.raises(SettingsError, match="neither filters nor returns category"):
        await ask(CASE, "search_defaults", pool, filters={"category": "policy"})


# ---- nothing, and failures


@pytest.mark.parametrize(
    ("name", "retrieval", "says"),
    [
        ("workspace_empty", {}, "No embeddings found for this workspace; add documents"),
        ("rerank_model_not_downloadable", {}, "its reranker failed"),
        ("search_no_match_words", {"score_threshold": 0.25}, None),
    ],
)
async def test_nothing_says_what_may_be_behind_it(name, retrieval, says, pool):
    response, _ = await ask(CASE, name, pool, retrieval=retrieval)
    assert response.results == []
    notes = response.metadata.get("notes", [])
    assert len(notes) == bool(says)
    assert not says or says in notes[0]


@pytest.mark.parametrize(
    ("name", "kind", "says", "requests"),
    [
        ("key_wrong", AuthError, "Settings > API keys.*database", 2),
        ("workspace_unknown", NotFoundError, "dataset_id.*slug", 1),
        ("query_blank", ResponseError, "Query parameter cannot be empty", 1),
        ("embedder_unreachable", UnavailableError, "embedder, chat provider and vector store", 2),
        ("path_doubled", ResponseError, "a web page.*api_base_url", 1),
        ("body_not_json", ResponseError, "status 400", 1),
    ],
)
async def test_errors_say_what_to_do_and_only_passing_ones_are_repeated(name, kind, says, requests, pool, no_waiting):
    with service(CASE, recording("anything_llm", name)) as came, pytest.raises(kind, match=says):
        await retrieve(context(CASE), pool)
    assert len(came) == requests


@pytest.mark.parametrize(
    ("reply", "kind", "remedy"),
    [
        (httpx.Response(500, html="<html><h1>500 Internal Server Error</h1></html>"), UnavailableError, "embedder"),
        (httpx.Response(403, html="<html>Forbidden</html>"), ResponseError, "database"),
        (httpx.Response(403, json={"message": "Forbidden by policy"}), ResponseError, "database"),
        (httpx.Response(200, html="<html><title>Sign in</title></html>"), ResponseError, "3001"),
        (httpx.Response(400, json={"message": "bad request"}), ResponseError, "slug"),
    ],
)
async def test_what_stands_in_front_is_not_taken_for_anythingllm(reply, kind, remedy, pool, no_waiting):
    with service(CASE, reply) as came, pytest.raises(kind) as failed:
        await retrieve(context(CASE), pool)
    assert remedy not in failed.value.remedy
    assert len(came) == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("workspace", "Support: 6 documents, ranked by similarity"),
        ("workspace_get_empty", "Empty: 0 documents, ranked by similarity"),
    ],
)
async def test_a_workspace_is_described(answer, says, pool):
    assert await _described(recording("anything_llm", answer)["response"], pool) == ("dataset", "ok", says)


async def test_a_workspace_that_reranks_says_so(pool):
    told = {"workspace": [{"name": "Shop", "vectorSearchMode": "rerank", "documents": None}]}
    assert await _described(told, pool) == ("dataset", "ok", "Shop: its documents not told, reranked")


@pytest.mark.parametrize("told", [{"workspace": []}, {"workspace": "x"}, {"workspace": [7, {}]}, {}, []])
async def test_an_unknown_workspace_is_not_found(told, pool):
    name, state, says = await _described(told, pool)
    assert (name, state) == ("dataset", "failed")
    assert "dataset support" in says


async def _described(answer, pool):
    """What the check says of the workspace."""
    asked = context(CASE)
    with respx.mock(assert_all_called=False) as router:
        router.get(f"{HOST}/api/v1/workspace/support").respond(json=answer)
        router.post(url__startswith=HOST).respond(json=results(hit(score=0.5)))
        steps = [step async for step in check(asked.creation_settings, asked.retrieval_settings, pool)]
    [step] = [step for step in steps if step.name == "dataset"]
    return step.name, step.state, step.text


async def test_options_that_it_lacks_are_refused(pool):
    for name, value in (("search_mode", "hybrid"), ("rerank", True), ("vector_weight", 0.5)):
        with pytest.raises(SettingsError, match=f"{name} .* not available"):
            await ask(CASE, results(), pool, retrieval={name: value})
    await ask(CASE, results(hit(score=0.5)), pool, retrieval={"search_mode": "semantic"})
