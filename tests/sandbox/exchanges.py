"""Recordings of the real services: replay them against an app, compare shapes."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

import httpx
from starlette.applications import Starlette

from sandbox.server import SERVICES
from tests.contract.cases import RECORDINGS

KEYS = {service.backend: service.key for service in SERVICES}


class Exchange:
    """A recorded request and its answer, with texts such as ids and keys replaced throughout both."""

    def __init__(self, service: str, name: str, replace: dict[str, str] | None = None) -> None:
        text = (RECORDINGS / service / f"{name}.json").read_text(encoding="utf-8")
        for old, new in (replace or {}).items():
            text = text.replace(old, new)
        recorded = json.loads(text)
        self.request: dict[str, Any] = recorded["request"]
        self.status: int = recorded["status"]
        self.headers = httpx.Headers(recorded.get("response_headers", {}))
        if recorded.get("content_type"):
            self.headers["Content-Type"] = recorded["content_type"]
        self.body: Any = recorded.get("response", recorded.get("response_text"))

    async def replay(self, app: Starlette) -> httpx.Response:
        """Send the recorded request to an app."""
        headers = httpx.Headers(self.request["headers"])
        body = self.request.get("json", self.request.get("body", self.request.get("body_text")))
        if isinstance(body, dict | list):
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body)
        path = self.request.get("path") or urlsplit(self.request["url"]).path
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            # A whole address keeps the doubled slashes of some recordings.
            return await client.request(
                self.request["method"],
                f"http://sandbox.test{path}",
                params=self.request.get("query"),
                headers=headers,
                content=body,
            )


async def post(app: Starlette, path: str, body: Any, key: str) -> httpx.Response:
    """Send JSON with a key."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sandbox.test") as client:
        return await client.post(path, json=body, headers={"Authorization": f"Bearer {key}"})


def difference(found: Any, recorded: Any, free: frozenset[str], path: str = "$") -> str | None:
    """Say where the shape of an answer leaves the recorded one; what stands under a `free` key is not compared."""
    if type(found) is not type(recorded):
        return f"{path}: {type(found).__name__} instead of {type(recorded).__name__}"
    if isinstance(found, dict):
        if found.keys() != recorded.keys():
            return f"{path}: keys differ by {sorted(found.keys() ^ recorded.keys())}"
        pairs = ((key, found[key], recorded[key]) for key in found if key not in free)
        return next(filter(None, (difference(one, other, free, f"{path}.{key}") for key, one, other in pairs)), None)
    if isinstance(found, list):
        if bool(found) != bool(recorded):
            return f"{path}: {len(found)} entries instead of {len(recorded)}"
        for number, entry in enumerate(found):
            tried = [difference(entry, other, free, f"{path}[{number}]") for other in recorded]
            if None not in tried:
                return tried[0]
    return None


def without_ids(text: str) -> str:
    """Hide what differs between two servers: ids and pydantic's version."""
    text = re.sub(r"[0-9a-f]{8}([-_])[0-9a-f_]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", "<id>", text)
    text = re.sub(r"embedding_Vector_index_[0-9a-f_]+\.\.\.", "<table>...", text, flags=re.IGNORECASE)
    return re.sub(r"errors\.pydantic\.dev/[\d.]+/", "errors.pydantic.dev/x/", text)
