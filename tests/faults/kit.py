"""One service under fire: its settings, its recorded good answer, its own form of a failure, and what it must not tell."""

import asyncio
import contextlib
import copy
import html
import json
import logging
import re
import socket
import struct
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import Any
from unittest import mock
from urllib.parse import quote, quote_plus

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from adapters import BACKENDS, BridgeError
from tests import service
from tests.contract.cases import CASES, Case
from tests.contract.stand_in import context, recording
from tests.service import Answer, Request

nap = asyncio.sleep
"""The real one, also where pauses are skipped."""
PAGE_MARK = "Sign-in-page-of-Example-Corp"


@dataclass(frozen=True)
class Kit:
    """A case with a key and a query of its own."""

    case: Case
    name: str = ""

    @property
    def backend(self) -> str:
        return self.case.backend

    @property
    def product(self) -> str:
        return BACKENDS[self.backend].product

    @cached_property
    def key(self) -> str:
        return f"KEY{sha256(f'{self.backend} {self.name}'.encode()).hexdigest()[:40]}"

    @cached_property
    def query(self) -> str:
        return f'Does Ada Example\'s contract <b>no {self.key[-4:]}7</b> & annex say "ten days"?'

    @cached_property
    def found(self) -> dict[str, Any]:
        """The recorded good answer, in which the service repeats what it was asked."""
        told = copy.deepcopy(recording(self.backend, self.case.good)["response"])
        return {**told, "request": {"authorization": f"Bearer {self.key}", "asked": self.query}}

    @property
    def good(self) -> bytes:
        return json.dumps(self.found, ensure_ascii=False).encode()

    @property
    def echo(self) -> str:
        return f"no luck with Authorization: Bearer {self.key} and {self.query}"

    def failed(self, status: int, words: str = "") -> bytes:
        """A failure in the service's own form, with key and query in its words."""
        words = words or self.echo
        match self.backend:
            case "dify":
                told: dict[str, Any] = {"code": "failed", "message": words, "status": status}
            case "ragflow":
                told = {"code": status, "data": None, "message": words}
            case "fastgpt":
                told = {"code": status, "statusText": "", "message": words, "data": None}
            case "jinba":
                told = {"status": "failed", "error": {"name": "Error", "message": words}}
            case _:
                told = {"error_code": status, "error_msg": words}
        return json.dumps(told).encode()

    @property
    def page(self) -> bytes:
        said = html.escape(self.query)
        return (
            f"<!DOCTYPE html><html><head><title>{PAGE_MARK}</title></head><body><p>{PAGE_MARK} {said} "
            f"Bearer {self.key}</p></body></html>"
        ).encode()

    def head(self, status: int, headers: dict[str, str | None] | None = None) -> bytes:
        """Status line and headers, both with key and query in them; a header set to None is left out."""
        said = {
            "Content-Type": "application/json",
            "X-Version": "1.14.2" if self.backend == "dify" else None,
            "X-Authorization": f"Bearer {self.key}",
            "X-Asked": self.query,
            "Set-Cookie": f"last={quote(self.query)}; Path=/",
            **(headers or {}),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in said.items() if value is not None)
        return f"HTTP/1.1 {status} for Bearer {self.key}: {self.query}\r\n{lines}\r\n".encode()

    def whole(
        self, status: int = 200, body: bytes | None = None, headers: dict[str, str | None] | None = None
    ) -> bytes:
        """A whole answer, the good one if none is given."""
        body = self.good if body is None else body
        return self.head(status, {"Content-Length": str(len(body)), **(headers or {})}) + body

    def context(self, base: str, timeout: float, **settings: Any) -> RetrievalContext:
        creation = {"api_base_url": base, "api_key": self.key, **settings.get("creation", {})}
        retrieval = {"timeout": timeout, **settings.get("retrieval", {})}
        return context(self.case, settings.get("query", self.query), creation=creation, retrieval=retrieval)

    @cached_property
    def secrets(self) -> frozenset[str]:
        """8 characters of the key, 12 of the query however it is written, or a page."""
        key = self.key.casefold()
        written = {
            self.query,
            quote(self.query),
            quote_plus(self.query),
            html.escape(self.query),
            json.dumps(self.query),
        }
        parts = {q[i : i + 12].casefold() for q in written for i in range(len(q) - 11)}
        parts |= {key[i : i + 8] for i in range(len(key) - 7)}
        return frozenset(parts | {PAGE_MARK.casefold(), "<html", "<!doctype", "</p>"})

    def secrets_in(self, told: str) -> list[str]:
        """Where a text holds a secret."""
        lower = told.casefold()
        places = [place for part in self.secrets if (place := lower.find(part)) >= 0]
        return [f"...{told[max(0, min(places) - 60) : min(places) + 60]}..."] if places else []


