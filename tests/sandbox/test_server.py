"""The running sandbox over real sockets."""

import asyncio
import contextlib
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from adapters import BACKENDS
from sandbox.corpus import handbook
from sandbox.questions import SAMPLE_QUESTIONS
from sandbox.server import SERVICES, running, serve

QUESTION = SAMPLE_QUESTIONS[0]
ANSWER = next(passage.text for passage in handbook() if passage.key == QUESTION.passage)


def search_request(settings: dict[str, Any]) -> dict[str, Any]:
    base, dataset = settings["api_base_url"], settings["dataset_id"]
    path, body = {
        "dify": (f"/datasets/{dataset}/retrieve", {"query": QUESTION.text}),
        "ragflow": ("/api/v1/retrieval", {"question": QUESTION.text, "dataset_ids": [dataset]}),
        "fastgpt": ("/api/core/dataset/searchTest", {"text": QUESTION.text, "datasetId": dataset}),
        "jinba": (
            f"/api/v2/external/flows/{settings.get('flow_id')}/published-run",
            {"args": [{"name": settings.get("query_arg"), "value": QUESTION.text}], "mode": "sync"},
        ),
        "external_knowledge": (
            "/retrieval",
            {
                "knowledge_id": dataset,
                "query": QUESTION.text,
                "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
            },
        ),
        "anything_llm": (f"/api/v1/workspace/{dataset}/vector-search", {"query": QUESTION.text}),
        "weknora": (
            f"/api/v1/knowledge-bases/{dataset}/hybrid-search",
            {"query_text": QUESTION.text, "match_count": 5},
        ),
    }[settings["backend"]]
    header, before = BACKENDS[settings["backend"]].key_header
    return {"url": base + path, "json": body, "headers": {header: f"{before}{settings['api_key']}"}}


def free_run(size: int) -> int:
    """The first of so many free ports in a row."""
    while True:
        with contextlib.ExitStack() as held, contextlib.suppress(OSError, OverflowError):
            first = held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            for port in range(first + 1, first + size):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return int(first)


async def test_serve_answers_inside_the_running_loop() -> None:
    async with serve() as sandbox, httpx.AsyncClient(trust_env=False) as client:
        assert {service.backend for service in SERVICES} == sandbox.settings.keys()
        for backend in sandbox.settings:
            response = await client.post(**search_request(sandbox[backend]))
            assert response.status_code == 200
            assert ANSWER in response.text
    async with httpx.AsyncClient(trust_env=False) as client:
        for backend in sandbox.settings:
            with pytest.raises(httpx.ConnectError):
                await client.post(**search_request(sandbox[backend]))


def test_running_serves_from_its_own_thread() -> None:
    with running() as sandbox, httpx.Client(trust_env=False) as client:
        for backend in sandbox.settings:
            assert sandbox[backend]["backend"] == backend
            assert ANSWER in client.post(**search_request(sandbox[backend])).text


def test_ports_can_be_given() -> None:
    first = free_run(len(SERVICES))

    async def base_urls() -> list[str]:
        async with serve(first) as sandbox:
            return [sandbox[service.backend]["api_base_url"] for service in SERVICES]

    ports = [urlsplit(url).port for url in asyncio.run(base_urls())]
    assert ports == list(range(first, first + len(SERVICES)))


def test_a_taken_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"), running(port):
            pass
