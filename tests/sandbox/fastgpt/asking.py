"""Searches of the imitated FastGPT."""

from typing import Any

from sandbox import fastgpt
from sandbox.ids import hex24_of
from sandbox.ranking import Index
from tests.sandbox.exchanges import KEYS, post

KEY = KEYS["fastgpt"]
SEARCH = "/api/core/dataset/searchTest"


def dataset_id(name: str = "handbook") -> str:
    return hex24_of("fastgpt", name)


async def data(index: Index, text: str, dataset: str = "handbook", **more: Any) -> dict[str, Any]:
    body = {"datasetId": dataset_id(dataset), "text": text, **more}
    answer: dict[str, Any] = (await post(fastgpt.app(index, KEY), SEARCH, body, KEY)).json()
    assert answer["code"] == 200, answer
    found: dict[str, Any] = answer["data"]
    return found


async def items(index: Index, text: str, dataset: str = "handbook", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await data(index, text, dataset, **more))["list"]
    return found


def score(item: dict[str, Any], kind: str) -> Any:
    return next((one["value"] for one in item["score"] if one["type"] == kind), None)


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in found[0]["score"]]