KITS = [Kit(case) for case in CASES]


# ---- what a connection can do


raw = partial(service.raw, close=False)
"""Exactly these bytes; the connection stays unless `close` says otherwise."""


def reset(before: bytes = b"") -> Answer:
    """A reset connection, after so many bytes have arrived."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        if before:
            writer.write(before)
            await writer.drain()
            await nap(0.03)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return True

    return answer


async def silence(_: Request, writer: asyncio.StreamWriter) -> bool:
    """Nothing more, and the connection stays."""
    await asyncio.Event().wait()
    return True


def dribble(head: bytes, body: bytes) -> Answer:
    """The head at once, then a byte a second."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        for place in range(len(body)):
            writer.write(body[place : place + 1])
            await writer.drain()
            await nap(1)
        return True

    return answer


def endless(head: bytes, piece: bytes, times: int | None = None) -> Answer:
    """The head, then the same piece so many times or for ever."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        sent = 0
        while times is None or sent < times:
            writer.write(piece)
            await writer.drain()
            sent += 1
        return True

    return answer


# ---- watching


@contextlib.contextmanager
def quick() -> Iterator[list[float]]:
    """Pauses between tries take no time; what was asked for is collected."""
    pauses: list[float] = []

    async def skip(seconds: float, *rest: object) -> None:
        if seconds:
            pauses.append(seconds)
        await nap(0, *rest)

    with mock.patch.object(asyncio, "sleep", skip):
        yield pauses


class Listener(logging.Handler):
    """Every record at every level, formatted with its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextlib.contextmanager
def listening() -> Iterator[list[str]]:
    """All that is logged."""
    root, listener = logging.getLogger(), Listener()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    try:
        yield listener.lines
    finally:
        root.removeHandler(listener)
        root.setLevel(level)


@dataclass
class Outcome:
    """What a call came to."""

    response: RetrievalResponse | None = None
    error: BaseException | None = None
    elapsed: float = 0.0
    requests: int = 0
    connections: int = 0
    lines: list[str] = field(default_factory=list)
    astray: int = 0
    """Requests that went to somebody else."""

    @property
    def kind(self) -> str:
        return (
            type(self.error).__name__
            if self.error
            else f"{len(self.response.results)} entries"
            if self.response
            else "-"
        )

    @property
    def tries(self) -> int:
        return self.error.tries if isinstance(self.error, BridgeError) else 1

    @property
    def text(self) -> str:
        """What the admin reads, without what differs from run to run."""
        told = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", str(self.error or ""))
        told = re.sub(
            r"TLS failed \(.*?\)", "TLS failed (OpenSSL's reason)", told.replace("self signed", "self-signed")
        )
        return re.sub(r"Wait (3600|3599|3598) s", "Wait 3600 s", told)

    def told(self) -> dict[str, str]:
        """Every text that leaves, by where it does."""
        texts = {"log": "\n".join(self.lines)}
        if self.error:
            texts["text"] = str(self.error)
            texts["repr"] = repr(self.error)
            texts["args"] = repr(self.error.args)
            texts["traceback"] = "".join(traceback.format_exception(self.error))
        if self.response:
            texts["metadata"] = repr(self.response.metadata)
            texts["entries' metadata"] = repr([entry.metadata for entry in self.response.results])
        return texts
