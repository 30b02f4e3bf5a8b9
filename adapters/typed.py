"""The address as it was typed, tried where the one that was made of it fails."""

from typing import Any

from adapters import load_backend
from bridge.errors import BridgeError, NotFoundError, ResponseError
from bridge.http import Access
from bridge.settings import whole

NOT_THERE = (NotFoundError, ResponseError)
"""Failures that a wrong address may be the reason of."""


async def found_as_typed(
    error: BridgeError, creation: dict[str, Any], retrieval: dict[str, Any], access: Access, query: str
) -> str:
    """What to enter where the service answers at the whole address and not without its tail; blank otherwise."""
    if not isinstance(error, NOT_THERE):
        return ""
    used = load_backend(creation, retrieval)
    typed = load_backend({**creation, "api_base_url": whole(str(creation.get("api_base_url") or ""))}, retrieval)
    if typed.api_base_url == used.api_base_url:
        return ""
    try:
        async with access.open(typed, query) as http:
            await typed.search(typed.question(query), http)
    except BridgeError as failed:
        if isinstance(failed, NOT_THERE) or not failed.answered:
            return ""
    return f" {typed.product} answers at {typed.api_base_url}, as typed: to use it, enter {typed.api_base_url}/."
