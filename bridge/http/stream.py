"""Bytes over asyncio's own transports, for httpcore: its usual way through anyio costs a third of an exchange."""

import asyncio
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore

STAGGER = 0.25
"""Seconds until a host's next address is tried beside the first."""
BUFFER_LIMIT = 1024 * 1024
"""Unread bytes after which nothing more is taken from the socket."""


class Stream(httpcore.AsyncNetworkStream, asyncio.Protocol):
    """One connection. Reads and writes raise httpcore's errors; time limits are the caller's business."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._chunks: list[bytes] = []
        self._waiting: asyncio.Future[None] | None = None
        self._ended = self._paused = False
        self._lost: Exception | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109
        """What has come, at least a byte; nothing at the end."""
        if not self._chunks and not self._ended:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        data = b"".join(self._chunks)
        if not data and self._lost:
            raise httpcore.ReadError(str(self._lost)) from self._lost
        self._chunks = [data[max_bytes:]] if len(data) > max_bytes else []
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data[:max_bytes]

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109
        """Hand the bytes over, waiting while the socket takes no more."""
        self._transport.write(buffer)
        if not self._writable.is_set():
            await self._writable.wait()
        if self._lost:
            raise httpcore.WriteError(str(self._lost)) from self._lost

    async def aclose(self) -> None:
        """Close at once, without waiting for the other side."""
        self._transport.close()
        try:
            await asyncio.sleep(0)
        finally:
            self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> "Stream":
        """The same connection, encrypted."""
        loop = asyncio.get_running_loop()
        try:
            with _connecting():
                async with asyncio.timeout(timeout):
                    secure = await loop.start_tls(self._transport, self, ssl_context, server_hostname=server_hostname)
        except BaseException as error:
            self._transport.abort()
            if isinstance(error.__cause__, ConnectionError):  # asyncio's word for a handshake that was broken off
                raise httpcore.ConnectError from ssl.SSLEOFError()
            raise
        if secure is None:  # closed in the same moment
            raise httpcore.ConnectError from ssl.SSLEOFError()
        self._transport = secure
        return self

    def get_extra_info(self, info: str) -> Any:
        """`is_readable`: whether anything came that nobody asked for, the end for one; else what the transport knows."""
        if info == "is_readable":
            return self._ended or bool(self._chunks)
        return self._transport.get_extra_info(info)

    # ---- what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._chunks.append(data)
        if not self._paused and len(self._chunks) > 1 and sum(map(len, self._chunks)) > BUFFER_LIMIT:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._lost = True, exc
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _wake(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)


class Streams(httpcore.AsyncNetworkBackend):
    """Opens such connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> Stream:
        """Connect to the first of the host's addresses that answers."""
        loop = asyncio.get_running_loop()
        numeric = ":" in host or host.replace(".", "").isdigit()
        stagger = None if numeric else STAGGER  # CPython's race leaves a socket to the collector when it's cancelled
        with _connecting():
            async with asyncio.timeout(timeout):
                _, stream = await loop.create_connection(Stream, host, port, happy_eyeballs_delay=stagger)
        return stream


@contextmanager
def _connecting() -> Iterator[None]:
    """The network's errors in httpcore's terms."""
    try:
        yield
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(str(error)) from error
    except (OSError, UnicodeError) as error:  # a host that can't be a name is as unknown as any
        raise httpcore.ConnectError(str(error)) from error
