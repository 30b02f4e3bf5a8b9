"""The imitated RAGFlow against recordings of RAGFlow's main branch after 0.27.0."""

from typing import Any

import pytest

from sandbox import ragflow
from sandbox.ragflow.datasets import RERANK_MODEL, TENANT
from sandbox.ranking import Index
from tests.sandbox.exchanges import Exchange, difference
from tests.sandbox.ragflow.asking import KEY, dataset_id, document_id

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
