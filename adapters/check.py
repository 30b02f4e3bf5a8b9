"""What an admin wants to know before saving: each step from the settings to the first passages, and which one fails."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from adapters import load_backend, retrieve
from adapters.typed import found_as_typed
from bridge.errors import AuthError, BridgeError, SettingsError
from bridge.http import Access, Pool

PROBE = "test"
"""What is asked where nobody says what to ask."""


@dataclass(frozen=True, slots=True)
class Step:
    """One finding: `name` is settings, address, key, dataset or search; `text` says what was found or what is wrong."""

    name: str
    ok: bool
    text: str
    response: RetrievalResponse | None = None
    """The answer, with the step `search`."""


async def check(
    creation: dict[str, Any], retrieval: dict[str, Any], pool: Pool | Access, query: str = PROBE
) -> AsyncIterator[Step]:
    """Yield a step for everything that works, in order, and end after the first that doesn't. Raises nothing."""
    try:
        backend = load_backend(creation, retrieval)
    except BridgeError as error:
        yield Step("settings", False, str(error))
        return
    yield Step("settings", True, f"{backend.product}, {backend.api_base_url}")
    known = False
    access = pool if isinstance(pool, Access) else Access(pool)
    try:
        async with access.open(backend, query) as http:
            http.fresh = True
            datasets = await backend.describe(http)
        if known := http.answered:
            yield Step("address", True, f"{http.where} answers")
            yield Step("key", True, "the API key is accepted")
        for line in datasets:
            yield Step("dataset", True, line)
        started = time.perf_counter()
        found = await retrieve(
            RetrievalContext(query=query, creation_settings=creation, retrieval_settings=retrieval),
            pool,
        )
    except BridgeError as error:
        step = "search" if known else _step(error)
        if error.answered and not known:
            yield Step("address", True, f"{error.where} answers")
        yield Step(step, False, f"{error}{await found_as_typed(error, creation, retrieval, access, query)}")
        return
    took = (time.perf_counter() - started) * 1000
    told = "".join(f"; {note}" for note in found.metadata.get("notes", ()))
    yield Step("search", True, f"{len(found.results)} passages for {query!r} in {took:.0f} ms{told}", found)


def _step(error: BridgeError) -> str:
    """The step that the first failure belongs to."""
    match error:
        case AuthError():
            return "key"
        case SettingsError() if not error.answered:
            return "settings"
    return "dataset" if error.answered else "address"
