"""Lists of datasets, read page by page."""

from types import SimpleNamespace
from typing import Any

import pytest

from bridge.datasets import PAGES, Dataset, dataset_records, paged
from bridge.errors import ResponseError


def silent() -> Any:
    """What is needed of Http here: the notes, and how answers are spoken of."""
    told: list[str] = []
    return SimpleNamespace(notes=told, note=told.append, seen=lambda _: "keys: none")


def page(*names, **rest):
    return {"data": [{"id": name, "name": name} for name in names], **rest}


async def listed(answer, http=None):
    """The names that come of the answers to pages, and how many pages were asked for."""
    asked = []

    async def ask(number):
        asked.append(number)
        return answer(number)

    found = await paged(ask, lambda item: Dataset(item["id"], item["name"], ""), http or silent(), "total")
    assert asked == list(range(1, len(asked) + 1))
    return [one.name for one in found], len(asked)


@pytest.mark.parametrize(
    ("pages", "names", "asked"),
    [
        ([page("a", "b", total=3), page("c", total=3)], ["a", "b", "c"], 2),
        ([page("a", "b", total=2, has_more=True), page("z")], ["a", "b"], 1),
        ([page("a", "b", has_more=True), page()], ["a", "b"], 2),
        ([page("a", "b", total=9), page("b", "a", total=9)], ["a", "b"], 2),
        ([page("a", total=3), page("a", "b", total=3), page("c", total=3)], ["a", "b", "c"], 3),
        ([page("a", total="many"), page()], ["a"], 2),
        ([page("a", total=0)], ["a"], 1),
        ([page(total=0)], [], 1),
        ([{"data": None}], [], 1),
    ],
)
async def test_a_list_ends_with_its_total_or_a_page_without_news(pages, names, asked):
    http = silent()
    assert await listed(lambda number: pages[number - 1], http) == (names, asked)
    assert http.notes == []


async def test_a_list_without_end_is_left_with_a_note():
    http = silent()
    names, asked = await listed(lambda number: page(f"{number}", total=10_000), http)
    assert (len(names), asked) == (PAGES, PAGES)
    assert http.notes == [f"only the first {PAGES} datasets are listed; the id of another can be typed"]


@pytest.mark.parametrize(
    "answer",
    [None, [], "x", {}, {"datasets": []}, {"data": {}}, {"data": 7}, {"data": ["a"]}, {"data": [{"name": "a"}]}],
)
def test_what_is_no_list_of_datasets_is_an_error(answer):
    with pytest.raises(ResponseError, match="no list of datasets"):
        dataset_records(answer, silent())


def test_odd_records_are_left_out_one_by_one():
    odd = [None, 7, {}, {"id": ""}, {"id": 5}, {"id": "a"}]
    assert dataset_records({"data": odd}, silent()) == [{"id": "a"}]
