"""Searches of the imitated Dify."""

from typing import Any

import httpx

from sandbox import dify
from sandbox.dify.datasets import plain_settings
from sandbox.dify.payload import SearchMethod
from sandbox.ids import uuid_of
from sandbox.ranking import Index
from tests.sandbox import exchanges
from tests.sandbox.exchanges import KEYS

KEY = KEYS["dify"]


async def records(index: Index, query: str, dataset: str = "handbook", **settings: Any) -> list[dict[str, Any]]:
    body = {"query": query, "retrieval_model": plain_settings(SearchMethod.SEMANTIC, 5) | settings}
    found: list[dict[str, Any]] = (await post(index, dataset, body)).json()["records"]
    return found


async def post(index: Index, dataset: str, body: dict[str, Any]) -> httpx.Response:
    return await exchanges.post(dify.app(index, KEY), f"/v1/datasets/{uuid_of('dify', dataset)}/retrieve", body, KEY)


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [record["segment"]["content"] for record in found]


def scores(found: list[dict[str, Any]]) -> list[float]:
    return [record["score"] for record in found]
