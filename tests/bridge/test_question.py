import pytest

from bridge.question import Question


def asked(query, limit=250):
    return Question.of(query, {}, limit)


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
