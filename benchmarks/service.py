"""A service in a process of its own that answers every POST with a prepared list of passages."""

import asyncio
import copy
import json
import ssl
from multiprocessing.connection import Connection
from typing import Any

import trustme

from tests.contract.cases import CASES, Case
from tests.contract.stand_in import recording, rows_of

WORDS = 2000
"""Characters of a passage."""


def answers(entries: int) -> dict[str, bytes]:
    """Each service's answer with so many passages, made of its recording."""
    return {case.backend: _answer(case, entries) for case in CASES}


def _answer(case: Case, entries: int) -> bytes:
    told = recording(case.backend, case.good)["response"]
    rows = rows_of(told)
    first = rows[0]
    rows.clear()
    for number in range(entries):
        row = copy.deepcopy(first)
        _fill(row, number)
        rows.append(row)
    return json.dumps(told, ensure_ascii=False).encode()


def _fill(row: Any, number: int) -> None:
    """Its own id, a falling score, and a text of the usual length."""
    for name, value in row.items():
        if isinstance(value, dict):
            _fill(value, number)
        elif name in ("id", "title"):
            row[name] = f"{value}-{number}"
        elif name in ("content", "q"):
            row[name] = (f"{value} " * (WORDS // (len(value) + 1) + 1))[:WORDS]
        elif name in ("score", "similarity") and isinstance(value, float):
            row[name] = max(0.9 - number / 1000, 0.1)


def serve(pipe: Connection) -> None:
    """Run until the pipe says stop; sends (http port, https port, certificate); answers "connections" with a count."""
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    prepared = {entries: answers(entries) for entries in (5, 50, 500)}
    opened = 0

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                length = next(
                    (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), b":0"
                )
                await reader.readexactly(int(length.split(b":")[1]))
                _, backend, entries, *_ = path.split("/")
                body = prepared[int(entries)][backend]
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                    + body
                )
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
    while await loop.run_in_executor(None, pipe.recv) == "connections":
        pipe.send(opened)
