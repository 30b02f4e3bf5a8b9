"""The lists of a question's pieces made one."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bridge.errors import NotFoundError, RateLimitedError, UnavailableError
from bridge.hits import Hit, in_pieces
from bridge.question import Question

QUESTION = Question("one", more=("two", "three"))


def silent() -> Any:
    """What is needed of Http here: the notes."""
    told: list[str] = []
    return SimpleNamespace(notes=told, note=told.append)


def hit(name, score=0.5, document="guide", **metadata):
    return Hit(name, f"text of {name}", score, {"document_name": document, **metadata})


async def found(answers, http=None):
    """What comes of answers, by piece: a list of hits or an error."""

    async def search(piece):
        await asyncio.sleep(0)
        answer = answers[piece.text]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return await in_pieces(QUESTION, search, http or silent())


def limited():
    return RateLimitedError("too many requests", "Wait")


async def test_a_passage_of_several_pieces_counts_once_with_its_best_score():
    hits = await found({"one": [hit("a", 0.4), hit("b", 0.3)], "two": [hit("a", 0.9), hit("c", 0.2)], "three": []})
    assert [(one.id, one.score) for one in hits] == [("a", 0.9), ("b", 0.3), ("c", 0.2)]


async def test_the_best_score_counts_also_where_lists_are_merged_in_turns():
    hits = await found({"one": [hit("a", None), hit("b", 0.2)], "two": [hit("c", 0.1), hit("b", 0.8)], "three": []})
    assert [(one.id, one.score) for one in hits] == [("a", None), ("c", 0.1), ("b", 0.8)]


async def test_passages_without_ids_are_told_apart_by_document_and_text():
    one, two = Hit("", "same", 0.5, {"document_name": "a"}), Hit("", "same", 0.4, {"document_name": "b"})
    assert await found({"one": [one], "two": [two], "three": [one]}) == [one, two]


async def test_a_passage_is_known_also_by_another_id_and_with_links_signed_anew():
    one, two = (Hit(ident, f"![](https://h/a.png?sign={ident}&n=1) Text", 0.5) for ident in ("a", "b"))
    other = Hit("a", "![](https://h/b.png?sign=a) Text", 0.4)
    assert await found({"one": [one], "two": [two, other], "three": []}) == [one, other]


@pytest.mark.parametrize(
    ("measure", "order"), [("rerank", [("a", 0.5), ("b", 0.9)]), ("similarity", [("b", 0.9), ("a", 0.9)])]
)
async def test_scores_of_pieces_are_compared_only_where_they_measure_the_same(measure, order):
    one, other = {"measure": "similarity"}, {"measure": measure}
    answers = {"one": [hit("a", 0.5, **one)], "two": [hit("b", 0.9, **other), hit("a", 0.9, **other)], "three": []}
    assert [(one.id, one.score) for one in await found(answers)] == order


async def test_pieces_are_asked_at_once():
    asked, all_asked = [], asyncio.Event()

    async def search(piece):
        asked.append(piece.text)
        if len(asked) == 3:
            all_asked.set()
        await all_asked.wait()
        return []

    assert await asyncio.wait_for(in_pieces(QUESTION, search, silent()), 5) == []


@pytest.mark.parametrize("refused", [["two"], ["two", "three"], ["one", "three"]])
async def test_pieces_that_a_service_refuses_are_left_out_and_told(refused):
    http = silent()
    answers = {name: limited() if name in refused else [hit(name)] for name in ("one", "two", "three")}
    assert [one.id for one in await found(answers, http)] == [name for name in answers if name not in refused]
    assert http.notes == [f"{len(refused)} of the 3 pieces were not answered, since the service wants fewer requests"]


async def test_where_no_piece_is_answered_the_limit_is_the_failure():
    with pytest.raises(RateLimitedError):
        await found({name: limited() for name in ("one", "two", "three")})


@pytest.mark.parametrize("error", [NotFoundError, UnavailableError])
async def test_any_other_failure_of_a_piece_fails_the_whole(error):
    with pytest.raises(error):
        await found({"one": [hit("a")], "two": [], "three": error("x", "y")})


async def test_a_question_in_one_piece_is_searched_as_it_is():
    hits = [hit("a", 0.1), hit("a", 0.1), hit("b", 0.9)]

    async def search(piece):
        assert piece is question
        return hits

    question = Question("one")
    assert await in_pieces(question, search, silent()) is hits
