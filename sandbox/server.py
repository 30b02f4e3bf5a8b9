"""Runs the imitated services on 127.0.0.1."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import uvicorn
from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette

from sandbox import anything_llm, dify, external_knowledge, fastgpt, jinba, ragflow, weknora
from sandbox.corpus import handbook
from sandbox.ranking import Index

HOST = "127.0.0.1"
FIRST_PORT = 8901


class Service(NamedTuple):
    """One imitated service: its backend tag, key, application and creation settings at an origin."""

    backend: str
    key: str
    app: Callable[[Index, str], Starlette]
    settings: Callable[[str], dict[str, Any]]


SERVICES = (
    Service("dify", "dataset-sandbox-0000", dify.app, dify.settings),
    Service("ragflow", "ragflow-sandbox-0000", ragflow.app, ragflow.settings),
    Service("fastgpt", "fastgpt-sandbox0000", fastgpt.app, fastgpt.settings),
    Service("jinba", "jinba-sandbox-0000", jinba.app, jinba.settings),
    Service("external_knowledge", "external-sandbox-0000", external_knowledge.app, external_knowledge.settings),
    Service("anything_llm", "ANYTHIN-GLLMSAN-DBOX000-0000000", anything_llm.app, anything_llm.settings),
    Service("weknora", "sk-sandbox-0000", weknora.app, weknora.settings),
)


@dataclass(frozen=True)
class Sandbox:
    """The running services: for each backend tag the creation settings that reach its handbook."""

    settings: Mapping[str, Mapping[str, Any]]

    def __getitem__(self, backend: str) -> dict[str, Any]:
        return dict(self.settings[backend])


@asynccontextmanager
async def serve(first_port: int | None = None) -> AsyncIterator[Sandbox]:
    """Serve every service from this event loop, on ports from `first_port` on, else on free ones."""
    async with AsyncExitStack() as stack:
        index = stack.enter_context(Index(handbook()))
        settings = {}
        for number, service in enumerate(SERVICES):
            port = 0 if first_port is None else first_port + number
            origin = await stack.enter_async_context(_listening(service.app(index, service.key), port))
            settings[service.backend] = {
                "backend": service.backend,
                "api_key": service.key,
                **service.settings(origin),
            }
        yield Sandbox(settings)


@contextmanager
def running(first_port: int | None = None) -> Iterator[Sandbox]:
    """Serve every service from a thread of its own, for tests that are not asynchronous."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serve(first_port)) as sandbox:
        yield sandbox


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave Ctrl+C to the program that started the sandbox."""
        yield


@asynccontextmanager
async def _listening(app: Starlette, port: int) -> AsyncIterator[str]:
    config = uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False)
    server = _Server(config)
    with socket.create_server((HOST, port)) as listener:
        # asyncio leaves Nagle's delay, 40 ms an answer, on connections to a socket that it did not make itself.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Requests wait in the listener's queue until the server has started.
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task
