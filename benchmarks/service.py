"""A service in a process of its own that gives prepared answers, and tells what it was asked."""

import asyncio
import multiprocessing
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from typing import NamedTuple

import trustme
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from benchmarks.passages import answer, look_up
from tests.contract.cases import case_of
from tests.contract.stand_in import context


@dataclass
class Told:
    """What the service has seen so far."""

    connections: int = 0
    requests: int = 0
    waited_for: int = 0
    """Requests that came while no other was being answered: of those at the same time, one."""
    path: str = ""
    content: bytes = b""
    """Path and body of the last POST."""


class Running(NamedTuple):
    """The service that runs: where it is, whom to trust for HTTPS, and what it has seen."""

    pipe: Connection
    bases: dict[str, str]
    """Its address by HTTP and by HTTPS."""
    pem: str

    def context(
        self, backend: str, text: str, passages: int, scheme: str = "HTTP", milliseconds: int = 0
    ) -> RetrievalContext:
        """A retrieval of so many passages of this kind from a service that answers after so many milliseconds."""
        address = f"{self.bases[scheme]}/{backend}/{text}/{passages}/{milliseconds}"
        return context(case_of(backend), creation={"api_base_url": address}, retrieval={"timeout": 60})

    def told(self) -> Told:
        """What it has seen until now."""
        self.pipe.send(None)
        told: Told = self.pipe.recv()
        return told


@contextmanager
def running() -> Iterator[Running]:
    """The service in its process, until the block ends."""
    spawn = multiprocessing.get_context("spawn")
    pipe, other = spawn.Pipe()
    process = spawn.Process(target=_run, args=(other,), daemon=True)
    process.start()
    other.close()
    try:
        plain, secure, pem = pipe.recv()
        yield Running(pipe, {"HTTP": f"http://127.0.0.1:{plain}", "HTTPS": f"https://127.0.0.1:{secure}"}, pem)
    finally:
        process.kill()
        process.join()
        pipe.close()


def _run(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


@cache
def _answer(method: str, backend: str, text: str, count: str) -> bytes:
    case = case_of(backend)
    body = look_up(case) if method == "GET" else answer(case, text, int(count))
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


async def _serve(pipe: Connection) -> None:
    told, answering = Told(), 0

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answering
        told.connections += 1
        try:
            while True:
                method, path, content = await _read(reader)
                told.requests += 1
                told.waited_for += not answering
                if method == "POST":
                    told.path, told.content = path, content
                _, backend, text, count, milliseconds, *_ = path.split("/")
                answering += 1
                if milliseconds != "0":
                    await asyncio.sleep(int(milliseconds) / 1000)
                answering -= 1
                writer.write(_answer(method, backend, text, count))
                await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    plain = await asyncio.start_server(client, "127.0.0.1", 0)
    secure = await asyncio.start_server(client, "127.0.0.1", 0, ssl=tls)
    ports = [server.sockets[0].getsockname()[1] for server in (plain, secure)]
    pipe.send((*ports, authority.cert_pem.bytes().decode()))
    loop = asyncio.get_running_loop()
    while True:
        await loop.run_in_executor(None, pipe.recv)
        pipe.send(told)


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Method, path and body of the next request."""
    head = await reader.readuntil(b"\r\n\r\n")
    method, path, _ = head.decode("latin-1").split(" ", 2)
    length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), b":0")
    return method, path, await reader.readexactly(int(length.split(b":")[1]))
