"""Connections kept alive between calls, and answers kept for a while."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import urlsplit

import httpx

from bridge.errors import SettingsError
from bridge.http.network import Network
from bridge.http.patience import Patience
from bridge.http.reply import Json
from bridge.http.service import Service

KEPT_ALIVE = 60.0
LANES = 64
KEPT_ANSWERS = 512

KeptName = tuple[str, bytes, str, str]


class Lane:
    """The connections to one address: `max_connections`, each used by one request at a time, the warmest first.

    Each is a transport of its own, since httpx's pool spends more on choosing a connection than on using it.
    """

    def __init__(self, verify: ssl.SSLContext | bool, network: Network) -> None:
        self.users = 0
        proxy = network.proxy_url.get_secret_value()
        self.proxy = httpx.Proxy(proxy) if proxy else None
        self._verify = verify
        self._turns = asyncio.Semaphore(network.max_connections)
        self._urls: dict[str, httpx.URL] = {}
        self._idle: list[tuple[float, httpx.AsyncHTTPTransport]] = []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[httpx.AsyncHTTPTransport]:
        """A connection for one request, in the order of asking."""
        async with self._turns:
            transport = self._idle.pop()[1] if self._idle else self._new()
            try:
                yield transport
            except BaseException:
                await transport.aclose()
                raise
            now = time.monotonic()
            self._idle.append((now, transport))
            if self._idle[0][0] < now - KEPT_ALIVE:
                await self._idle.pop(0)[1].aclose()

    def url(self, text: str) -> httpx.URL:
        """A parsed URL; the last ones are kept, since parsing is a twentieth of a call."""
        if text not in self._urls:
            if len(self._urls) >= LANES:
                self._urls.clear()
            self._urls[text] = httpx.URL(text)
        return self._urls[text]

    def _new(self) -> httpx.AsyncHTTPTransport:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_ALIVE)
        return httpx.AsyncHTTPTransport(verify=self._verify, trust_env=False, limits=limits, proxy=self.proxy)

    async def close(self) -> None:
        """Close what is not in use."""
        while self._idle:
            await self._idle.pop()[1].aclose()


class Pool:
    """Connections kept alive between calls, for any number of services and keys; nothing in it belongs to a key.

    `async with Pool() as pool`, or `close` it. One pool belongs to one event loop.
    """

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, str, bool, Network], Lane] = {}
        self._contexts: dict[tuple[bool, str], ssl.SSLContext] = {}
        self._answers: dict[KeptName, tuple[float, Json]] = {}
        self.patience = Patience()
        # at DEBUG httpcore writes down the service's headers, and a service may echo the key in them
        logging.getLogger("httpcore").setLevel(logging.INFO)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; the pool can be used again."""
        lanes, self._lanes = list(self._lanes.values()), {}
        self._answers.clear()
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
            lane = Lane(self._context(service.verify_tls, network.ca_certificates) if secure else False, network)
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
        for name in [name for name in self._answers if name[0] == tenant]:
            del self._answers[name]

    def kept(self, name: KeptName) -> Json | None:
        """An answer kept under this name, while it is fresh."""
        until, answer = self._answers.get(name, (0.0, None))
        return answer if until > time.monotonic() else None

    def keep(self, name: KeptName, answer: Json, seconds: float) -> None:
        """Keep an answer for so many seconds; the oldest goes where there are too many."""
        self._answers.pop(name, None)
        if len(self._answers) >= KEPT_ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._answers[name] = (time.monotonic() + seconds, answer)
