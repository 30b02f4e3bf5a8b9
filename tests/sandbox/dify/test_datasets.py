"""The imitated Dify's datasets."""

from typing import Any

import httpx

from sandbox import dify
from sandbox.dify.datasets import Dataset, listed
from sandbox.ids import uuid_of
from sandbox.ranking import Index
from tests.sandbox.dify.asking import KEY


async def test_a_dataset_id_may_be_in_upper_case(index: Index) -> None:
    transport = httpx.ASGITransport(dify.app(index, KEY))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test/v1") as client:
        path = f"/datasets/{uuid_of('dify', 'handbook').upper()}"
        assert (await client.get(path, headers={"Authorization": f"Bearer {KEY}"})).status_code == 200


async def asked(index: Index, query: str) -> dict[str, Any]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(dify.app(index, KEY))) as client:
        url = f"http://sandbox.test/v1/datasets?{query}"
        told: dict[str, Any] = (await client.get(url, headers={"Authorization": f"Bearer {KEY}"})).json()
        return told


async def pages(index: Index, query: str) -> list[dict[str, Any]]:
    """What a client reads that asks on while Dify says that more follow."""
    found = [await asked(index, query)]
    while found[-1]["has_more"]:
        found.append(await asked(index, f"page={len(found) + 1}&{query}"))
    return found


async def test_the_list_is_paged_and_searched_by_name(index: Index) -> None:
    found = await pages(index, "limit=5")
    names = [dataset["name"] for page in found for dataset in page["data"]]
    assert len(set(names)) == len(names) == found[0]["total"]
    [named] = await pages(index, "keyword=Economy")
    assert [dataset["name"] for dataset in named["data"]] == ["handbook-economy"]


async def test_after_a_last_page_that_is_full_comes_an_empty_one(index: Index) -> None:
    [*_, last] = await pages(index, "limit=1")
    assert (last["data"], last["has_more"], last["page"]) == ([], False, last["total"] + 1)


async def test_a_page_that_is_no_number_is_refused(index: Index) -> None:
    refused = await asked(index, "limit=many")
    assert refused["code"] == "invalid_param"
    assert refused["message"].startswith("1 validation error for DatasetListQuery\nlimit\n")


def test_a_page_has_at_most_a_hundred_and_then_hides_the_rest() -> None:
    many = [Dataset(f"dataset-{number}") for number in range(150)]
    for limit, expected in ((100, (100, 150, True)), (200, (100, 150, False)), (0, (1, 150, False))):
        shown, total, more = listed(many, 1, limit, None)
        assert (len(shown), total, more) == expected
    assert listed(many, 2, 100, "")[0] == many[100:]
