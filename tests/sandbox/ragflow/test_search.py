"""The imitated RAGFlow's pool, page and scores."""

import re
from typing import Any

import pytest

from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ragflow.datasets import RERANK_MODEL
from sandbox.ranking import Index
from tests.sandbox.handbook import PASSAGES
from tests.sandbox.ragflow.asking import chunks, dataset_id, retrieval


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


async def test_ids_have_ragflows_shape(index: Index) -> None:
    for one in await chunks(index, "lamp", page_size=100):
        assert re.fullmatch("[0-9a-f]{16}", one["id"])
        assert re.fullmatch("[0-9a-f]{32}", one["document_id"])
