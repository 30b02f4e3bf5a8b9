"""The imitated FastGPT against recordings of FastGPT 4.14.13, and what it refuses besides."""

import json
from typing import Any

import pytest

from sandbox import fastgpt
from sandbox.ranking import Index
from tests.sandbox.exchanges import Exchange, difference, post
from tests.sandbox.fastgpt.asking import KEY, SEARCH, dataset_id

REPLACED = {
    "66a1b2c3d4e5f60718293a01": dataset_id(),
    "66a1b2c3d4e5f60718293a02": dataset_id("empty"),
    "66a1b2c3d4e5f60718293a03": dataset_id("other-team"),
    "66a1b2c3d4e5f60718293a04": dataset_id(),
    "fastgpt-OK-KEY": KEY,
    "fastgpt-APPKEY-KEY": KEY,
}
ANSWERS = [
    "big_mixed_item_found_by_text_only",
    "chinese_mixed",
    "collectionFilterMatch_ignored",
    "defaults_only",
    "embedding",
    "embedding_extension",
    "embedding_json_array_text",
    "embedding_rerank",
    "empty_dataset",
    "fullText",
    "fullText_no_hit",
    "fullText_rerank",
    "key_app_level",
    "key_lowercase_scheme",
    "key_trailing_space",
    "key_with_app_suffix",
    "limit_0",
    "limit_5",
    "limit_60",
    "limit_99999",
    "mixed",
    "mixed_embeddingWeight0",
    "mixed_embeddingWeight1",
    "mixed_no_text_hit",
    "mixed_rerank",
    "mixed_rerank_weight1",
    "similarity_embedding",
    "similarity_fullText",
    "similarity_mixed",
    "similarity_mixed_rerank",
    "text_empty_accepted",
]
DATASETS = ["detail_ok", "list_ok", "list_app_key"]
REFUSALS = [
    "detail_bad_key",
    "detail_missing_id",
    "detail_unknown",
    "err_bad_dataset_id",
    "err_bad_json",
    "err_bad_key",
    "err_deep_search",
    "err_dify_key",
    "err_get_method",
    "err_key_many_dashes",
    "err_key_no_dash",
    "err_missing_dataset",
    "err_missing_text",
    "err_no_auth",
    "err_no_bearer",
    "err_other_team_dataset",
    "err_unknown_dataset",
    "limit_null",
    "limit_string",
    "list_get",
    "searchMode_unknown",
]


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange = Exchange("fastgpt", f"v4.14.13__{name}", REPLACED)
    response = await exchange.replay(fastgpt.app(index, KEY))
    assert response.status_code == exchange.status == 200, response.text
    assert response.headers["Content-Type"] == exchange.headers["Content-Type"]
    # JSON has one kind of number, and a score of 0 was written without a point.
    recorded = json.loads(json.dumps(_with_a_pair(exchange.body)), parse_int=float)
    found = json.loads(response.text, parse_int=float)
    assert difference(found, recorded, frozenset()) is None
    for key in ("limit", "searchMode", "usingReRank", "similarity"):
        assert found["data"][key] == recorded["data"][key]
    if recorded["data"]["list"]:
        allowed = {tuple(one["type"] for one in item["score"]) for item in recorded["data"]["list"]}
        assert {tuple(one["type"] for one in item["score"]) for item in found["data"]["list"]} <= allowed


def _with_a_pair(recorded: dict[str, Any]) -> dict[str, Any]:
    # Short lists were recorded without a pair of question and answer.
    listed = recorded["data"]["list"]
    pairs = Exchange("fastgpt", "v4.14.13__chinese_mixed").body["data"]["list"][:1] if listed else []
    return recorded | {
        "data": recorded["data"] | {"list": [*listed, *({**one, "score": listed[0]["score"]} for one in pairs)]}
    }


@pytest.mark.parametrize("name", DATASETS)
async def test_datasets_have_the_recorded_shape(index: Index, name: str) -> None:
    exchange = Exchange("fastgpt", f"v4.14.13__{name}", REPLACED)
    response = await exchange.replay(fastgpt.app(index, KEY))
    assert response.status_code == exchange.status == 200
    assert response.headers["Content-Type"] == exchange.headers["Content-Type"]
    assert difference(response.json(), exchange.body, frozenset()) is None


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange = Exchange("fastgpt", f"v4.14.13__{name}", REPLACED)
    response = await exchange.replay(fastgpt.app(index, KEY))
    assert response.status_code == exchange.status
    for header in ("Content-Type", "Set-Cookie"):
        assert response.headers.get(header) == exchange.headers.get(header)
    assert (response.json() if isinstance(exchange.body, dict) else response.text) == exchange.body


async def test_another_path_is_a_page(index: Index) -> None:
    exchange = Exchange("fastgpt", "wrong_base__html_404", {})
    exchange.request.setdefault("headers", {})
    response = await exchange.replay(fastgpt.app(index, KEY))
    assert (response.status_code, response.text) == (exchange.status, exchange.body)
    assert response.headers["Content-Type"] == exchange.headers["Content-Type"]


async def test_a_body_may_have_one_megabyte(index: Index) -> None:
    body = {"datasetId": dataset_id(), "text": "x" * 1_100_000}
    response = await post(fastgpt.app(index, KEY), SEARCH, body, KEY)
    assert (response.status_code, response.text) == (413, "Body exceeded 1mb limit")
    assert "Content-Type" not in response.headers


async def test_every_wrong_field_is_named(index: Index) -> None:
    body: dict[str, Any] = {
        "datasetId": 5,
        "text": None,
        "limit": True,
        "usingReRank": "true",
        "similarity": [1],
        "embeddingWeight": {},
    }
    answer = (await post(fastgpt.app(index, KEY), SEARCH, body, KEY)).json()
    assert {one["path"][0] for one in answer["zodError"]} == body.keys()
    received = {one["message"].rpartition(" ")[2] for one in answer["zodError"]}
    assert received == {"number", "null", "boolean", "string", "array", "object"}
