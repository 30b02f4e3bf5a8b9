"""The imitated RAGFlow against recordings of RAGFlow's main branch after 0.27.0, and its pool, page, scores and filters."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sandbox import ragflow
from sandbox.corpus import Document, handbook
from sandbox.ids import hex32_of
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ragflow.datasets import RERANK_MODEL, TENANT
from sandbox.ranking import Index
from tests.sandbox.sandbox_exchanges import Exchange, difference, post

KEY = "ragflow-sandbox-0000"
PASSAGES = {passage.key: passage for passage in handbook()}


def dataset_id(name: str = "handbook") -> str:
    return hex32_of("ragflow", name)


def document_id(name: str, dataset: str = "handbook") -> str:
    return hex32_of("ragflow", dataset, name)


REPLACED = {
    "1d5a00bded1a11f1a000020000000001": dataset_id(),
    "1d5a00bbed1a11f1a000020000000001": dataset_id(),
    "1d5a00bced1a11f1a000020000000001": dataset_id(),
    "1d5a00bfed1a11f1a000020000000001": dataset_id("handbook-other-model"),
    "1d5a00c0ed1a11f1a000020000000001": dataset_id("handbook-ranked"),
    "1d5a00baed1a11f1a000020000000001": dataset_id("empty"),
    "1d5a00b8ed1a11f1a000020000000001": dataset_id("parents-and-children"),
    "1d5a00b4ed1a11f1a000020000000001": document_id("refund-policy.md"),
    "7e4a00c2ed1a11f1a000020000000001": TENANT,
    "ragflow-alice-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": KEY,
    "rank-stub@stub@OpenAI-API-Compatible": RERANK_MODEL,
    "embed-small@stub@OpenAI-API-Compatible": "sandbox-embedding@local",
    "embed-large@stub@OpenAI-API-Compatible": "sandbox-embedding-large@local",
    '"name": "author"': '"name": "category"',
    "Toby": "policy",
    "refund deadline": "clean fabric shades",
}
ANSWERS = [
    "path_double_slash",
    "path_trailing_slash",
    "retrieval_basic",
    "retrieval_children",
    "retrieval_chinese",
    "retrieval_cross_languages",
    "retrieval_dataset_repeated",
    "retrieval_document_ids",
    "retrieval_empty_dataset",
    "retrieval_empty_options",
    "retrieval_highlight_true",
    "retrieval_key_lowercase_bearer",
    "retrieval_key_without_bearer",
    "retrieval_keyword_true",
    "retrieval_many_page_9",
    "retrieval_metadata_condition_empty",
    "retrieval_metadata_condition_match",
    "retrieval_metadata_condition_no_match",
    "retrieval_no_common_words",
    "retrieval_page_0",
    "retrieval_page_size_0",
    "retrieval_page_size_100",
    "retrieval_page_size_text",
    "retrieval_pagerank",
    "retrieval_pagerank_threshold",
    "retrieval_question_blank",
    "retrieval_question_chunk",
    "retrieval_reference_metadata",
    "retrieval_rerank",
    "retrieval_terms_only",
    "retrieval_threshold_above_1",
    "retrieval_threshold_high",
    "retrieval_toc_enhance",
    "retrieval_top_k_20000",
    "retrieval_unknown_field",
    "retrieval_use_kg",
    "retrieval_vector_only",
    "retrieval_weight_above_1",
]
DATASETS = ["datasets_by_id", "datasets_by_ids", "datasets_list", "datasets_page_size_100"]
REFUSALS = [
    "body_empty",
    "body_list",
    "body_not_json",
    "body_text_plain",
    "datasets_id_malformed",
    "datasets_id_unknown",
    "datasets_no_key",
    "datasets_page_size_1000",
    "image_old_path",
    "method_get",
    "path_doubled",
    "path_v1",
    "path_without_api",
    "retrieval_dataset_foreign",
    "retrieval_dataset_id_malformed",
    "retrieval_dataset_ids_empty",
    "retrieval_dataset_ids_null",
    "retrieval_dataset_ids_string",
    "retrieval_dataset_mixed",
    "retrieval_dataset_unknown",
    "retrieval_different_models",
    "retrieval_document_ids_string",
    "retrieval_document_unknown",
    "retrieval_highlight_text",
    "retrieval_key_quoted",
    "retrieval_metadata_condition_malformed",
    "retrieval_no_dataset_ids",
    "retrieval_no_key",
    "retrieval_no_question",
    "retrieval_page_size_101",
    "retrieval_question_number",
    "retrieval_rerank_unknown",
    "retrieval_rerank_unknown_full",
    "retrieval_threshold_null",
    "retrieval_threshold_text",
    "retrieval_top_k_0",
    "retrieval_top_k_text",
    "retrieval_wrong_key",
]


async def retrieval(index: Index, question: str, dataset: str = "handbook", **more: Any) -> dict[str, Any]:
    body = {"question": question, "dataset_ids": [dataset_id(dataset)], **more}
    answer: dict[str, Any] = (await post(ragflow.app(index, KEY), "/api/v1/retrieval", body, KEY)).json()
    assert answer["code"] == 0, answer
    data: dict[str, Any] = answer["data"]
    return data


async def chunks(index: Index, question: str, dataset: str = "handbook", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await retrieval(index, question, dataset, **more))["chunks"]
    return found


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange = Exchange("ragflow", name, REPLACED)
    response = await exchange.replay(ragflow.app(index, KEY))
    assert response.status_code == exchange.status == 200, response.text
    assert response.headers["Content-Type"] == exchange.headers["Content-Type"]
    free = frozenset({"document_metadata", "important_keywords", "positions"})
    assert difference(response.json(), _with_parents(exchange.body), free) is None


def _with_parents(recorded: dict[str, Any]) -> dict[str, Any]:
    # The handbook mixes what stood in separate datasets when RAGFlow was recorded.
    chunks = recorded["data"]["chunks"]
    parents = Exchange("ragflow", "retrieval_children").body["data"]["chunks"][:1] if chunks else []
    return recorded | {"data": recorded["data"] | {"chunks": [*chunks, *parents]}}


@pytest.mark.parametrize("name", DATASETS)
async def test_datasets_have_the_recorded_shape(index: Index, name: str) -> None:
    exchange = Exchange("ragflow", name, REPLACED)
    response = await exchange.replay(ragflow.app(index, KEY))
    assert response.status_code == exchange.status
    assert difference(response.json(), exchange.body, frozenset({"parser_config"})) is None


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange = Exchange("ragflow", name, REPLACED)
    response = await exchange.replay(ragflow.app(index, KEY))
    assert response.status_code == exchange.status
    assert response.headers["Content-Type"] == exchange.headers["Content-Type"]
    assert response.json() == exchange.body
    assert exchange.body["code"] != 0


@pytest.mark.parametrize(
    "options", [{}, {"page_size": 5}, {"vector_similarity_weight": 1}, {"rerank_id": RERANK_MODEL}]
)
@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_first(
    index: Index, question: SampleQuestion, options: dict[str, Any]
) -> None:
    found = await chunks(index, question.text, **options)
    assert PASSAGES[question.passage].text in found[0]["content"]
    similarities = [one["similarity"] for one in found]
    assert similarities == sorted(similarities, reverse=True)


async def test_the_score_is_mixed_from_terms_and_shifted_cosine(index: Index) -> None:
    for weight in (0.3, 0.8, 2):
        for one in await chunks(index, "water damage warranty", vector_similarity_weight=weight):
            mixed = (1 - weight) * one["term_similarity"] + weight * one["vector_similarity"]
            assert one["similarity"] == pytest.approx(mixed)
            assert 0.5 <= one["vector_similarity"] <= 1
    assert (await chunks(index, PASSAGES["warranty.md#2"].text))[0]["vector_similarity"] == pytest.approx(1)


async def test_page_size_is_how_many_and_top_k_is_the_pool(index: Index) -> None:
    query = "warranties and repairing"
    every = await retrieval(index, query, similarity_threshold=0.0)
    assert len(every["chunks"]) > 5
    assert every["total"] >= len(every["chunks"])
    assert len(await chunks(index, query, similarity_threshold=0.0, page_size=3)) == 3
    # A pool of one vector leaves what shares a word with the question.
    starved = await retrieval(index, query, similarity_threshold=0.0, top_k=1)
    assert 1 <= starved["total"] < every["total"]


async def test_a_reranker_sees_no_more_than_whole_pages_of_top_k(index: Index) -> None:
    query: dict[str, Any] = {
        "question": "lamp warranty refund parcel shop",
        "similarity_threshold": 0.0,
        "page_size": 4,
    }
    few = await retrieval(index, **query, top_k=5, rerank_id=RERANK_MODEL)
    assert few["total"] == 8
    assert (await retrieval(index, **query, top_k=1024, rerank_id=RERANK_MODEL))["total"] > 8


async def test_pages_follow_each_other(index: Index) -> None:
    query: dict[str, Any] = {"question": "refund parcel warehouse", "similarity_threshold": 0.0, "page_size": 4}
    first, second = await chunks(index, **query), await chunks(index, **query, page=2)
    assert first[-1]["similarity"] >= second[0]["similarity"]
    assert {one["id"] for one in first}.isdisjoint(one["id"] for one in second)


async def test_a_threshold_cuts_unless_the_weight_is_zero(index: Index) -> None:
    query = "water damage warranty"
    every = await chunks(index, query, similarity_threshold=0.0)
    limit = every[0]["similarity"]
    assert len(await chunks(index, query, similarity_threshold=limit)) == 1
    by_terms = await chunks(index, query, similarity_threshold=0.99, vector_similarity_weight=0)
    assert [one["similarity"] for one in by_terms] == [one["term_similarity"] for one in by_terms] != []


async def test_a_page_rank_is_added(index: Index) -> None:
    plain, ranked = await chunks(index, "warranty"), await chunks(index, "warranty", "handbook-ranked")
    assert ranked[0]["similarity"] == pytest.approx(plain[0]["similarity"] + 10)


async def test_several_datasets_are_searched_together(index: Index) -> None:
    both = [dataset_id(), dataset_id("handbook-ranked")]
    found = await chunks(index, "Is water damage covered by the warranty?", dataset_ids=both, page_size=100)
    assert {one["dataset_id"] for one in found} == set(both)
    assert len({one["id"] for one in found}) == len(found)


async def test_a_graph_entry_comes_first_and_is_one_more(index: Index) -> None:
    first, again = [await chunks(index, "warranty", page_size=2, use_kg=True) for _ in range(2)]
    assert len(first) == 3
    assert first[0]["dataset_id"] == [dataset_id()]
    assert (first[0]["document_id"], first[0]["similarity"]) == ("", 1.0)
    assert first[0]["id"] != again[0]["id"]
    assert first[1:] == again[1:] == await chunks(index, "warranty", page_size=2)
    ranked = await chunks(index, "warranty", "handbook-ranked", use_kg=True)
    assert ranked == await chunks(index, "warranty", "handbook-ranked")


async def test_children_are_folded_into_their_parent(index: Index) -> None:
    data = await retrieval(index, "How do I clean shades?", "parents-and-children", similarity_threshold=0.0)
    assert data["total"] == 4
    assert len(data["chunks"]) == 2
    first = data["chunks"][0]
    assert first["content"] == PASSAGES["lamp-care.md#1"].text
    assert first["similarity"] == first["term_similarity"] == first["vector_similarity"]


async def test_aggregates_count_chunks_by_document(index: Index) -> None:
    data = await retrieval(index, "refund parcel warranty")
    counts = [one["count"] for one in data["doc_aggs"]]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == data["total"]


async def test_metadata_is_given_when_asked_for(index: Index) -> None:
    async def metadata(**more: Any) -> Any:
        return (await chunks(index, "water damage warranty", **more))[0].get("document_metadata")

    assert await metadata() is None
    assert await metadata(reference_metadata={"include": True}) == PASSAGES["warranty.md#2"].document.metadata
    assert await metadata(reference_metadata={"include": True, "fields": ["year"]}) == {"year": 2026}
    assert await metadata(include_metadata=True, metadata_fields=["category"]) == {"category": "policy"}


def _is_2025(document: Document) -> bool:
    return document.year == 2025


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("category", "is", "Policy", lambda d: d.category == "policy"),
        ("category", "=", "policy", lambda d: d.category == "policy"),
        ("category", "not is", "policy", lambda d: d.category != "policy"),
        ("category", "is not", "policy", lambda _: False),
        ("category", "contains", "OLIC", lambda d: d.category == "policy"),
        ("category", "not contains", "olic", lambda d: d.category != "policy"),
        ("category", "start with", "log", lambda d: d.category == "logistics"),
        ("category", "end with", "ics", lambda d: d.category == "logistics"),
        ("category", "in", ["shop", "FAQ"], lambda d: d.category in {"shop", "faq"}),
        ("category", "in", "shop, faq", lambda d: d.category in {"shop", "faq"}),
        ("category", "not in", ["shop"], lambda d: d.category != "shop"),
        ("category", "empty", "", lambda _: False),
        ("category", "not empty", "", lambda _: True),
        ("category", ">", 5, lambda _: False),
        ("nope", "is", "x", lambda _: False),
        ("year", "=", 2025, _is_2025),
        ("year", "is", "2025", _is_2025),
        ("year", "!=", 2025, lambda d: d.year != 2025),
        ("year", ">", 2025, lambda d: d.year > 2025),
        ("year", "<", 2025, lambda d: d.year < 2025),
        ("year", ">=", 2025, lambda d: d.year >= 2025),
        ("year", "≤", 2025, lambda d: d.year <= 2025),
        ("published", "before", 1735689600, lambda _: False),
    ],
)
async def test_a_condition_keeps_the_documents_it_describes(
    index: Index, name: str, operator: str, value: Any, expected: Callable[[Document], bool]
) -> None:
    condition = {"conditions": [{"name": name, "comparison_operator": operator, "value": value}]}
    found = await retrieval(index, "lamp", similarity_threshold=0.0, page_size=100, metadata_condition=condition)
    kept = {passage.document.name for passage in handbook() if expected(passage.document)}
    assert {one["document_keyword"] for one in found["chunks"]} == kept
    assert found["doc_aggs"] == {} or kept


async def test_conditions_are_joined_by_logic(index: Index) -> None:
    both = [
        {"name": "category", "comparison_operator": "is", "value": "policy"},
        {"name": "year", "comparison_operator": "is", "value": 2026},
    ]

    async def documents(logic: str) -> set[str]:
        condition = {"logic": logic, "conditions": both}
        found = await chunks(index, "lamp", similarity_threshold=0.0, page_size=100, metadata_condition=condition)
        return {one["document_keyword"] for one in found}

    assert await documents("and") == {"warranty.md"}
    assert await documents("or") > {"warranty.md", "refund-policy.md", "opening-hours.md"}


async def test_document_ids_win_over_a_condition(index: Index) -> None:
    condition = {"conditions": [{"name": "category", "comparison_operator": "is", "value": "nothing"}]}
    wanted = [document_id("shipping.md")]
    found = await chunks(index, "parcel", document_ids=wanted, metadata_condition=condition)
    assert {one["document_keyword"] for one in found} == {"shipping.md"}


async def test_ids_have_ragflows_shape(index: Index) -> None:
    for one in await chunks(index, "lamp", page_size=100):
        assert re.fullmatch("[0-9a-f]{16}", one["id"])
        assert re.fullmatch("[0-9a-f]{32}", one["document_id"])


async def test_an_unknown_parameter_of_the_list_is_refused(index: Index) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(ragflow.app(index, KEY))) as client:
        client.headers["Authorization"] = KEY
        refused = (await client.get("http://sandbox.test/api/v1/datasets?colour=blue")).json()
        named = (await client.get("http://sandbox.test/api/v1/datasets?name=empty")).json()
    assert refused == {
        "code": 101,
        "message": "Field: <colour> - Message: <Extra inputs are not permitted> - Value: <blue>",
    }
    assert [one["id"] for one in named["data"]] == [dataset_id("empty")]
