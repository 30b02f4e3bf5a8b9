"""Many callers of one service, each with a key, a query and an answer of its own."""

import asyncio
import copy
import json
import random
import re
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from adapters import Access, BridgeError, Pool, retrieve
from tests.contract.cases import CASES, Case
from tests.contract.stand_in import context, recording, rows_of
from tests.faults.kit import Kit
from tests.pauses import nap
from tests.service import Answer, Request, reply

TEXTS = {
    "ragflow": "content",
    "fastgpt": "q",
    "external_knowledge": "content",
    "anything_llm": "text",
    "weknora": "content",
}
MODES = ("semantic_search", "full_text_search")
PAGES = {case.backend: recording(case.backend, case.good)["response"] for case in CASES}


def key_of(number: int) -> str:
    return f"KEY-{number:04}-{number * 7919:08}"


def query_of(number: int) -> str:
    return f"question {number:04} of somebody?"


def mode_of(number: int) -> str:
    """The search mode that caller `number` has saved in Dify; callers of one address differ."""
    return MODES[number // 10 % 2]


def number_in(text: str, before: str) -> int:
    found = re.findall(rf"{before}(\d{{4}})", text)
    assert len(set(found)) == 1, text
    return int(found[0])


def seeded(seed: int | str) -> random.Random:
    """The same luck in every run."""
    return random.Random(seed)  # noqa: S311


def fails(number: int) -> bool:
    return seeded(number).random() < 0.3


def asker(case: Case, number: int, base: str, timeout: float = 30, *, looks_up: bool = True) -> RetrievalContext:
    """The context of caller `number`; Dify's looks the dataset's own search mode up."""
    mode = {"search_mode": "auto"} if case.backend == "dify" and looks_up else {}
    return context(
        case,
        query_of(number),
        creation={"api_base_url": base, "api_key": key_of(number)},
        retrieval={**mode, "timeout": timeout},
    )


def found_for(backend: str, words: str) -> Any:
    """The recorded good answer, its first passage saying `words`."""
    answer = copy.deepcopy(PAGES[backend])
    record = rows_of(answer)[0]
    match backend:
        case "dify":
            record["segment"]["content"] = words
        case "jinba":
            record["chunk"]["content"] = words
        case _:
            record[TEXTS[backend]] = words
    return answer


def asked_by(request: Request) -> tuple[int, int]:
    """Whose key and whose query a search came with."""
    return number_in(str(request.headers), "KEY-"), number_in(request.body.decode(), "question ")


def personal(kit: Kit, crossed: list[str]) -> tuple[Answer, Answer]:
    """A service that answers every caller something else, or fails; and a look-up that differs by key."""

    async def search(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        by_key, by_query = asked_by(request)
        if by_key != by_query or "cookie" in request.headers:
            crossed.append(f"{request.headers} {request.body!r}")
        if kit.backend == "dify" and request.json["retrieval_model"]["search_method"] != mode_of(by_key):
            crossed.append(f"look-up of {by_key}: {request.body!r}")
        await nap(seeded(by_key).random() * 0.02)
        cookie = {"Set-Cookie": f"session={by_key}; Path=/"}
        if fails(by_key):
            return await reply(418, json.loads(kit.failed(418, f"reason {by_key:04}")), cookie)(request, writer)
        return await reply(200, found_for(kit.backend, f"passage {by_key:04}"), cookie)(request, writer)

    async def look_up(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        number = number_in(request.headers["authorization"], "KEY-")
        told = copy.deepcopy(recording("dify", "v1.14.2__get-dataset-vectors")["response"])
        told["retrieval_model_dict"]["search_method"] = mode_of(number)
        return await reply(body=told, headers={"Set-Cookie": f"session={number}; Path=/"})(request, writer)

    return search, look_up


async def caught(context: RetrievalContext, pool: Pool | Access) -> RetrievalResponse | BridgeError:
    try:
        return await retrieve(context, pool)
    except BridgeError as error:
        return error


def check(number: int, outcome: RetrievalResponse | BridgeError, port: int) -> None:
    """The outcome is that of this caller and of nobody else."""
    if isinstance(outcome, BridgeError):
        assert fails(number)
        assert f"127.0.0.1:{port}:" in str(outcome)
        assert number_in(str(outcome), "reason ") == number
    else:
        assert not fails(number)
        assert number_in(outcome.model_dump_json(), "passage ") == number
