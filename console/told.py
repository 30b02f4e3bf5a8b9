"""Errors and passages as the page is told them."""

from collections.abc import Mapping
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from adapters.named import fields_of
from bridge.errors import BridgeError

INTERNAL = "Something failed inside the plugin; LangBot's log tells what."
TEXT = 2000
"""Characters of a passage that the page shows."""


def told(error: BaseException) -> dict[str, Any]:
    """What failed, in words, and the settings that it is about; nothing of what isn't meant to be read."""
    if not isinstance(error, BridgeError):
        return {"kind": "Error", "error": INTERNAL, "fields": []}
    return {"kind": type(error).__name__, "error": str(error), "fields": fields_of(error)}


def passages(response: RetrievalResponse) -> list[dict[str, Any]]:
    """The entries of an answer."""
    return [passage(entry.model_dump(mode="json")) for entry in response.results]


def passage(entry: Mapping[str, Any]) -> dict[str, Any]:
    """One entry."""
    metadata = entry.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    parts = entry.get("content") or []
    return {
        "id": str(entry.get("id") or ""),
        "title": str(metadata.get("document_name") or entry.get("id") or ""),
        "text": " ".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))[:TEXT],
        "score": entry.get("score"),
        "distance": entry.get("distance"),
        "measure": metadata.get("measure"),
        "metadata": metadata,
    }
