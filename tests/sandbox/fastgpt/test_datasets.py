"""The imitated FastGPT's datasets and their folders."""

from typing import Any

import httpx
import pytest

from sandbox import fastgpt
from sandbox.ranking import Index
from tests.sandbox.exchanges import post
from tests.sandbox.fastgpt.asking import KEY, dataset_id, items

LIST = "/api/core/dataset/list"


async def detail(index: Index, wanted: str) -> dict[str, Any]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(fastgpt.app(index, KEY))) as client:
        url = f"http://sandbox.test/api/core/dataset/detail?id={wanted}"
        answer = (await client.get(url, headers={"Authorization": f"Bearer {KEY}"})).json()
        data: dict[str, Any] = answer["data"]
        return data


async def listed(index: Index, **body: Any) -> list[str]:
    answer = (await post(fastgpt.app(index, KEY), LIST, body, KEY)).json()
    return [f"{one['type']} {one['name']}" for one in answer["data"]]


async def test_a_folder_and_an_id_in_upper_case_are_found(index: Index) -> None:
    assert await items(index, "lamp", "folder") == []
    assert (await detail(index, dataset_id().upper()))["name"] == "handbook"


async def test_datasets_are_listed_folder_by_folder(index: Index) -> None:
    top = ["dataset handbook", "dataset empty", "folder folder"]
    inside = ["dataset questions-and-answers", "folder folder-inside"]
    deeper = ["dataset parents-and-children"]
    assert await listed(index, parentId=None) == await listed(index, parentId="") == top
    assert await listed(index, parentId=dataset_id("folder")) == inside
    assert await listed(index, parentId=dataset_id("folder-inside")) == deeper
    assert await listed(index, parentId=dataset_id("handbook")) == []
    assert sorted(await listed(index)) == sorted(top + inside + deeper)


async def test_a_dataset_in_a_folder_says_which_and_is_searched(index: Index) -> None:
    assert (await detail(index, dataset_id("questions-and-answers")))["parentId"] == dataset_id("folder")
    found = await items(index, "Which payment methods are accepted?", "questions-and-answers")
    assert {one["sourceName"] for one in found} == {"faq.csv"}


@pytest.mark.parametrize(
    ("parent", "status_text"),
    [(dataset_id("nowhere"), "unExistDataset"), (dataset_id("other-team"), "unAuthDataset"), (5, "error")],
)
async def test_a_folder_that_may_not_be_read_is_refused(index: Index, parent: Any, status_text: str) -> None:
    answer = (await post(fastgpt.app(index, KEY), LIST, {"parentId": parent}, KEY)).json()
    assert (answer["statusText"], answer["data"]) == (status_text, None)
