"""What RAGFlow is sent, and what its answers become."""

import httpx
import pytest

from adapters import Access, load_backend, retrieve
from bridge.errors import AuthError, BridgeError, NotFoundError, SettingsError, UnavailableError
from bridge.settings import whole
from tests.adapters.asking import ask, sent
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording, service

CASE = case_of("ragflow")
ID, OTHER = CASE.creation["dataset_id"], "aaaa0000bbbb1111cccc2222dddd3333"
PLAIN = {
    "question": "How long do refunds take?",
    "dataset_ids": [ID],
    "page": 1,
    "page_size": 100,
    "top_k": 1024,
    "similarity_threshold": 0,
    "reference_metadata": {"include": True},
}


def chunks(*found, **rest):
    return {"code": 0, "data": {"chunks": list(found), "doc_aggs": [], "total": len(found), **rest}}


def chunk(ident="c", score=0.5, **rest):
    return {"id": ident, "content": f"text of {ident}", "similarity": score, "document_keyword": "a.pdf", **rest}


async def test_the_plain_request(pool):
    assert await sent(CASE, "retrieval_basic", pool) == PLAIN


@pytest.mark.parametrize(
    ("retrieval", "changed"),
    [
        ({"top_k": 7}, {"page_size": 7}),
        ({"top_k": 500}, {"page_size": 100}),
        ({"candidates": 64}, {"top_k": 64}),
        ({"score_threshold": 0.3}, {"similarity_threshold": 0.3}),
        ({"search_mode": "semantic"}, {"vector_similarity_weight": 1}),
        ({"search_mode": "full_text"}, {"vector_similarity_weight": 0}),
        ({"search_mode": "hybrid"}, {}),
        ({"search_mode": "hybrid", "vector_weight": 0.6}, {"vector_similarity_weight": 0.6}),
        ({"vector_weight": "0"}, {"vector_similarity_weight": 0}),
        ({"rerank": True, "rerank_model": "r@x"}, {"rerank_id": "r@x"}),
        ({"rerank_model": "r@x"}, {}),
        ({"expand_query": True}, {"keyword": True}),
        ({"use_knowledge_graph": True}, {"use_kg": True}),
        ({"cross_languages": "English, 中文"}, {"cross_languages": ["English", "中文"]}),
    ],
)
async def test_settings_in_ragflows_words(retrieval, changed, pool):
    assert await sent(CASE, "retrieval_basic", pool, retrieval=retrieval) == {**PLAIN, **changed}


async def test_rerank_needs_a_model(pool):
    with pytest.raises(SettingsError, match="rerank_model"):
        await ask(CASE, "retrieval_basic", pool, retrieval={"rerank": True})


async def test_several_datasets_go_in_one_request(pool):
    body = await sent(CASE, "retrieval_basic", pool, creation={"dataset_id": f"{ID},{OTHER}"})
    assert body["dataset_ids"] == [ID, OTHER]


@pytest.mark.parametrize(
    ("where", "operator", "value"),
    [
        ({"a": "x"}, "is", "x"),
        ({"a": {"$ne": "x"}}, "≠", "x"),
        ({"a": {"$gte": 2022}}, "≥", 2022),
        ({"a": {"$in": ["x", "y"]}}, "in", ["x", "y"]),
        ({"a": {"$nin": ["x"]}}, "not in", ["x"]),
    ],
)
async def test_filters_in_ragflows_words(where, operator, value, pool):
    body = await sent(CASE, chunks(), pool, filters=where)
    condition = {"name": "a", "comparison_operator": operator, "value": value}
    assert body["metadata_condition"] == {"logic": "and", "conditions": [condition]}


async def test_document_ids_go_on_their_own_and_the_rest_is_checked_here(pool):
    found = [chunk("a", document_id="d1", document_metadata={"year": 2024}), chunk("b", document_id="d1")]
    where = {"document_id": {"$in": ["d1", "d2"]}, "year": 2024}
    response, [request] = await ask(CASE, chunks(*found), pool, filters=where)
    assert b'"document_ids":["d1","d2"]' in request.content
    assert b"metadata_condition" not in request.content
    assert [entry.id for entry in response.results] == ["a"]


