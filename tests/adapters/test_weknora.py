"""What WeKnora is sent, and what its answers become."""

import httpx
import pytest

from adapters import load_backend, retrieve
from adapters.weknora import WeKnoraOptions, _searchable
from bridge.errors import AuthError, BridgeError, NotFoundError, ResponseError, SettingsError, UnavailableError
from tests.adapters.asking import ask, sent
from tests.contract.cases import KEY, case_of
from tests.contract.stand_in import context, recording, service

CASE = case_of("weknora")
ID, OTHER = CASE.creation["dataset_id"], "00000000-0000-4000-8000-000000000002"
GOOD = "source__01_semantic"
PLAIN = {
    "query_text": "How long do refunds take?",
    "match_count": 100,
    "vector_threshold": 0,
    "skip_context_enrichment": True,
    "disable_keywords_match": True,
}


def record(ident="a", score=0.5, match_type=0, **more):
    return {
        "id": ident,
        "content": f"text of {ident}",
        "knowledge_id": f"document of {ident}",
        "knowledge_title": "returns.txt",
        "score": score,
        "match_type": match_type,
        **more,
    }


def answer(*records):
    return {"success": True, "data": list(records) or None}


def failed(code, message, details=None):
    return {"success": False, "error": {"code": code, "message": message, "details": details}}


def without(payload, name, **more):
    return {key: value for key, value in payload.items() if key != name} | more


@pytest.mark.parametrize(
    ("settings", "payload"),
    [
        ({}, PLAIN),
        ({"top_k": 3}, PLAIN | {"match_count": 3}),
        ({"top_k": 0}, PLAIN | {"match_count": 5}),
        ({"score_threshold": 0.6}, PLAIN | {"vector_threshold": 0.6}),
        ({"search_mode": "semantic"}, PLAIN),
        ({"search_mode": "full_text"}, without(PLAIN, "disable_keywords_match", disable_vector_match=True)),
        ({"search_mode": "hybrid"}, without(PLAIN, "disable_keywords_match")),
    ],
)
async def test_settings_in_weknoras_words(settings, payload, pool):
    assert await sent(CASE, GOOD, pool, retrieval=settings) == payload


