"""Answers of a service, made for each kit."""

import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.faults.fault import Place, Places
from tests.faults.kit import Kit
from tests.faults.wire import raw
from tests.service import Answer, Service


def answering(*answers: Callable[[Kit], Answer], tls: Callable[[], ssl.SSLContext] | None = None) -> Places:
    """A service that gives these answers in turn, the last for ever."""

    @asynccontextmanager
    async def place(kit: Kit) -> AsyncIterator[Place]:
        async with Service([make(kit) for make in answers], tls=tls() if tls else None) as service:
            yield Place(service.base, service)

    return place


def whole(
    status: int = 200, body: Callable[[Kit], bytes] | None = None, **headers: str | None
) -> Callable[[Kit], Answer]:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda kit: raw(kit.whole(status, body(kit) if body else None, said))


def failing(status: int, **headers: str | None) -> Callable[[Kit], Answer]:
    return whole(status, lambda kit: kit.failed(status), **headers)


def page(status: int, **headers: str | None) -> Callable[[Kit], Answer]:
    """Somebody's page, with none of the service's headers."""
    said: dict[str, str | None] = {"Content_Type": "text/html; charset=utf-8", "X_Version": None}
    return whole(status, lambda kit: kit.page, **{**said, **headers})


def strange(status: int, told: Any, **headers: str | None) -> Callable[[Kit], Answer]:
    """What somebody else says: JSON, or a text."""
    body = told.encode() if isinstance(told, str) else json.dumps(told).encode()
    kind = "text/plain" if isinstance(told, str) else "application/json"
    return whole(status, lambda _: body, **{"Content_Type": kind, "X_Version": None, **headers})


def bare(status: int) -> Callable[[Kit], Answer]:
    return whole(status, lambda _: b"", Content_Type=None)


def good(kit: Kit) -> Answer:
    return raw(kit.whole())


def named(make: Callable[[Kit], Any]) -> Callable[[Kit], bytes]:
    return lambda kit: json.dumps(make(kit)).encode()
