"""A service on a real loopback socket that does what a test tells it, and remembers what it was asked."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.pauses import nap

Answer = Callable[["Request", asyncio.StreamWriter], Awaitable[bool | None]]
"""Answers one request; True ends the connection."""


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader = field(repr=False)
    """What else comes by its connection."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def reply(status: int = 200, body: Any = b"", headers: dict[str, str] | None = None) -> Answer:
    """A whole answer; what is no bytes is sent as JSON. The connection stays."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        head = {"Content-Type": "application/json", "Content-Length": str(len(raw)), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode("latin-1") + raw)
        await writer.drain()
        return False

    return answer


def raw(data: bytes, *, close: bool = True) -> Answer:
    """Exactly these bytes."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        return close

    return answer


def reset(before: bytes = b"") -> Answer:
    """A connection that is reset, after so many bytes have arrived."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        if before:
            writer.write(before)
            await writer.drain()
            await nap(0.03)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return True

    return answer


async def silence(_request: Request, _writer: asyncio.StreamWriter) -> bool:
    """Nothing more, and the connection stays."""
    await asyncio.Event().wait()
    return True


async def until_hung_up(request: Request, _writer: asyncio.StreamWriter) -> bool:
    """Nothing more, until the other side ends the connection, which counts as `hung_up`."""
    if not await request.reader.read(1):
        raise EOFError
    return True


@dataclass
class Service:
    """`async with Service() as service`: give `answers` in order; the last repeats. A GET takes `looked_up` if given."""

    answers: list[Answer] = field(default_factory=list)
    looked_up: Answer | None = None
    tls: ssl.SSLContext | None = None
    bound: socket.socket | None = None
    """Where it listens, if that must be known before it does."""
    port: int = 0
    slots: int = 1000
    """How many connections are served at once; others wait, as with a small gevent or Flask server."""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    hung_up: int = 0
    turn: int = 0

    async def __aenter__(self):
        self.tasks: set[asyncio.Task[None]] = set()
        where: dict[str, Any] = {"sock": self.bound} if self.bound else {"host": "127.0.0.1", "port": self.port}
        self.free = asyncio.Semaphore(self.slots)
        self.server = await asyncio.start_server(self._serve, **where, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        self.base = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        self.connections += 1
        try:
            async with self.free:
                while True:
                    request = await self._read(reader)
                    self.requests.append(request)
                    if await self._answer(request)(request, writer):
                        break
        except (OSError, EOFError, asyncio.CancelledError):
            self.hung_up += 1
        finally:
            self.tasks.discard(task)
            with contextlib.suppress(OSError):
                writer.close()

    def _answer(self, request: Request) -> Answer:
        if request.method == "GET" and self.looked_up:
            return self.looked_up
        self.turn += 1
        return self.answers[min(self.turn, len(self.answers)) - 1]

    @staticmethod
    async def _read(reader: asyncio.StreamReader) -> Request:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(method, path, headers, body, reader)
