from collections import Counter

import pytest

from sandbox.corpus import Form, Passage, handbook
from sandbox.ids import hex24_of, hex32_of, uuid_of
from sandbox.questions import SAMPLE_QUESTIONS, SampleQuestion
from sandbox.ranking import Index, best_pieces, terms
from tests.sandbox.handbook import PASSAGES


def test_the_handbook_holds_both_languages_and_every_form() -> None:
    assert len(PASSAGES) == len(handbook())
    assert {passage.document.form for passage in handbook()} == set(Form)
    assert len({passage.full_text for passage in handbook()}) == len(handbook())


def test_every_sample_question_is_about_a_passage() -> None:
    assert len(SAMPLE_QUESTIONS) == 20
    assert {question.passage for question in SAMPLE_QUESTIONS} <= PASSAGES.keys()
    assert len({question.text for question in SAMPLE_QUESTIONS}) == 20


@pytest.mark.parametrize("question", SAMPLE_QUESTIONS, ids=lambda question: question.passage)
@pytest.mark.parametrize("search", ["words", "meaning", 0.3, 0.5, 0.7])
def test_a_sample_question_finds_its_passage_first(index: Index, question: SampleQuestion, search: str | float) -> None:
    hits = index.hybrid(question.text, search) if isinstance(search, float) else getattr(index, search)(question.text)
    first, second = [*best_pieces(hits), None][:2]
    assert first is not None
    assert first.passage.key == question.passage
    assert second is None or second.score < 0.85 * first.score, "no close race"
    assert 0.3 < first.score <= 1


def test_words_finds_inflected_words_and_nothing_without_a_shared_word(index: Index) -> None:
    assert {hit.passage.key for hit in index.words("warranties")} == {f"warranty.md#{n}" for n in (1, 2, 3)}
    assert index.words("zebra") == []
    assert index.words('" OR * NEAR(') == []
    assert index.words("") == []


def test_meaning_ranks_everything_and_bears_a_query_of_unknown_words(index: Index) -> None:
    hits = index.meaning("zebra")
    assert Counter(hit.piece for hit in hits) == Counter(piece for p in handbook() for piece in p.pieces)
    assert {hit.score for hit in hits} == {0.0}


def test_meaning_of_a_passage_is_nearest_to_itself(index: Index) -> None:
    for passage in handbook():
        assert index.meaning(passage.pieces[0])[0].score == pytest.approx(1.0)


def test_a_filter_leaves_the_scores_as_they_are(index: Index) -> None:
    def is_policy(passage: Passage) -> bool:
        return passage.document.category == "policy"

    for search in (index.words, index.meaning):
        kept = search("refund parcel", is_policy)
        assert kept == [hit for hit in search("refund parcel") if is_policy(hit.passage)]
        assert kept


def test_hybrid_at_the_ends_is_meaning_or_words(index: Index) -> None:
    assert index.hybrid("water damage", 1.0) == index.meaning("water damage")
    words = index.words("water damage")
    assert index.hybrid("water damage", 0.0)[: len(words)] == words


def test_best_pieces_keeps_a_parent_once(index: Index) -> None:
    hits = index.meaning("shades")
    assert len(best_pieces(hits)) == len(handbook()) < len(hits)


def test_chinese_is_cut_into_pairs() -> None:
    assert terms("退款 Glow-One 的灯罩!") == ["退款", "glow", "one", "的灯", "灯罩"]
    assert terms("灯") == ["灯"]


def test_ids_have_the_shape_of_each_service_and_never_change() -> None:
    assert uuid_of("a", "b") == "59b271ae-1bbc-41d3-9d41-929817f4b16f"
    assert hex32_of("a") == "ca978112ca1bbdcafac231b39a23dc4d"
    assert hex24_of("a") == "ca978112ca1bbdcafac231b3"
    assert uuid_of("a", "b") != uuid_of("ab")