@pytest.mark.parametrize(
    "where",
    [
        {"document_id": {"$ne": "d"}},
        {"$or": [{"document_id": "d"}, {"a": 1}]},
        {"document_id": {"$gte": "a", "$lte": "b"}},
    ],
)
async def test_document_filters_that_ragflow_cant_take(where, pool):
    with pytest.raises(SettingsError, match="document_id"):
        await ask(CASE, chunks(), pool, filters=where)


async def test_the_list_is_sorted_by_score_and_unscored_hits_stand_last(pool):
    found = [chunk("a", 0.2), chunk("b", None), chunk("c", 0.9), chunk("d", 0.2)]
    response, _ = await ask(CASE, chunks(*found), pool)
    assert [entry.id for entry in response.results] == ["c", "a", "d", "b"]


async def test_the_graphs_entry_stays_first(pool):
    found = [chunk("graph", 0.1, dataset_id=[ID, OTHER]), chunk("c", 0.9)]
    response, _ = await ask(CASE, chunks(*found), pool, retrieval={"use_knowledge_graph": True})
    assert [entry.id for entry in response.results] == ["graph", "c"]
    assert response.results[0].metadata["dataset_id"] == [ID, OTHER]


@pytest.mark.parametrize(
    "names",
    [
        {"document_keyword": "a.pdf", "document_id": "d", "dataset_id": ID, "image_id": "i-1"},
        {"docnm_kwd": "a.pdf", "doc_id": "d", "kb_id": ID, "img_id": "i-1"},
        {"document_name": "a.pdf", "document_id": "d", "dataset_id": ID, "image_id": "i-1"},
    ],
)
async def test_old_and_new_names(names, pool):
    response, _ = await ask(
        CASE, chunks({"chunk_id": "c", "content_with_weight": "words", "similarity": 1, **names}), pool
    )
    [entry] = response.results
    assert (entry.id, entry.content[0].text) == ("c", "words")
    wanted = {"document_name": "a.pdf", "document_id": "d", "dataset_id": ID, "image_id": "i-1"}
    assert wanted.items() <= entry.metadata.items()
    assert entry.metadata["image_url"] == "http://service.test/api/v1/documents/images/i-1"


async def test_links_to_documents_of_the_server_become_absolute(pool):
    content = '<img src="/v1/document/image/a-b"> [x](/api/v1/documents/images/a-b) [y](/docs/y)'
    response, _ = await ask(CASE, chunks(chunk(content=content)), pool)
    host = "http://service.test"
    made = f'<img src="{host}/v1/document/image/a-b"> [x]({host}/api/v1/documents/images/a-b) [y](/docs/y)'
    assert response.results[0].content[0].text == made


async def test_page_rank_is_clamped(pool):
    response, _ = await ask(CASE, "retrieval_pagerank", pool)
    assert response.results[0].score == 1.0
    assert response.results[0].metadata["raw_score"] > 1


@pytest.mark.parametrize(
    ("retrieval", "measure"),
    [
        ({}, "similarity"),
        ({"search_mode": "full_text"}, "text_rank"),
        ({"rerank": True, "rerank_model": "r@x"}, "rerank"),
    ],
)
async def test_the_kind_of_measure_is_told(retrieval, measure, pool):
    response, _ = await ask(CASE, "retrieval_basic", pool, retrieval=retrieval)
    assert {entry.metadata["measure"] for entry in response.results} == {measure}


async def test_nothing_indexed_is_an_empty_answer_with_a_hint(pool):
    response, _ = await ask(CASE, "retrieval_tenant_without_index", pool)
    assert response.results == []
    assert "parse the documents" in response.metadata["notes"][0]


