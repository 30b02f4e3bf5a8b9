"""Searches of the imitated WeKnora."""

from typing import Any

import httpx

from sandbox import weknora
from sandbox.ids import uuid_of
from sandbox.ranking import Index
from tests.sandbox.exchanges import KEYS

KEY = KEYS["weknora"]
BASES = "/api/v1/knowledge-bases"


def base_id(name: str = "handbook") -> str:
    return uuid_of("weknora", name)


async def answer(index: Index, path: str, body: Any = None, key: str = KEY) -> httpx.Response:
    """What a path gives, a search where there is a body."""
    transport = httpx.ASGITransport(weknora.app(index, KEY))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as client:
        return await client.request("POST" if body else "GET", path, json=body, headers={"X-API-Key": key})


async def records(index: Index, query: str, base: str = "handbook", **more: Any) -> list[dict[str, Any]] | None:
    """The records of a search, without what stands around them unless it is asked for."""
    body = {"query_text": query, "match_count": 100, "skip_context_enrichment": True, **more}
    response = await answer(index, f"{BASES}/{base_id(base)}/hybrid-search", body)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] | None = response.json()["data"]
    return found
