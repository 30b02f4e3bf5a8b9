"""Connections kept alive between calls."""

import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import urlsplit

import httpcore
import httpx

from bridge.beside import Beside
from bridge.errors import SettingsError
from bridge.http.lane import Lane, core_of, url_of
from bridge.http.memory import Memory
from bridge.http.network import Network
from bridge.http.patience import Patience
from bridge.http.service import Service

LANES = 64


class Pool:
    """Connections kept alive between calls, for any number of services and keys; nothing in it belongs to a key.

    `async with Pool() as pool`, or `close` it. One pool belongs to one event loop.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lanes: dict[tuple[str, str, bool, Network], Lane] = {}
        self._contexts: dict[tuple[bool, str], ssl.SSLContext] = {}
        self.memory = Memory(clock)
        self.beside = Beside()
        self.patience = Patience(clock)
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
            core_of(httpx.URL("http://localhost")).origin, network_backend=answer
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
            lane = Lane(url_of(service.api_base_url), context, network, self.clock, self.beside)
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
