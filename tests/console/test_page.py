"""The page itself."""

from scripts.page import PAGE, page


def test_the_page_is_the_one_that_its_parts_make():
    assert PAGE.read_text("utf-8") == page()


def test_the_page_asks_nobody_else():
    text = page()
    assert [
        line for line in text.splitlines() if "://" in line and "www.w3.org" not in line and "FORMS" not in line
    ] == []
    assert text.count("<script src=") == 1
