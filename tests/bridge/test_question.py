"""What is asked: signs that can't be sent, and a query that is longer than a service takes."""

import pytest

from bridge.question import Question, split_up


def asked(query, limit=250, *, split=False):
    return Question.of(query, {}, limit, split=split)


@pytest.mark.parametrize(
    "query",
    [
        "می‌خواهم گذرواژه را عوض کنم",
        "क्‍ष",
        "👩‍👩‍👧 and 👩🏽‍🔧",
        "co\u00adoperate",
        "\ufeffa\u2060b\u200bc",
        "\ue000 \U000f0000",
        "a\u0378b \U0001fbff",
        "a\u2028b\u00a0c",
        "two\nlines\tand a tab",
    ],
)
def test_what_is_spelling_arrives_unchanged(query):
    assert (asked(query).text, asked(query).cut) == (query, False)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("a\0b\x07c", "a b c"),
        ("a\r\nb", "a \nb"),
        ("a\x7fb\x85c\x9fd", "a b c d"),
        ("a\ud800b\udfff", "a b"),
        (" \x00\n\ud83d", ""),
        ("\u200b\u200d \ufeff\u00ad", ""),
        ("\x1b[31mred", "[31mred"),
    ],
)
def test_what_cant_be_sent_is_replaced_and_nothing_cut(query, text):
    assert (asked(query).text, asked(query).cut) == (text, False)


@pytest.mark.parametrize(
    ("query", "text", "cut"),
    [
        ("abcde", "abcde", False),
        ("  abcde \n\0", "abcde", False),
        ("abcdef", "abcde", True),
        ("abcd efg", "abcd", True),
        ("abc👩‍👧", "abc👩", True),
        ("می\u200cخوا", "می\u200cخو", True),
    ],
)
def test_a_cut_is_told_only_where_something_was_cut(query, text, cut):
    assert (asked(query, 5).text, asked(query, 5).cut) == (text, cut)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        ("One! Two? Three. Four. Five.", ["One! Two? Three.", "Four. Five."]),
        (
            "退款多少天内会到账？申请退款需要收据吗！加急配送怎么收费。",
            ["退款多少天内会到账？申请退款需要收据吗！", "加急配送怎么收费。"],
        ),
        ("他说：“退款到账了。”然后就再也没有来过我们的店里", ["他说：“退款到账了。”", "然后就再也没有来过我们的店里"]),
        ("first line of it\nsecond line of it", ["first line of it", "second line of it"]),
        ("version 3.5 of what.is.it and more", ["version 3.5 of", "what.is.it and more"]),
        ("one sentence without any end for long", ["one sentence", "without any end for", "long"]),
        (
            "没有句号的一段话，很长，一直说下去，不知道要说到什么时候",
            ["没有句号的一段话，很长，一直说下去，", "不知道要说到什么时候"],
        ),
        ("x" * 45, ["x" * 20, "x" * 5]),
        ("退" * 30, ["退" * 20, "退" * 10]),
        ("👩" * 21, ["👩" * 20, "👩"]),
        ("Say it again now. " * 5, ["Say it again now."]),
        (f"a{' ' * 60}b", ["a", "b"]),
        ("a" + "\u200b" * 60 + "b", ["a" + "\u200b" * 19, "\u200bb"]),
        ("x" * 19 + "👩\u200d👧", ["x" * 19 + "👩", "👧"]),
    ],
)
def test_a_long_text_is_split_at_the_end_of_sentences(text, pieces):
    assert split_up(text.strip(), 20) == pieces


def test_a_query_that_fits_stays_whole():
    question = asked(" a whole question.. \n", 20, split=True)
    assert (question.text, question.more, question.cut) == ("a whole question..", (), False)
    assert [piece.text for piece in question.pieces] == ["a whole question.."]
    assert question.told("Plain") == ""


def test_up_to_four_pieces_are_all_asked_with_the_filter_of_the_whole():
    question = Question.of("One is here. Two is there. Three is gone. Four is left.", {"year": 2026}, 15, split=True)
    assert [piece.text for piece in question.pieces] == [
        "One is here.",
        "Two is there.",
        "Three is gone.",
        "Four is left.",
    ]
    assert {piece.where for piece in question.pieces} == {question.where}
    assert question.where.conditions
    assert question.told("Plain") == "the query is longer than Plain takes and was asked in 4 pieces"


def test_beyond_four_the_first_two_and_the_last_two_are_asked():
    question = asked("".join(f"This is number {n}. " for n in range(9)), 20, split=True)
    assert [piece.text[-2] for piece in question.pieces] == ["0", "1", "7", "8"]
    assert question.told("Plain").endswith("4 pieces; 5 between the first two and the last two were left out")


def test_a_query_is_cut_where_it_may_not_be_split():
    question = asked("A question with 25 signs in", 20)
    assert ([piece.text for piece in question.pieces], question.cut) == (["A question with 25 s"], True)
    assert question.told("Plain") == "the query was cut to the 20 characters that Plain takes"
