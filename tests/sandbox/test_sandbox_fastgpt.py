"""The imitated FastGPT against recordings of FastGPT 4.14.13, and its token budget, lists, fusion and thresholds."""

import json
import re
from typing import Any

import httpx
import pytest

from sandbox import fastgpt
from sandbox.corpus import handbook
from sandbox.fastgpt.search import tokens
from sandbox.ids import hex24_of
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.sandbox_exchanges import Exchange, difference, post

KEY = "fastgpt-sandbox0000"
PASSAGES = {passage.key: passage for passage in handbook()}
SEARCH = "/api/core/dataset/searchTest"


def dataset_id(name: str = "handbook") -> str:
    return hex24_of("fastgpt", name)


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


async def data(index: Index, text: str, dataset: str = "handbook", **more: Any) -> dict[str, Any]:
    body = {"datasetId": dataset_id(dataset), "text": text, **more}
    answer: dict[str, Any] = (await post(fastgpt.app(index, KEY), SEARCH, body, KEY)).json()
    assert answer["code"] == 200, answer
    found: dict[str, Any] = answer["data"]
    return found


async def items(index: Index, text: str, dataset: str = "handbook", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await data(index, text, dataset, **more))["list"]
    return found


def score(item: dict[str, Any], kind: str) -> Any:
    return next((one["value"] for one in item["score"] if one["type"] == kind), None)


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in found[0]["score"]]


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


@pytest.mark.parametrize("is_reranked", [False, True])
@pytest.mark.parametrize("mode", ["embedding", "fullTextRecall", "mixedRecall"])
@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_first(
    index: Index, question: SampleQuestion, mode: str, is_reranked: bool
) -> None:
    found = await items(index, question.text, searchMode=mode, usingReRank=is_reranked)
    assert found[0]["q"].startswith(PASSAGES[question.passage].text)


@pytest.mark.parametrize(
    ("mode", "options", "expected"),
    [
        ("embedding", {}, ["embedding"]),
        ("embedding", {"usingReRank": True}, ["embedding", "reRank", "rrf"]),
        ("embedding", {"datasetSearchUsingExtensionQuery": True}, ["embedding", "rrf"]),
        ("fullTextRecall", {}, ["fullText"]),
        ("fullTextRecall", {"usingReRank": True}, ["fullText", "reRank", "rrf"]),
        ("mixedRecall", {}, ["embedding", "fullText", "rrf"]),
        ("mixedRecall", {"usingReRank": True}, ["embedding", "fullText", "rrf", "reRank"]),
        ("mixedRecall", {"usingReRank": True, "rerankWeight": 1}, ["reRank"]),
    ],
)
async def test_each_mode_has_its_scores_and_its_order(
    index: Index, mode: str, options: dict[str, Any], expected: list[str]
) -> None:
    found = await items(index, "Is water damage covered by the warranty?", searchMode=mode, **options)
    assert kinds(found) == expected
    measure = "rrf" if "rrf" in expected else expected[0]
    values = [score(one, measure) for one in found]
    assert values == sorted(values, reverse=True)


async def test_scores_have_their_own_scales(index: Index) -> None:
    query = "water damage and broken glass are not covered by the warranty of two years"
    best = (await items(index, query, searchMode="mixedRecall", usingReRank=True))[0]
    assert 0 < score(best, "embedding") <= 1
    assert score(best, "fullText") > 1
    assert 0 < score(best, "reRank") <= 1
    assert score(best, "rrf") == pytest.approx(1 / 61)


async def test_limit_is_a_budget_of_tokens_that_the_last_item_may_pass(index: Index) -> None:
    query = "refund parcel"
    every = await items(index, query, limit=20000)
    for limit in (0, 5, 40, 100):
        found = await items(index, query, limit=limit)
        assert found == every[: len(found)]
        used = [tokens(one["q"] + "\n" + one.get("a", "")) for one in found]
        assert sum(used[:-1]) <= limit < sum(used)
    assert len(await items(index, query, limit=5)) == 1
    assert len(every) == len(handbook())
    assert (await data(index, query, limit=99999))["limit"] == 20000


