"""The imitated RAGFlow's list of datasets."""

from typing import Any

import httpx
import pytest

from sandbox import ragflow
from sandbox.ragflow.datasets import TENANT
from sandbox.ranking import Index
from tests.sandbox.ragflow.asking import KEY, dataset_id


async def asked(index: Index, query: str) -> dict[str, Any]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(ragflow.app(index, KEY))) as client:
        url = f"http://sandbox.test/api/v1/datasets?{query}"
        told: dict[str, Any] = (await client.get(url, headers={"Authorization": KEY})).json()
        return told


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("colour", "blue", "Extra inputs are not permitted"),
        ("page", "0", "Input should be greater than or equal to 1"),
        ("page_size", "many", "Input should be a valid integer, unable to parse string as an integer"),
    ],
)
async def test_a_wrong_parameter_of_the_list_is_refused(index: Index, name: str, value: str, message: str) -> None:
    text = f"Field: <{name}> - Message: <{message}> - Value: <{value}>"
    assert await asked(index, f"{name}={value}") == {"code": 101, "message": text}


async def test_the_list_is_paged_and_searched_by_name(index: Index) -> None:
    every = await asked(index, "")
    ids = [one["id"] for one in every["data"]]
    pages = [await asked(index, f"page_size=2&page={page}") for page in (1, 2, 3, 4)]
    assert [[one["id"] for one in page["data"]] for page in pages] == [ids[:2], ids[2:4], ids[4:], []]
    assert {page["total_datasets"] for page in (every, *pages)} == {len(ids)} == {5}
    [named] = (await asked(index, "name=empty"))["data"]
    assert named["id"] == dataset_id("empty")
    unknown = {"code": 102, "message": f"User '{TENANT}' lacks permission for dataset 'emp'"}
    assert await asked(index, "name=emp") == unknown
