"""Where a call goes: nobody, a redirect, a proxy."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any
from unittest import mock

from adapters import Network
from tests.certificates import right
from tests.faults.answers import good
from tests.faults.fault import Place, Places
from tests.faults.kit import Kit
from tests.faults.wire import raw
from tests.pauses import nap
from tests.service import Answer, Service, silence


@asynccontextmanager
async def soon(kit: Kit) -> AsyncIterator[Place]:
    """A service that begins to listen after half a second; its port is kept from others until then."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        service = Service([good(kit)], port=kept.getsockname()[1])

        async def begin() -> None:
            await nap(0.5)
            await service.__aenter__()

        beginning = asyncio.create_task(begin())
        yield Place(f"http://127.0.0.1:{service.port}", service)
        await beginning
        await service.__aexit__()


@asynccontextmanager
async def nobody(_: Kit) -> AsyncIterator[Place]:
    """A port that nobody listens at, and that nobody else gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield Place(f"http://127.0.0.1:{bound.getsockname()[1]}")


@asynccontextmanager
async def nowhere(_: Kit) -> AsyncIterator[Place]:
    """A name that is not known."""
    yield Place("http://nowhere.invalid")


def unknown_names() -> AbstractContextManager[Any]:
    """A resolver that knows nothing under .invalid, without asking anybody."""
    known = socket.getaddrinfo

    def look_up(host: Any, *args: Any, **settings: Any) -> Any:
        if str(host).endswith(".invalid") or bytes(str(host), "ascii").endswith(b".invalid'"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return known(host, *args, **settings)

    return mock.patch.object(socket, "getaddrinfo", look_up)


@asynccontextmanager
async def no_handshake(kit: Kit) -> AsyncIterator[Place]:
    """https at a port where a connection is taken and nothing is said."""
    async with Service([silence]) as service:
        yield Place(service.base.replace("http://", "https://"), service)


@contextlib.contextmanager
def closing() -> Iterator[None]:
    """Every connection closed at the end: httpcore leaves one whose handshake was cut off to the garbage collector."""
    loop = asyncio.get_running_loop()
    connect, opened = loop.create_connection, []

    async def noted(*args: Any, **settings: Any) -> Any:
        made = await connect(*args, **settings)
        opened.append(made[0])
        return made

    with mock.patch.object(loop, "create_connection", noted):
        yield
    for transport in opened:
        transport.abort()


@asynccontextmanager
async def plain_behind_https(kit: Kit) -> AsyncIterator[Place]:
    """https at the port of a service that speaks plain http."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(kit.whole(400, kit.page, {"Connection": "close"}))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield Place(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")


def by_proxy(scheme: str, *answers: Callable[[Kit], Answer]) -> Places:
    """A service that would answer well, behind a proxy that answers like this; its password is the key."""

    @asynccontextmanager
    async def place(kit: Kit) -> AsyncIterator[Place]:
        async with (
            Service([good(kit)], tls=right() if scheme == "https" else None) as service,
            Service([make(kit) for make in answers]) as proxy,
        ):
            network = Network.of({"proxy_url": f"http://ada:{kit.key}@127.0.0.1:{proxy.port}"})
            yield Place(service.base, proxy, [service], network)

    return place


def no_proxy(scheme: str) -> Places:
    """A proxy that is not there."""

    @asynccontextmanager
    async def place(kit: Kit) -> AsyncIterator[Place]:
        async with nobody(kit) as gone, Service([good(kit)]) as service:
            base = service.base.replace("http:", f"{scheme}:")
            network = Network.of({"proxy_url": gone.base.replace("//", f"//ada:{kit.key}@")})
            yield Place(base, Service(), [service], network)

    return place


def redirecting(status: int) -> Places:
    """A redirect to a second service, which would answer well."""

    @asynccontextmanager
    async def place(kit: Kit) -> AsyncIterator[Place]:
        async with Service([raw(kit.whole())]) as other:
            target = f"{other.base}/login?asked={kit.key}"
            answer = raw(kit.whole(status, kit.page, {"Location": target, "Content-Type": "text/html"}))
            async with Service([answer]) as service:
                yield Place(service.base, service, [other])

    return place