@pytest.mark.parametrize(
    ("name", "kind", "says", "requests"),
    [
        ("retrieval_wrong_key", AuthError, "API key", 2),
        ("legacy_0_25_wrong_key", AuthError, "API key", 1),
        ("v0_24_retrieval_wrong_key", AuthError, "API key", 1),
        ("v0_24_retrieval_no_key", AuthError, "API key", 1),
        ("retrieval_embedding_key_rejected", UnavailableError, "model provider refused RAGFlow's own key", 1),
        ("retrieval_dataset_foreign", NotFoundError, "dataset_id", 1),
        ("retrieval_different_models", SettingsError, "embedding model", 1),
        ("retrieval_rerank_unknown", SettingsError, "rerank_model", 1),
        ("retrieval_keyword_without_chat_model", SettingsError, "chat model", 1),
        ("retrieval_embedding_overloaded", UnavailableError, "EmbeddingError", 2),
        ("retrieval_question_number", BridgeError, "TypeError", 1),
        ("path_doubled", NotFoundError, "api_base_url", 1),
    ],
)
async def test_errors_say_what_to_do_and_only_passing_ones_are_repeated(name, kind, says, requests, pool, no_waiting):
    with service(CASE, recording("ragflow", name)) as came, pytest.raises(kind, match=says):
        await retrieve(context(CASE), pool)
    assert len(came) == requests


@pytest.mark.parametrize("message", ["KeyError('results')", "ReadTimeout('reranker')", "EmbeddingError('busy')"])
async def test_a_failure_inside_mentions_the_reranker_where_one_is_asked_for(message, pool, no_waiting):
    told = httpx.Response(200, json={"code": 100, "data": None, "message": message})
    rerank = {"rerank": True, "rerank_model": "bge@Xinference"}
    for retrieval, mentioned in (({}, False), (rerank, True)):
        with service(CASE, told), pytest.raises(BridgeError) as failed:
            await retrieve(context(CASE, retrieval=retrieval), pool)
        assert ("rerank_model" in failed.value.remedy) is mentioned
        assert ("report" in failed.value.remedy) is (not mentioned and "KeyError" in message)


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("http://h.test:9380", ""),
        ("http://h.test:9380/api/v1/retrieval", ""),
        ("http://h.test:9380/v1/", ""),
        ("http://h.test:9380/knowledge", ""),
        ("http://h.test:9380/datasets", ""),
        ("http://h.test:9380/dataset/dataset/aaaa0000bbbb1111cccc2222dddd3333", ""),
        ("http://h.test:9380/dataset/dataset-setting/aaaa0000bbbb1111cccc2222dddd3333", ""),
        ("http://h.test:9380/knowledge/dataset?id=aaaa0000bbbb1111cccc2222dddd3333", ""),
        ("http://h.test:9380/rag/api/v1", "/rag"),
        ("http://h.test:9380/knowledge/ragflow", "/knowledge/ragflow"),
        ("http://h.test:9380/knowledge/ragflow/api/v1/", "/knowledge/ragflow"),
        ("http://h.test:9380/datasets/v1", "/datasets/v1"),
        ("http://h.test:9380/kb/knowledge", "/kb/knowledge"),
        ("http://h.test:9380/knowledge/.", "/knowledge"),
    ],
)
def test_addresses_as_people_paste_them(pasted, meant):
    made = load_backend({**context(CASE).creation_settings, "api_base_url": pasted}, {})
    assert made.api_base_url == f"http://h.test:9380{meant}"


@pytest.mark.parametrize("pasted", ["http://h.test/knowledge", "http://h.test/kb/", "http://h.test/knowledge/."])
def test_an_address_can_be_tried_whole(pasted):
    made = load_backend({**context(CASE).creation_settings, "api_base_url": whole(pasted)}, {})
    assert made.api_base_url == pasted.rstrip("/.")


@pytest.mark.parametrize("code", [{}, {"code": 102}, {"code": None}])
async def test_nothing_indexed_is_an_empty_answer_with_a_note_whatever_its_code(code, pool):
    told = {**code, "message": "No chunk found! Check the chunk status please!"}
    found, _ = await ask(CASE, told, pool)
    assert found.results == []
    assert found.metadata["notes"] == ["RAGFlow has nothing indexed for this user yet; parse the documents there"]


@pytest.mark.parametrize("code", [{}, {"code": 102}])
async def test_a_look_up_that_says_so_names_no_dataset(code, pool):
    told = httpx.Response(200, json={**code, "message": "No chunk found! Check the chunk status please!"})
    creation = {"backend": "ragflow", "api_key": "k", **CASE.creation}
    async with Access(pool).open(backend := load_backend(creation, {})) as http:
        with service(CASE, told):
            assert await backend.describe(http) == []
