"""The imitated Dify's scores, thresholds and forms."""

import re
from typing import Any

import pytest

from sandbox.corpus import handbook
from sandbox.dify.datasets import MODEL_PROVIDER, RERANK_MODEL, weighted_settings
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.dify.asking import post, records, scores, texts
from tests.sandbox.handbook import PASSAGES


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
