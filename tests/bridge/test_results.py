import json
import math

import pytest

from adapters.options import Options
from bridge.hits import Hit, merged
from bridge.results import response


def entries(*hits, notes=(), **options):
    return response(list(hits), Options(**options), notes)


def hit(ident="a", text="some text", score=0.5, **metadata):
    return Hit(ident, text, score, metadata)


@pytest.mark.parametrize(
    ("raw", "score", "distance"),
    [
        (0.75, 0.75, 0.25),
        (0, 0, 1),
        (1, 1, 0),
        (30.35, 1, 0),
        (-0.2, 0, 1),
        (None, None, 1),
        (math.nan, None, 1),
        (math.inf, None, 1),
    ],
)
def test_score_and_distance(raw, score, distance):
    [entry] = entries(hit(score=raw)).results
    assert (entry.score, entry.distance) == (score, distance)
    json.dumps(entry.model_dump(mode="json"), allow_nan=False)


def test_a_clamped_score_stays_in_the_metadata():
    assert entries(hit(score=30.35)).results[0].metadata["raw_score"] == 30.35
    assert "raw_score" not in entries(hit(score=0.5)).results[0].metadata


def test_order_is_kept_and_cut():
    found = entries(*(hit(str(n), score=n / 10) for n in range(6)), top_k=4)
    assert [entry.id for entry in found.results] == ["0", "1", "2", "3"]
    assert found.total_found == 6


def test_threshold_lets_unscored_hits_pass_only_when_off():
    hits = [hit("a", score=0.3), hit("b", score=0.29), hit("c", score=None)]
    assert [e.id for e in entries(*hits, score_threshold=0.3).results] == ["a"]
    assert [e.id for e in entries(*hits).results] == ["a", "b", "c"]


def test_a_threshold_is_held_against_the_similarity_where_the_score_is_something_else():
    hits = [Hit("a", "a", 0.1, similarity=0.8), Hit("b", "b", 0.9, similarity=0.0), Hit("c", "c", None, similarity=0.7)]
    found = entries(*hits, score_threshold=0.5)
    assert [(e.id, e.score) for e in found.results] == [("a", 0.1), ("c", None)]
    assert "notes" not in found.metadata


def test_a_threshold_says_what_it_left_out_for_want_of_a_score():
    found = entries(hit("a", score=0.5), hit("b", "x", score=None), hit("c", "y", score=None), score_threshold=0.1)
    assert [e.id for e in found.results] == ["a"]
    assert found.total_found == 3
    assert found.metadata["notes"] == ["2 passages without a score left out by score_threshold; set it to 0 to see all"]
    assert entries(hit("b", score=None)).metadata == {}


def test_ids_are_unique_and_never_empty():
    found = entries(hit("a", "one"), hit("a", "two"), hit("a", "three"), hit("", "four"), hit("", "five")).results
    assert [e.id for e in found][:3] == ["a", "a-2", "a-2-2"]
    assert len({e.id for e in found}) == 5
    assert all(e.id for e in found)


def test_the_same_passage_twice_is_one():
    found = entries(hit("a"), hit("a"), hit("", "x"), hit("", "x"))
    assert [entry.content[0].text for entry in found.results] == ["some text", "x"]
    assert found.total_found == 2


@pytest.mark.parametrize(
    ("scores", "kept"),
    [((0.3, 0.9), 0.9), ((0.9, 0.3), 0.9), ((None, 0.3), 0.3), ((None, 0.0), 0.0), ((0.3, None), 0.3)],
)
def test_a_passage_that_comes_twice_keeps_the_better_score_and_place(scores, kept):
    first, second = (hit("a", score=score, nth=nth) for nth, score in enumerate(scores))
    found = entries(first, hit("b", score=0.5), second, hit("c", score=0.4), top_k=3)
    assert [(entry.id, entry.score) for entry in found.results] == [("a", kept), ("b", 0.5), ("c", 0.4)]
    assert found.results[0].distance == 1 - kept
    assert found.results[0].metadata == {"nth": scores.index(kept)}
    assert found.total_found == 3


def test_a_double_is_one_also_where_the_id_stands_for_several_texts():
    found = entries(hit("a", "one"), hit("a", "two", 0.2), hit("a", "two", 0.4), top_k=2)
    assert [(entry.id, entry.score) for entry in found.results] == [("a", 0.5), ("a-2", 0.4)]
    assert found.total_found == 2


def test_no_text_holds_nul():
    [entry] = entries(hit("a", "so\0me", document_name="a\0.txt", deep=[{"x\0": "\0y"}]), cite_source=True).results
    assert entry.content[0].text == "Source: a.txt\nsome"
    assert entry.metadata == {"document_name": "a.txt", "deep": [{"x": "y"}]}
    assert entries(hit("a", "\0 \0")).results == []
    assert entries(hit(kept="\\u0000 \x01")).results[0].metadata == {"kept": "\\u0000 \x01"}


def test_ids_without_an_id_are_the_same_at_every_call():
    assert entries(hit("")).results[0].id == entries(hit("")).results[0].id != entries(hit("", "y")).results[0].id


def test_blank_passages_are_no_results():
    assert entries(hit(text=" \n"), hit(text="")).results == []


@pytest.mark.parametrize(
    ("metadata", "line"),
    [
        ({"document_name": "a.txt", "url": "http://x.test/a"}, "Source: a.txt (http://x.test/a)\n"),
        ({"document_name": "a\n b.txt"}, "Source: a b.txt\n"),
        ({"url": "http://x.test/a"}, "Source: http://x.test/a\n"),
        ({"document_name": "http://x.test", "url": "http://x.test"}, "Source: http://x.test\n"),
        ({"document_name": 7}, ""),
    ],
)
def test_cite_source(metadata, line):
    assert entries(hit(**metadata), cite_source=True).results[0].content[0].text == f"{line}some text"
    assert entries(hit(**metadata)).results[0].content[0].text == "some text"


def test_bottomless_metadata_is_cut():
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"x": deep}
    json.dumps(entries(hit(odd=deep)).results[0].model_dump(mode="json"))


def test_notes_reach_the_metadata():
    assert entries(notes=["n"]).metadata == {"notes": ["n"]}
    assert entries().metadata == {}


def test_lists_merge_by_score_where_all_have_one():
    lists = [[hit("a", score=0.9), hit("b", score=0.2)], [hit("c", score=0.5)]]
    assert [h.id for h in merged(lists)] == ["a", "c", "b"]


def test_lists_merge_in_turns_where_one_has_none():
    lists = [[hit("a", score=0.9), hit("b", score=None)], [hit("c", score=0.95), hit("d", score=0.1)]]
    assert [h.id for h in merged(lists)] == ["a", "c", "b", "d"]


@pytest.mark.parametrize(("other", "order"), [("rerank", "abcd"), ("similarity", "bacd"), ("estimated", "bacd")])
def test_scores_are_compared_only_where_they_measure_the_same(other, order):
    first = [hit("a", score=0.5, measure="similarity"), hit("c", score=0.4, measure="similarity")]
    second = [hit("b", score=0.9, measure=other), hit("d", score=0.1, measure=other)]
    assert "".join(h.id for h in merged([first, second])) == order
