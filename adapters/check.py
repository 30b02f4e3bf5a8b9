"""What an admin wants to know before saving: each step from the settings to the first passages, and which one fails."""

import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from adapters import load_backend, retrieve
from adapters.backend import Backend
from adapters.typed import found_as_typed
from bridge.errors import AuthError, BridgeError, NotFoundError, SettingsError
from bridge.http import Access, Http, Pool

PROBE = "What is this knowledge about?"
"""What is asked where nobody says what to ask."""
State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Step:
    """One finding: `name` is settings, address, key, dataset or search; `text` says what was found or what is wrong."""

    name: str
    state: State
    text: str
    response: RetrievalResponse | None = None
    """The answer, with a search that didn't fail."""
    error: BridgeError | None = None
    """What failed."""


async def check(
    creation: dict[str, Any], retrieval: dict[str, Any], pool: Pool | Access, query: str = ""
) -> AsyncIterator[Step]:
    """Yield a step for everything that works, in order, and end after the first that failed. Raises nothing.

    A search that found nothing, or that the service or the bridge has something to say about, is a warning. Blank:
    words of our own are asked, with digits that no cache has seen. The time is that of a search over a connection that
    stands, but where each one costs something: there it is the first.
    """
    access = Access.to(pool)
    try:
        backend = load_backend(creation, retrieval)
        asked = query if backend.question(query).text else _probe()
    except BridgeError as error:
        yield _failed(error)
        return
    yield Step("settings", "ok", f"{backend.product}, {backend.api_base_url}")

    async def as_typed(step: Step) -> Step:
        more = await found_as_typed(step.error, creation, retrieval, access, asked) if step.error else ""
        return replace(step, text=step.text + more)

    looked = [await as_typed(step) for step in await _look(backend, access, asked)]
    for step in looked:
        yield step
    if looked and looked[-1].state == "failed":
        return

    async def search(words: str) -> RetrievalResponse:
        context = RetrievalContext(query=words, creation_settings=creation, retrieval_settings=retrieval)
        return await retrieve(context, access)

    connected = bool(looked)
    try:
        if not connected and backend.resend:
            await search(_probe())
            connected = True
        started = time.perf_counter()
        found = await search(asked)
    except BridgeError as error:
        if error.answered and not looked:
            yield _answers(error.where)
        yield await as_typed(_failed(error, "search" if looked else ""))
        return
    took = (time.perf_counter() - started) * 1000
    if not looked:
        yield _answers(found.metadata["service"])
    yield _searched(found, f"{asked!r} in {took:.0f} ms{'' if connected else ' (first call, connecting included)'}")


def _probe() -> str:
    return f"{PROBE} {secrets.randbelow(1_000_000):06}"


def _searched(found: RetrievalResponse, asked: str) -> Step:
    count, notes = len(found.results), found.metadata.get("notes", ())
    said = f"{count} passage{'' if count == 1 else 's'} for {asked}"
    if not count:
        said = f"nothing was found for {asked}; ask for something that stands in the dataset"
    return Step("search", "ok" if count and not notes else "warning", "; ".join((said, *notes)), found)


def _answers(where: str) -> Step:
    return Step("address", "ok", f"{where} answers")


def _failed(error: BridgeError, within: str = "") -> Step:
    """The step that failed: the one `within` which it did, once address and key are known to be right."""
    match error:
        case SettingsError() if not error.answered:
            name = "settings"
        case _ if within:
            name = within
        case AuthError():
            name = "key"
        case _:
            name = "dataset" if error.answered else "address"
    return Step(name, "failed", str(error), error=error)


# ---- what the service says without a search


async def _look(backend: Backend, access: Access, asked: str) -> list[Step]:
    """The steps that need no search, up to the first that failed; none where the service has nothing to look up.

    One dataset is looked up after the other; the one that fails is named where there are several.
    """
    lines: list[str] = []
    failure: BridgeError | None = None
    try:
        async with access.open(backend, asked) as http:
            http.fresh = True
            for dataset in backend.dataset_id:
                lines += await _described(backend, dataset, http)
        where = http.where if http.answered else ""
    except BridgeError as error:
        where, failure = error.where if error.answered else "", error
    steps = [_answers(where)] if where else []
    if lines:
        steps += [Step("key", "ok", "the API key is accepted"), *(Step("dataset", "ok", line) for line in lines)]
    if failure:
        steps.append(_failed(failure, "dataset" if lines else ""))
    return steps


async def _described(backend: Backend, dataset: str, http: Http) -> list[str]:
    try:
        lines = await backend.model_copy(update={"dataset_id": (dataset,)}).describe(http)
    except BridgeError as error:
        if len(backend.dataset_id) > 1:
            error.dataset = dataset
        raise
    if http.answered and not lines:  # {"data": []} and the like: somebody answers, but nobody who has this dataset
        missing = NotFoundError(
            "the answer to the look-up names no dataset",
            f"Check dataset_id, and that api_base_url is that of {backend.product}'s API",
        )
        missing.dataset = dataset
        raise missing
    return lines
