"""The page itself."""

import json

from scripts.page import PAGE, PARTS, page


def test_the_page_is_the_one_that_its_parts_make():
    assert PAGE.read_text("utf-8") == page()


def test_the_page_asks_nobody_else():
    text = page()
    assert [
        line for line in text.splitlines() if "://" in line and "www.w3.org" not in line and "FORMS" not in line
    ] == []
    assert text.count("<script src=") == 1


def test_the_page_says_the_same_in_every_language():
    words = json.loads((PARTS / "words.json").read_text("utf-8"))
    assert len(words) == 3
    assert {tuple(said) for said in words.values()} == {tuple(words["en_US"])}
    assert all(said for language in words.values() for said in language.values())
