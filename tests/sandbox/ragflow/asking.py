"""Searches of the imitated RAGFlow."""

from typing import Any

from sandbox import ragflow
from sandbox.ids import hex32_of
from sandbox.ranking import Index
from tests.sandbox.exchanges import KEYS, post

KEY = KEYS["ragflow"]


def dataset_id(name: str = "handbook") -> str:
    return hex32_of("ragflow", name)


def document_id(name: str, dataset: str = "handbook") -> str:
    return hex32_of("ragflow", dataset, name)


async def retrieval(index: Index, question: str, dataset: str = "handbook", **more: Any) -> dict[str, Any]:
    body = {"question": question, "dataset_ids": [dataset_id(dataset)], **more}
    answer: dict[str, Any] = (await post(ragflow.app(index, KEY), "/api/v1/retrieval", body, KEY)).json()
    assert answer["code"] == 0, answer
    data: dict[str, Any] = answer["data"]
    return data


async def chunks(index: Index, question: str, dataset: str = "handbook", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await retrieval(index, question, dataset, **more))["chunks"]
    return found
