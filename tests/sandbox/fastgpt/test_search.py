"""The imitated FastGPT's token budget, lists, fusion and thresholds."""

import json
import re
from typing import Any

import pytest

from sandbox.corpus import handbook
from sandbox.fastgpt.search import tokens
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.fastgpt.asking import data, items, kinds, score
from tests.sandbox.handbook import PASSAGES


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