async def test_the_key_goes_into_its_own_header(pool):
    _, [request] = await ask(CASE, GOOD, pool)
    assert request.headers["x-api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.url.path == f"/api/v1/knowledge-bases/{ID}/hybrid-search"


@pytest.mark.parametrize("mode", ["full_text", "hybrid"])
async def test_a_threshold_needs_a_similarity(mode, pool):
    with pytest.raises(SettingsError, match=f"score_threshold is not available with search_mode {mode}"):
        await ask(CASE, GOOD, pool, retrieval={"search_mode": mode, "score_threshold": 0.3})


@pytest.mark.parametrize("setting", [{"search_mode": "keyword"}, {"rerank": True}, {"vector_weight": 0.5}])
async def test_what_weknora_hasnt_is_refused(setting, pool):
    with pytest.raises(SettingsError, match=f"{next(iter(setting))} .*not available"):
        await ask(CASE, GOOD, pool, retrieval=setting)


@pytest.mark.parametrize(
    ("mode", "scores", "measure", "raw"),
    [
        ("auto", [0.5, 0.25], "similarity", None),
        ("semantic", [0.5, 0.25], "similarity", None),
        ("full_text", [None, None], None, 0.5),
        ("hybrid", [None, None], None, 0.5),
    ],
)
async def test_vectors_alone_give_scores(mode, scores, measure, raw, pool):
    records = record("a", 0.5), record("b", 0.25)
    response, _ = await ask(CASE, answer(*records), pool, retrieval={"search_mode": mode})
    assert [entry.score for entry in response.results] == scores
    first = response.results[0].metadata
    assert (first.get("measure"), first.get("raw_score")) == (measure, raw)


async def test_a_list_in_which_words_found_something_has_no_score(pool):
    response, _ = await ask(CASE, answer(record("a", 0.0164), record("b", 0.0048, match_type=1)), pool)
    assert [(entry.id, entry.score) for entry in response.results] == [("a", None), ("b", None)]


async def test_what_stands_around_a_hit_is_none(pool):
    around = [record(f"around {kind}", 0.9, match_type=kind) for kind in (2, 4, 5)]
    response, _ = await ask(CASE, answer(record("a"), *around), pool)
    assert [entry.id for entry in response.results] == ["a"]
    assert response.total_found == 1
    assert "notes" not in response.metadata


async def test_null_is_nothing_found(pool):
    response, _ = await ask(CASE, answer(), pool)
    assert (response.results, response.total_found) == ([], 0)


@pytest.mark.parametrize(
    "odd", [{"success": True}, {"success": True, "data": "x"}, {"data": []}, {"success": 1, "data": []}]
)
async def test_an_answer_without_its_envelope_is_an_error(odd, pool):
    with pytest.raises(ResponseError):
        await ask(CASE, odd, pool)


async def test_metadata_of_a_hit(pool):
    response, _ = await ask(CASE, "source__22_v0_7_custom_metadata", pool)
    assert response.results[0].metadata == {
        "document_name": "returns.txt",
        "document_id": "c57e2b90-61fa-4d38-8e0b-94a7d3f1526c",
        "dataset_id": ID,
        "position": 0,
        "measure": "similarity",
        "document_metadata": {"author": "shop", "region": "EU", "year": "2026"},
        "data_source_type": "file",
        "chunk_type": "text",
    }


@pytest.mark.parametrize(
    ("more", "name", "url"),
    [
        ({"knowledge_title": "", "knowledge_filename": "a.pdf"}, "a.pdf", None),
        ({"knowledge_source": "https://shop.test/a"}, "returns.txt", "https://shop.test/a"),
        ({"knowledge_custom_metadata": "link: https://shop.test/b"}, "returns.txt", "https://shop.test/b"),
        ({"knowledge_custom_metadata": "no line of its own"}, "returns.txt", None),
        ({"metadata": None}, "returns.txt", None),
    ],
)
async def test_names_and_links(more, name, url, pool):
    response, _ = await ask(CASE, answer(record(**more)), pool)
    found = response.results[0].metadata
    assert (found["document_name"], found.get("url"), found["dataset_id"]) == (name, url, ID)


async def test_several_bases_are_asked_side_by_side(pool):
    both = {"dataset_id": f"{ID}, http://h.test/platform/knowledge-bases/{OTHER}?tab=1"}
    response, came = await ask(CASE, answer(record("a", 0.4)), pool, creation=both)
    assert [request.url.path.split("/")[4] for request in came] == [ID, OTHER]
    assert len(response.results) == 1


@pytest.mark.parametrize(
    ("filters", "sends"),
    [
        ({"document_id": "d1"}, {"match_count": 5, "knowledge_ids": ["d1"]}),
        ({"document_id": {"$in": ["d1", "d2"]}}, {"match_count": 5, "knowledge_ids": ["d1", "d2"]}),
        ({"document_id": 7}, {"match_count": 5, "knowledge_ids": ["7"]}),
        ({"document_id": {"$ne": "d1"}}, {"match_count": 50}),
        ({"document_id": "d1", "region": "EU"}, {"match_count": 50, "knowledge_ids": ["d1"]}),
        ({"$or": [{"document_id": "d1"}, {"region": "EU"}]}, {"match_count": 50}),
        ({"region": "EU"}, {"match_count": 50}),
    ],
)
async def test_documents_are_filtered_there_and_all_else_in_a_wider_list(filters, sends, pool):
    payload = await sent(CASE, answer(), pool, filters=filters, retrieval={"top_k": 5})
    assert {name: payload[name] for name in ("match_count", "knowledge_ids") if name in payload} == sends


async def test_a_wider_list_ends_where_weknoras_does(pool):
    assert (await sent(CASE, answer(), pool, filters={"region": "EU"}))["match_count"] == 500


async def test_filters_are_checked_on_what_comes_back(pool):
    records = [record("a", knowledge_custom_metadata="region: EU\nyear: 2026"), record("b", metadata={"region": "US"})]
    for filters, ids in (
        ({"region": "EU"}, ["a"]),
        ({"year": {"$gte": 2025}}, ["a"]),
        ({"document_id": "document of b"}, ["b"]),
        ({"document_name": "other.txt"}, []),
    ):
        response, _ = await ask(CASE, answer(*records), pool, filters=filters)
        assert [entry.id for entry in response.results] == ids
    with pytest.raises(SettingsError, match="WeKnora neither filters nor returns tag"):
        await ask(CASE, answer(*records), pool, filters={"tag": "x"})


@pytest.mark.parametrize(
    ("name", "kind", "says", "requests"),
    [
        ("07_bad_key", AuthError, "refused .*sk-", 2),
        ("08_key_as_bearer_only", AuthError, "sk-", 1),
        ("09_key_without_retrieve", AuthError, "capability retrieve", 1),
        ("10_base_outside_key", AuthError, "may not read this knowledge base", 1),
        ("11_platform_key", SettingsError, "platform's key .*own workspace", 1),
        ("12_unknown_base", NotFoundError, "Check dataset_id", 1),
        ("14_bad_parameter", ResponseError, "SearchParams.match_count", 1),
        ("16_model_missing", SettingsError, "embedding model in WeKnora", 1),
        (
            "17_embedding_key_refused",
            UnavailableError,
            r"\(500: EmbedBatch API error: Http Status 401 Unauthorized\)",
            1,
        ),
        ("18_store_unavailable_as_400", UnavailableError, "vector store", 3),
        ("19_access_check_503", UnavailableError, "not ready", 3),
        ("20_panic_negative_count", ResponseError, "broke", 1),
        ("23_different_models", SettingsError, "embedding models", 1),
    ],
)
async def test_errors_say_what_to_do_and_only_passing_ones_are_repeated(name, kind, says, requests, pool, no_waiting):
    with service(CASE, recording("weknora", f"source__{name}")) as came, pytest.raises(kind, match=says):
        await retrieve(context(CASE), pool)
    assert len(came) == requests


async def refused(status, body, pool, **content):
    """The error of an answer that is none, and how many requests came."""
    told = httpx.Response(status, **({"json": body} if body is not None else content))
    with service(CASE, told) as came, pytest.raises(BridgeError) as caught:
        await retrieve(context(CASE), pool)
    return caught.value, len(came)


@pytest.mark.parametrize(
    ("status", "body", "kind", "requests"),
    [
        (500, failed(1007, "model is currently downloading"), UnavailableError, 1),
        (500, failed(1007, "EmbedBatch API error: Http Status 429 Too Many Requests"), UnavailableError, 2),
        (500, failed(1007, "Internal server error"), UnavailableError, 2),
        (500, failed(1007, "retriever type vector not found"), UnavailableError, 2),
        (400, failed(2200, "vector store bound to the knowledge base is not available"), SettingsError, 1),
        (401, {"error": "Unauthorized: missing authentication"}, AuthError, 1),
        (401, {"error": "Unauthorized: invalid API key format"}, AuthError, 1),
        (403, {"message": "Forbidden by the gateway"}, ResponseError, 1),
    ],
)
async def test_failures_that_were_not_recorded(status, body, kind, requests, pool, no_waiting):
    error, came = await refused(status, body, pool)
    assert (type(error), came) == (kind, requests)


async def test_what_a_provider_says_stays_inside(pool, no_waiting):
    told = 'send request: Post "http://10.0.0.5:8000/v1/embeddings?key=abc": dial tcp: refused for sk-provider***7'
    error, _ = await refused(500, failed(1007, told), pool)
    assert "(500: send request: Post dial tcp: refused for)" in str(error)


async def test_an_older_version_is_told_which_is_needed(pool):
    error, came = await refused(404, None, pool, text="404 page not found")
    assert (type(error), came) == (NotFoundError, 1)
    assert "v0.6.3" in str(error)
    assert "api_base_url" in str(error)


@pytest.mark.parametrize(
    ("told", "mode", "says"),
    [
        ({"indexing_strategy": {"vector_enabled": False}}, "auto", "without vectors.*full_text"),
        ({"indexing_strategy": {"keyword_enabled": False}}, "full_text", "index of words.*semantic"),
        ({"type": "faq"}, "full_text", "index of words"),
        ({"indexing_strategy": {"vector_enabled": False, "keyword_enabled": False}}, "hybrid", "neither .*in WeKnora"),
    ],
)
def test_a_search_that_can_find_nothing_is_named(told, mode, says):
    with pytest.raises(SettingsError, match=says):
        _searchable(told, WeKnoraOptions(search_mode=mode))


@pytest.mark.parametrize("wrong", ["handbook", "kb-00000001", ID[:-1]])
async def test_a_dataset_id_that_is_none(wrong, pool):
    with pytest.raises(SettingsError, match="dataset_id"):
        await ask(CASE, answer(), pool, creation={"dataset_id": wrong})


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("http://h.test:8080", "http://h.test:8080"),
        ("http://h.test/api/v1", "http://h.test"),
        (f"https://h.test/weknora/api/v1/knowledge-bases/{ID}/hybrid-search", "https://h.test/weknora"),
        (f"http://h.test/platform/knowledge-bases/{ID}", "http://h.test"),
        ("http://h.test/swagger/index.html", "http://h.test"),
        ("http://h.test/health", "http://h.test"),
    ],
)
def test_addresses_as_people_paste_them(pasted, meant):
    assert load_backend({**context(CASE).creation_settings, "api_base_url": pasted}, {}).api_base_url == meant