async def test_similarity_filters_only_embeddings_and_reranked_lists(index: Index) -> None:
    query = "Is water damage covered by the warranty?"
    limit = score((await items(index, query))[0], "embedding")
    assert len(await items(index, query, similarity=limit)) == 1
    for mode in ("fullTextRecall", "mixedRecall"):
        plain = await items(index, query, searchMode=mode)
        assert await items(index, query, searchMode=mode, similarity=0.99) == plain
        reranked = await items(index, query, searchMode=mode, usingReRank=True)
        middle = sorted(score(one, "reRank") for one in reranked)[len(reranked) // 2]
        kept = await items(index, query, searchMode=mode, usingReRank=True, similarity=middle)
        assert kept == [one for one in reranked if score(one, "reRank") >= middle] != reranked


async def test_embedding_weight_decides_between_the_lists(index: Index) -> None:
    query = "warranty parcel"

    async def order(mode: str, **more: Any) -> list[str]:
        return [one["id"] for one in await items(index, query, searchMode=mode, **more)]

    by_words = await order("fullTextRecall")
    assert (await order("mixedRecall", embeddingWeight=1)) == (await order("embedding"))
    assert (await order("mixedRecall", embeddingWeight=0))[: len(by_words)] == by_words


async def test_nothing_to_rank_means_no_reranker(index: Index) -> None:
    assert (await data(index, "lamp", "empty", usingReRank=True))["usingReRank"] is False
    found = await data(index, "zzzz", searchMode="fullTextRecall", usingReRank=True)
    assert (found["list"], found["usingReRank"]) == ([], False)
    assert (await data(index, "lamp", usingReRank=True, rerankModel="unknown"))["usingReRank"] is True


async def test_a_pair_has_its_answer_apart(index: Index) -> None:
    pair = (await items(index, "Which payment methods are accepted?"))[0]
    plain = (await items(index, "express shipping"))[0]
    assert pair["a"].startswith("Credit card")
    assert "a" not in plain


async def test_one_item_has_a_picture_whose_address_is_relative(index: Index) -> None:
    pictures = [one["q"] for one in await items(index, "LED bulbs with an E27 socket", limit=20000) if "![" in one["q"]]
    assert len(pictures) == 1
    assert "](/api/file/" in pictures[0]


async def test_sources_are_pages_or_files(index: Index) -> None:
    for one in await items(index, "lamp", limit=20000):
        assert re.fullmatch("https://.*|[0-9a-f]{24}", one["sourceId"])
        assert re.fullmatch("[0-9a-f]{24}", one["id"])


async def test_an_extension_names_its_model(index: Index) -> None:
    assert "queryExtensionModel" not in await data(index, "lamp")
    assert (await data(index, "a lamp", datasetSearchUsingExtensionQuery=True))["queryExtensionModel"]


async def test_a_list_of_texts_is_several_queries(index: Index) -> None:
    single = ["water damage", "express shipping costs"]
    together = {one["id"]: one for one in await items(index, json.dumps(single))}
    for one in single:
        best = (await items(index, one))[0]
        assert score(together[best["id"]], "embedding") == score(best, "embedding")
        assert score(together[best["id"]], "rrf") > 1 / 61
    assert kinds(await items(index, '["broken')) == ["embedding"]


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


async def test_a_folder_and_an_id_in_upper_case_are_found(index: Index) -> None:
    assert await items(index, "lamp", "folder") == []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(fastgpt.app(index, KEY))) as client:
        url = f"http://sandbox.test/api/core/dataset/detail?id={dataset_id().upper()}"
        answer = (await client.get(url, headers={"Authorization": f"Bearer {KEY}"})).json()
    assert answer["data"]["name"] == "handbook"
