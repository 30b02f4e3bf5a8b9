"""The imitated Dify against recordings of Dify 1.14.2, and its scores, thresholds and filters."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sandbox import dify
from sandbox.corpus import Document, handbook
from sandbox.dify.datasets import MODEL_PROVIDER, RERANK_MODEL, plain_settings, weighted_settings
from sandbox.dify.payload import SearchMethod
from sandbox.ids import uuid_of
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.sandbox_exchanges import Exchange, difference, without_ids

KEY = "dataset-sandbox-0000"
PASSAGES = {passage.key: passage for passage in handbook()}
# What each recording of Dify calls the dataset that it asks.
RECORDED = {
    "00000000-0000-4000-8000-000000000001": "handbook",
    "00000000-0000-4000-8000-000000000006": "handbook-economy",
    "00000000-0000-4000-8000-000000000007": "handbook-weighted",
    "00000000-0000-4000-8000-000000000008": "external",
    "00000000-0000-4000-8000-000000000010": "parents-and-children",
    "00000000-0000-4000-8000-000000000011": "empty",
    "00000000-0000-4000-8000-000000000051": "questions-and-answers",
    "00000000-0000-4000-8000-000000000063": "api-off",
}
REPLACED = {old: uuid_of("dify", name) for old, name in RECORDED.items()} | {
    "dataset-FAKEKEY": KEY,
    "local/stub/stub": MODEL_PROVIDER,
    "stub-rerank": RERANK_MODEL,
    "stub-embedding": "sandbox-embedding",
}
ANSWERS = [
    "booleans-as-text",
    "empty-knowledge-base-keyword",
    "external-retrieval-model-null",
    "filter-and-no-match",
    "filter-no-conditions",
    "filter-number-at-most-text",
    "filter-or",
    "filter-string-in",
    "filter-string-in-text",
    "filter-unknown-field",
    "filter-wrong-place",
    "full-text",
    "full-text-no-hit",
    "full-text-threshold-on",
    "hit-testing-old-route",
    "hybrid-no-rerank",
    "hybrid-rerank-model-missing",
    "hybrid-reranked",
    "hybrid-weighted",
    "hybrid-weighted-broken-weights",
    "hybrid-weighted-embedding-missing",
    "hybrid-weighted-empty-model-names",
    "key-bearer-lowercase",
    "key-padded",
    "keyword-economy",
    "keyword-economy-top-k-0",
    "keyword-on-vectors",
    "no-retrieval-model",
    "query-250",
    "retrieval-model-minimal",
    "semantic",
    "semantic-reranked",
    "semantic-threshold-on-null",
    "semantic-threshold-on-too-high",
    "threshold-text",
    "top-k-text",
    "attachments-unknown",
    "unknown-extra-field",
]
FORMS = ["qa", "parent-child"]
REFUSALS = [
    "attachments-not-a-list",
    "body-array",
    "body-empty-object",
    "body-form",
    "body-none",
    "body-not-json",
    "dataset-api-off",
    "dataset-id-malformed",
    "dataset-id-without-hyphens",
    "dataset-unknown",
    "dataset-unknown-key-wrong",
    "economy-no-retrieval-model",
    "empty-knowledge-base",
    "external-full-retrieval-model",
    "external-no-retrieval-model",
    "filter-condition-without-name",
    "filter-unknown-logical-operator",
    "filter-unknown-operator",
    "full-text-on-economy",
    "get-dataset-key-wrong",
    "get-dataset-unknown",
    "key-basic",
    "key-of-an-app",
    "key-without-bearer",
    "method-get",
    "no-key",
    "own-settings-empty-object",
    "path-double-slash",
    "path-trailing-slash",
    "path-twice-v1",
    "path-without-v1",
    "query-251",
    "query-251-cjk",
    "query-empty",
    "query-missing",
    "query-null",
    "query-number",
    "query-with-nul-full-text",
    "rerank-model-missing",
    "retrieval-model-is-text",
    "retrieval-model-partial",
    "search-method-null",
    "search-method-unknown",
    "threshold-nonsense",
    "top-k-0",
    "top-k-fraction",
    "top-k-null",
]
DETAILS = [
    "get-dataset-vectors",
    "get-dataset-economy",
    "get-dataset-external",
    "get-dataset-empty",
    "get-dataset-parent-child",
    "list-datasets",
    "metadata-fields",
]


async def replayed(index: Index, name: str) -> tuple[Exchange, httpx.Response]:
    exchange = Exchange("dify", f"v1.14.2__{name}", REPLACED)
    return exchange, await exchange.replay(dify.app(index, KEY))


async def records(index: Index, query: str, dataset: str = "handbook", **settings: Any) -> list[dict[str, Any]]:
    body = {"query": query, "retrieval_model": plain_settings(SearchMethod.SEMANTIC, 5) | settings}
    found: list[dict[str, Any]] = (await post(index, dataset, body)).json()["records"]
    return found


async def post(index: Index, dataset: str, body: dict[str, Any]) -> httpx.Response:
    transport = httpx.ASGITransport(dify.app(index, KEY))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test/v1") as client:
        path = f"/datasets/{uuid_of('dify', dataset)}/retrieve"
        return await client.post(path, json=body, headers={"Authorization": f"Bearer {KEY}"})


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [record["segment"]["content"] for record in found]


def scores(found: list[dict[str, Any]]) -> list[float]:
    return [record["score"] for record in found]


@pytest.mark.parametrize("name", ANSWERS + FORMS + DETAILS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert response.status_code == exchange.status == 200, response.text
    for header in ("Content-Type", "X-Version"):
        assert response.headers[header] == exchange.headers[header]
    # Metadata is the owner's, and some recorded datasets have none; where both have fields all is compared.
    free = frozenset[str]() if name in {"get-dataset-vectors", "metadata-fields"} else frozenset({"doc_metadata"})
    assert difference(response.json(), _of_every_form(exchange.body), free) is None


def _of_every_form(recorded: dict[str, Any]) -> dict[str, Any]:
    # The handbook mixes what stood in separate datasets when Dify was recorded.
    for key, others in (("records", FORMS), ("data", ["get-dataset-vectors"])):
        if recorded.get(key):
            bodies = [Exchange("dify", f"v1.14.2__{name}").body for name in others]
            return recorded | {key: [*recorded[key], *(one for body in bodies for one in body.get(key, [body]))]}
    return recorded


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert response.status_code == exchange.status >= 300
    for header in ("Content-Type", "X-Version", "WWW-Authenticate"):
        assert response.headers.get(header) == exchange.headers.get(header)
    assert "X-Env" in response.headers
    found = response.json() if isinstance(exchange.body, dict) else response.text
    assert without_ids(str(found)).replace("sandbox.test", "dify.test") == without_ids(str(exchange.body))


async def test_a_doubled_slash_is_moved_to_an_absolute_address(index: Index) -> None:
    _, response = await replayed(index, "path-double-slash")
    target = f"http://sandbox.test/v1/datasets/{uuid_of('dify', 'handbook')}/retrieve"
    assert response.headers["Location"] == target


async def test_a_dataset_id_may_be_in_upper_case(index: Index) -> None:
    transport = httpx.ASGITransport(dify.app(index, KEY))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test/v1") as client:
        path = f"/datasets/{uuid_of('dify', 'handbook').upper()}"
        assert (await client.get(path, headers={"Authorization": f"Bearer {KEY}"})).status_code == 200


@pytest.mark.parametrize("method", ["semantic_search", "full_text_search", "hybrid_search"])
@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_first(index: Index, question: SampleQuestion, method: str) -> None:
    found = await records(index, question.text, search_method=method)
    assert texts(found)[0] == PASSAGES[question.passage].text


@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_by_weighted_scores_and_by_keywords(
    index: Index, question: SampleQuestion
) -> None:
    found = (await post(index, "handbook-weighted", {"query": question.text})).json()["records"]
    assert texts(found)[0] == PASSAGES[question.passage].text
    economy = await records(index, question.text, "handbook-economy", search_method="keyword_search")
    assert PASSAGES[question.passage].text in texts(economy)


async def test_each_method_has_its_own_scale(index: Index) -> None:
    query = "Is water damage covered by the warranty?"
    assert 0.3 < (await records(index, query))[0]["score"] <= 1
    assert 0 < (await records(index, query, search_method="full_text_search"))[0]["score"] < 0.1
    economy = await records(index, query, "handbook-economy", search_method="keyword_search")
    assert set(scores(economy)) == {0.0}


async def test_hybrid_without_fusion_joins_two_lists(index: Index) -> None:
    found = await records(index, "warranty", search_method="hybrid_search", top_k=2)
    similar = await records(index, "warranty", top_k=2)
    by_words = await records(index, "warranty", search_method="full_text_search", top_k=2)
    assert set(texts(found)) == {*texts(similar), *texts(by_words)}
    assert scores(found) == sorted(scores(found), reverse=True)
    one = await records(index, "shipping warehouse", search_method="hybrid_search", top_k=1)
    assert 1 <= len(one) <= 2


async def test_weights_add_up_and_cut_to_top_k(index: Index) -> None:
    query = "water damage warranty"
    above_one = weighted_settings(1.0, 2)
    above_one["weights"]["keyword_setting"]["keyword_weight"] = 1.0
    found = await records(index, query, **above_one)
    assert len(found) == 2
    assert found[0]["score"] > 1
    vectors_only = await records(index, query, **weighted_settings(1.0, 2))
    assert scores(vectors_only)[0] == (await records(index, query))[0]["score"]


async def test_a_threshold_counts_only_when_enabled_and_never_for_plain_text_rank(index: Index) -> None:
    query = "water damage warranty"
    every = await records(index, query)
    limit = every[0]["score"]
    assert await records(index, query, score_threshold=0.99) == every
    assert len(await records(index, query, score_threshold=limit, score_threshold_enabled=True)) == 1
    by_words = await records(index, query, search_method="full_text_search")
    kept = await records(
        index, query, search_method="full_text_search", score_threshold=0.9, score_threshold_enabled=True
    )
    assert kept == by_words != []


async def test_a_threshold_is_applied_to_similarity_and_again_to_the_reranker(index: Index) -> None:
    reranker = {"reranking_provider_name": MODEL_PROVIDER, "reranking_model_name": RERANK_MODEL}
    settings: dict[str, Any] = {"reranking_enable": True, "reranking_model": reranker}
    found = await records(index, "parcel refund days", **settings)
    assert max(scores(found)) > max(scores(await records(index, "parcel refund days")))
    assert scores(found) == sorted(scores(found), reverse=True)
    limit = (found[0]["score"] + max(scores(await records(index, "parcel refund days")))) / 2
    limited = settings | {"score_threshold_enabled": True, "score_threshold": limit}
    assert await records(index, "parcel refund days", **limited) == []


async def test_a_reranker_that_is_not_enabled_is_not_used(index: Index) -> None:
    reranker = {"reranking_provider_name": "langgenius/cohere/cohere", "reranking_model_name": "rerank-v3.5"}
    assert await records(index, "warranty", reranking_model=reranker) == await records(index, "warranty")


async def test_the_saved_settings_are_shown_and_used_when_none_are_sent(index: Index) -> None:
    omitted = (await post(index, "handbook-weighted", {"query": "warranty"})).json()
    shown = weighted_settings(0.7, 3)
    sent = (await post(index, "handbook-weighted", {"query": "warranty", "retrieval_model": shown})).json()
    assert omitted == sent
    assert len(omitted["records"]) == 3
    assert len((await post(index, "handbook", {"query": "warranty"})).json()["records"]) == 4


async def test_a_question_keeps_its_answer_apart(index: Index) -> None:
    segment = (await records(index, "Which payment methods are accepted?"))[0]["segment"]
    assert segment["content"] == "Which payment methods are accepted?"
    assert segment["answer"].startswith("Credit card")


async def test_children_collapse_into_their_parent(index: Index) -> None:
    found = await records(index, "shades", "parents-and-children", top_k=4)
    assert len(found) == 2
    for record in found:
        children = record["child_chunks"]
        assert record["score"] == max(child["score"] for child in children) == children[0]["score"]
        assert all(child["content"] in record["segment"]["content"] for child in children)
    assert len(await records(index, "shades", "parents-and-children", top_k=1)) == 1


async def test_every_id_is_unique_and_belongs_to_one_dataset(index: Index) -> None:
    found = await records(index, "lamp", top_k=100)
    ids = {record["segment"]["id"] for record in found}
    assert len(ids) == len(found) == len(handbook())
    elsewhere = await records(index, "lamp", "handbook-economy", search_method="keyword_search")
    assert ids.isdisjoint(record["segment"]["id"] for record in elsewhere)
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one) for one in ids)


def _is_2025(document: Document) -> bool:
    return document.year == 2025


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("category", "is", "policy", lambda d: d.category == "policy"),
        ("category", "is not", "policy", lambda d: d.category != "policy"),
        ("category", "contains", "olic", lambda d: d.category == "policy"),
        ("category", "not contains", "olic", lambda d: d.category != "policy"),
        ("category", "start with", "log", lambda d: d.category == "logistics"),
        ("category", "end with", "ics", lambda d: d.category == "logistics"),
        ("category", "in", ["shop", "faq"], lambda d: d.category in {"shop", "faq"}),
        ("category", "in", "shop, faq", lambda d: d.category in {"shop", "faq"}),
        ("category", "not in", ["shop"], lambda d: d.category != "shop"),
        ("category", "empty", None, lambda _: False),
        ("category", "not empty", None, lambda _: True),
        ("nope", "empty", None, lambda _: True),
        ("nope", "is not", "x", lambda _: False),
        ("category", "is", None, lambda _: True),
        ("year", "=", 2025, _is_2025),
        ("year", "=", "2025", _is_2025),
        ("year", "≠", 2025, lambda d: d.year != 2025),
        ("year", ">", 2025, lambda d: d.year > 2025),
        ("year", "<", 2025, lambda d: d.year < 2025),
        ("year", "≥", 2025, lambda d: d.year >= 2025),
        ("year", "≤", 2025, lambda d: d.year <= 2025),
        ("published", "after", 1735689600, lambda d: d.year > 2025),
        ("published", "before", 1735689600, lambda d: d.year < 2025),
    ],
)
async def test_a_filter_keeps_the_documents_it_describes(
    index: Index, name: str, operator: str, value: Any, expected: Callable[[Document], bool]
) -> None:
    condition = {"name": name, "comparison_operator": operator, "value": value}
    conditions = {"logical_operator": "and", "conditions": [condition]}
    found = await records(index, "lamp", top_k=100, metadata_filtering_conditions=conditions)
    assert {record["segment"]["document"]["name"] for record in found} == {
        passage.document.name for passage in handbook() if expected(passage.document)
    }


async def test_the_list_is_paged_and_searched_by_name(index: Index) -> None:
    transport = httpx.ASGITransport(dify.app(index, KEY))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test/v1") as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        first = (await client.get("/datasets?page=1&limit=5")).json()
        second = (await client.get("/datasets?page=2&limit=5")).json()
        named = (await client.get("/datasets?keyword=economy")).json()
    assert (first["has_more"], second["has_more"]) == (True, False)
    names = [dataset["name"] for dataset in first["data"] + second["data"]]
    assert len(set(names)) == len(names) == first["total"]
    assert [dataset["name"] for dataset in named["data"]] == ["handbook-economy"]
