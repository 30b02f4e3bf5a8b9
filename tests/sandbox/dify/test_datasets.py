"""The imitated Dify's datasets."""

import httpx

from sandbox import dify
from sandbox.ids import uuid_of
from sandbox.ranking import Index
from tests.sandbox.dify.asking import KEY


async def test_a_dataset_id_may_be_in_upper_case(index: Index) -> None:
    transport = httpx.ASGITransport(dify.app(index, KEY))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test/v1") as client:
        path = f"/datasets/{uuid_of('dify', 'handbook').upper()}"
        assert (await client.get(path, headers={"Authorization": f"Bearer {KEY}"})).status_code == 200


async def test_the_list_is_paged_and_searched_by_name(index: Index) -> None:
    transport = httpx.ASGITransport(dify.app(index, KEY))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test/v1") as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        first = (await client.get("/datasets?page=1&limit=5")).json()
        second = (await client.get("/datasets?page=2&limit=5")).json()
        named = (await client.get("/datasets?keyword=economy")).json()
    assert (first["has_more"], second["has_more"]) == (True, False)
    names = [dataset["name"] for dataset in first["data"] + second["data"]]
    assert len(set(names)) == len(names) == first["total"]
    assert [dataset["name"] for dataset in named["data"]] == ["handbook-economy"]
