"""The remote service of a case: a real HTTP server that answers as the case says and remembers what it was asked."""

import asyncio
import copy
import json
import socket
import ssl
from functools import partial
from typing import Any

from tests.field_cases.answers import chosen
from tests.service import Answer, Request, Service, raw, reset


class Site(Service):
    """One address; where it is, is known before it is opened. Without a case it answers everything with {}."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        bound = socket.socket()
        bound.bind(("127.0.0.1", 0))
        super().__init__(tls=tls, bound=bound)
        self.host = f"127.0.0.1:{bound.getsockname()[1]}"
        self.base = f"{'https' if tls else 'http'}://{self.host}"
        self.case: dict[str, Any] = {}
        self.hang_ups = 0
        self.opened = False

    async def open(self) -> None:
        if not self.opened:
            self.opened = True
            await self.__aenter__()

    async def close(self) -> None:
        if self.opened:
            await self.__aexit__()
        assert self.bound
        self.bound.close()

    def _answer(self, request: Request) -> Answer:
        return partial(self._give, self._chosen(request))

    def _chosen(self, request: Request) -> dict[str, Any]:
        if not self.case:
            return {"status": 200, "body": {}}
        answer, turned = chosen(self.case, request, self.turn)
        self.turn += turned
        return answer

    async def _give(self, answer: dict[str, Any], request: Request, writer: asyncio.StreamWriter) -> bool:
        if answer.get("delay_s") and await self._gone(request, answer["delay_s"]):
            return True
        match answer.get("fault"):
            case "reset":
                return bool(await reset()(request, writer))
            case "drop":
                return True
        body = written(answer, request)
        length = answer.get("content_length", len(body))
        headers = {"content-type": "application/json", **answer.get("headers", {}), "content-length": str(length)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {answer['status']} Status\r\n{lines}\r\n".encode("latin-1")
        whole = "cut_at" not in answer and length == len(body)
        return bool(await raw(head + body[: answer.get("cut_at")], close=not whole)(request, writer))

    async def _gone(self, request: Request, seconds: float) -> bool:
        """Whether the client left before its answer was due."""
        gone = asyncio.ensure_future(request.reader.read(1))
        done, _ = await asyncio.wait({gone}, timeout=seconds)
        self.hang_ups += len(done)
        gone.cancel()
        await asyncio.wait({gone})  # nobody else may read before
        return bool(done)


def written(answer: dict[str, Any], request: Request) -> bytes:
    """An answer's body; with `paginate` only the page that was asked for."""
    if "raw_body" in answer:
        return str(answer["raw_body"]).encode()
    content: Any = copy.deepcopy(answer.get("body"))
    if answer.get("paginate"):
        page, size = int(request.json.get("page", 1)), int(request.json.get("page_size", 30))
        content["data"]["chunks"] = content["data"]["chunks"][(page - 1) * size : page * size]
    return json.dumps(content, ensure_ascii=False).encode()
