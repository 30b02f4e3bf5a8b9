"""Connections kept alive between calls."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, Self
from urllib.parse import urlsplit

import httpcore
import httpx

from bridge.beside import Beside
from bridge.errors import SettingsError
from bridge.http.memory import Memory
from bridge.http.network import Network
from bridge.http.patience import Patience
from bridge.http.service import Service
from bridge.http.stream import Streams

KEPT_ALIVE = 60.0
LANES = 64


Connection = httpcore.AsyncHTTPConnection | httpcore.AsyncHTTPProxy


class Lane:
    """The connections to one address: `max_connections`, each used by one request at a time, the warmest first.

    Each is a connection of httpcore's, below httpx's pool, which spends more on choosing one than on using it.
    """

    def __init__(self, base: httpx.URL, context: ssl.SSLContext | None, network: Network) -> None:
        self.users = 0
        proxy = network.proxy_url.get_secret_value()
        self.proxy = httpx.Proxy(proxy) if proxy else None
        self._origin = _core(base).origin
        self._context = context
        self._turns = asyncio.Semaphore(network.max_connections)
        self._targets: dict[str, Target] = {}
        self._idle: list[tuple[float, Connection]] = []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for one request, in the order of asking."""
        async with self._turns:
            connection = await self._warm() or self._new()
            try:
                yield connection
            except BaseException:
                await connection.aclose()
                raise
            now = time.monotonic()
            self._idle.append((now, connection))
            if self._idle[0][0] < now - KEPT_ALIVE:
                await self._idle.pop(0)[1].aclose()

    def target(self, text: str) -> "Target":
        """A parsed URL; SettingsError where it is none. The last ones are kept: parsing is a tenth of a call."""
        if text not in self._targets:
            if len(self._targets) >= LANES:
                self._targets.clear()
            url = _url(text)
            self._targets[text] = Target(_core(url), url.netloc, url.path)
        return self._targets[text]

    async def _warm(self) -> Connection | None:
        """The connection last used that the service still holds open."""
        while self._idle:
            _, connection = self._idle.pop()
            if isinstance(connection, httpcore.AsyncHTTPProxy):
                return connection  # a pool of one, which looks for itself
            if not connection.is_closed() and not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    def _new(self) -> Connection:
        if self.proxy is None:
            return httpcore.AsyncHTTPConnection(self._origin, self._context, KEPT_ALIVE, network_backend=Streams())
        return httpcore.AsyncHTTPProxy(
            _core(self.proxy.url),
            proxy_auth=self.proxy.raw_auth,
            proxy_headers=self.proxy.headers.raw,
            ssl_context=self._context,
            proxy_ssl_context=self._context if self.proxy.url.scheme == "https" else None,
            max_connections=1,
            keepalive_expiry=KEPT_ALIVE,
            network_backend=Streams(),
        )

    async def close(self) -> None:
        """Close what is not in use."""
        while self._idle:
            await self._idle.pop()[1].aclose()


class Target(NamedTuple):
    """A URL as it is sent: its parts, the Host header, and the path in words."""

    url: httpcore.URL
    host: bytes
    path: str


def _url(text: str) -> httpx.URL:
    try:
        return httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        raise SettingsError(
            "api_base_url is no address that can be asked", "Type it like https://host or http://host:port"
        ) from None


def _core(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


class Pool:
    """Connections kept alive between calls, for any number of services and keys; nothing in it belongs to a key.

    `async with Pool() as pool`, or `close` it. One pool belongs to one event loop.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lanes: dict[tuple[str, str, bool, Network], Lane] = {}
        self._contexts: dict[tuple[bool, str], ssl.SSLContext] = {}
        self.memory = Memory(clock)
        self.beside = Beside()
        self.patience = Patience()
        # at DEBUG httpcore writes down the service's headers, and a service may echo the key in them
        logging.getLogger("httpcore").setLevel(logging.INFO)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def warm_up(self) -> None:
        """Bring in what a first call would wait for: httpcore's lazy imports, by an exchange in memory, and the roots."""
        answer = httpcore.AsyncMockBackend([b"HTTP/1.1 204 No Content\r\n\r\n"])
        async with httpcore.AsyncHTTPConnection(
            _core(httpx.URL("http://localhost")).origin, network_backend=answer
        ) as one:
            await one.request("GET", "http://localhost")
        self._context(verify=True, certificates="")

    async def close(self) -> None:
        """Close every connection; the pool can be used again."""
        await self.beside.close()
        lanes, self._lanes = list(self._lanes.values()), {}
        for lane in lanes:
            await lane.close()

    @asynccontextmanager
    async def lane(self, service: Service, network: Network) -> AsyncIterator[Lane]:
        """The connections to a service's address over this network; they stay while somebody is inside."""
        parts = urlsplit(service.api_base_url)
        name = (parts.scheme, parts.netloc, service.verify_tls, network)
        lane = self._lanes.pop(name, None)
        if lane is None:
            secure = parts.scheme == "https" or network.proxy_url.get_secret_value().startswith("https")
            context = self._context(service.verify_tls, network.ca_certificates) if secure else None
            lane = Lane(_url(service.api_base_url), context, network)
        self._lanes[name] = lane  # the last used stands last
        lane.users += 1
        try:
            if len(self._lanes) > LANES:
                await self._close_one()
            yield lane
        finally:
            lane.users -= 1

    async def _close_one(self) -> None:
        """Close the address that was longest unused."""
        idle = next((name for name, lane in self._lanes.items() if not lane.users), None)
        if idle is not None:
            await self._lanes.pop(idle).close()

    def _context(self, verify: bool, certificates: str) -> ssl.SSLContext:
        """Made once for equal settings: loading the trust store takes about 20 ms of CPU."""
        name = (verify, certificates)
        if name not in self._contexts:
            context = httpx.create_ssl_context(verify=verify)
            if verify and certificates:
                try:
                    context.load_verify_locations(cadata=certificates)
                except (ssl.SSLError, ValueError):
                    raise SettingsError(
                        "ca_certificates holds no certificate that can be read",
                        "Paste PEM text, -----BEGIN CERTIFICATE----- included, into the plugin's configuration",
                    ) from None
            if len(self._contexts) >= LANES:
                self._contexts.clear()
            self._contexts[name] = context
        return self._contexts[name]

    def forget(self, tenant: str) -> None:
        """Drop what is remembered for an installation; connections carry nothing of it."""
        self.patience.forget(tenant)
        self.memory.forget(tenant)
