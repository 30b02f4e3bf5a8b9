"""The imitated WeKnora's modes, fusion, count, neighbours, filters and knowledge bases."""

from typing import Any

import pytest

from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index
from tests.sandbox.handbook import PASSAGES
from tests.sandbox.weknora.asking import BASES, answer, base_id, records

SEMANTIC: dict[str, Any] = {"disable_keywords_match": True}
WORDS: dict[str, Any] = {"disable_vector_match": True}


@pytest.mark.parametrize("mode", [SEMANTIC, WORDS, {}], ids=["semantic", "words", "both"])
@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
async def test_a_sample_question_is_answered_first(
    index: Index, question: SampleQuestion, mode: dict[str, Any]
) -> None:
    found = await records(index, question.text, **mode)
    assert found
    assert found[0]["content"] == PASSAGES[question.passage].full_text
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)


async def test_every_mode_has_a_scale_of_its_own(index: Index) -> None:
    query = "Is water damage covered by the warranty?"
    semantic, words, both = [await records(index, query, **mode) or [] for mode in (SEMANTIC, WORDS, {})]
    assert 0.3 < semantic[0]["score"] <= 1
    assert words[0]["score"] > 1
    assert both[0]["score"] == pytest.approx(1 / 61)
    assert {one["match_type"] for one in semantic} == {0}
    assert {one["match_type"] for one in words} == {1}


async def test_one_list_alone_is_not_fused(index: Index) -> None:
    found, words = await records(index, "zebra"), await records(index, "warranty", "words")
    assert found == await records(index, "zebra", **SEMANTIC)
    assert words == await records(index, "warranty", "words", **WORDS)


@pytest.mark.parametrize(
    ("base", "mode"),
    [("empty", {}), ("wiki", {}), ("words", SEMANTIC), ("vectors", WORDS), ("handbook", {**SEMANTIC, **WORDS})],
)
async def test_nothing_is_null(index: Index, base: str, mode: dict[str, Any]) -> None:
    assert await records(index, "warranty", base, **mode) is None


async def test_a_missing_count_is_none(index: Index) -> None:
    assert await records(index, "warranty", match_count=None) is None
    assert len(await records(index, "warranty", match_count=2) or []) == 2


async def test_neighbours_stand_behind_the_hits(index: Index) -> None:
    found = await records(index, "Is water damage covered?", match_count=1, skip_context_enrichment=False, **SEMANTIC)
    assert found
    assert [(one["chunk_index"], one["match_type"], one["score"] > 0) for one in found] == [
        (1, 0, True),
        (0, 2, False),
        (2, 2, False),
    ]


async def test_documents_are_chosen_by_id(index: Index) -> None:
    [first, *_] = await records(index, "warranty") or []
    chosen = await records(index, "refund", knowledge_ids=[first["knowledge_id"], "unknown"])
    assert {one["knowledge_title"] for one in chosen or []} == {first["knowledge_title"]}
    assert await records(index, "refund", knowledge_ids=["unknown"]) is None


async def test_what_go_cannot_read_is_named(index: Index) -> None:
    wrong: dict[str, tuple[Any, str]] = {
        "match_count": (2.5, "number into Go struct field SearchParams.match_count of type int"),
        "query_text": (7, "number into Go struct field SearchParams.query_text of type string"),
        "skip_context_enrichment": (
            "yes",
            "string into Go struct field SearchParams.skip_context_enrichment of type bool",
        ),
        "knowledge_ids": ("x", "string into Go struct field SearchParams.knowledge_ids of type []string"),
        "vector_threshold": (True, "bool into Go struct field SearchParams.vector_threshold of type float64"),
    }
    for name, (value, said) in wrong.items():
        response = await answer(index, f"{BASES}/{base_id()}/hybrid-search", {"query_text": "lamp", name: value})
        assert response.status_code == 400
        assert response.json()["error"]["details"] == f"json: cannot unmarshal {said}"
    response = await answer(index, f"{BASES}/{base_id()}/hybrid-search", ["lamp"])
    assert response.json()["error"]["details"].startswith("json: cannot unmarshal array")


async def test_a_list_of_bases_holds_the_one_of_the_path(index: Index) -> None:
    path, other = f"{BASES}/{base_id()}/hybrid-search", [base_id("empty")]
    response = await answer(index, path, {"query_text": "lamp", "knowledge_base_ids": other})
    assert (response.status_code, response.json()["error"]["message"]) == (404, "knowledge base not found")


async def test_a_base_tells_what_it_holds(index: Index) -> None:
    told = (await answer(index, f"{BASES}/{base_id()}")).json()["data"]
    assert (told["name"], told["type"]) == ("handbook", "document")
    assert (told["knowledge_count"], told["chunk_count"]) == (11, len(PASSAGES))
    listed = (await answer(index, BASES)).json()["data"]
    assert told in listed
    assert not {"outside", "foreign"} & {base["name"] for base in listed}
