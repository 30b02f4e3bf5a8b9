"""The connections to one address, kept alive between calls for as long as it pays and does no harm."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpcore
import httpx

from bridge.beside import Beside
from bridge.errors import SettingsError
from bridge.http.network import Network
from bridge.http.stream import Streams

KEPT_ALIVE = 60.0
"""Seconds after which an unused connection is closed."""
KEPT_IDLE = 4
"""Unused connections that stay open: a small server has few places, and others need some too."""
QUIET = 2.0
"""Seconds after which a connection is unused; under load every one serves again before."""
LOOK = 0.5
"""Seconds between two looks at the connections that are kept."""
STARVED = 1.0
"""Seconds after which a new connection that others overtake may need the place of a kept one."""
TARGETS = 64

Connection = httpcore.AsyncHTTPConnection | httpcore.AsyncHTTPProxy


class Lane:
    """The connections to one address: `max_connections`, each used by one request at a time, the warmest first.

    Each is a connection of httpcore's, below httpx's pool, which spends more on choosing one than on using it. Where
    a server has fewer places than that, new connections wait behind kept ones for theirs; those are closed then.
    """

    def __init__(
        self,
        base: httpx.URL,
        context: ssl.SSLContext | None,
        network: Network,
        clock: Callable[[], float],
        beside: Beside,
    ) -> None:
        self.users = 0
        self.answers = 0
        """How many requests the service itself has answered, whatever it said."""
        proxy = network.proxy_url.get_secret_value()
        self.proxy = httpx.Proxy(proxy) if proxy else None
        self._origin = core_of(base).origin
        self._context = context
        self._clock = clock
        self._beside = beside
        self._turns = asyncio.Semaphore(network.max_connections)
        self._targets: dict[str, Target] = {}
        self._idle: list[tuple[float, Connection]] = []
        self._new: dict[Connection, float] = {}
        """Connections that have given no answer yet, and since when one is waited for."""
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for one request, in the order of asking."""
        async with self._turns:
            began = self._clock()
            connection = await self._warm()
            if connection is None:
                connection = self._made()
                self._new[connection] = began
            try:
                yield connection
            except BaseException:
                await connection.aclose()
                raise
            finally:
                self._new.pop(connection, None)
            if self._new and self._gives_way(began):
                await connection.aclose()
            else:
                self._keep(connection)

    def target(self, text: str) -> "Target":
        """A parsed URL; SettingsError where it is none. The last ones are kept: parsing is a tenth of a call."""
        if text not in self._targets:
            if len(self._targets) >= TARGETS:
                self._targets.clear()
            url = url_of(text)
            self._targets[text] = Target(core_of(url), url.netloc, url.path)
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

    def _made(self) -> Connection:
        if self.proxy is None:
            return httpcore.AsyncHTTPConnection(self._origin, self._context, KEPT_ALIVE, network_backend=Streams())
        return httpcore.AsyncHTTPProxy(
            core_of(self.proxy.url),
            proxy_auth=self.proxy.raw_auth,
            proxy_headers=self.proxy.headers.raw,
            ssl_context=self._context,
            proxy_ssl_context=self._context if self.proxy.url.scheme == "https" else None,
            max_connections=1,
            keepalive_expiry=KEPT_ALIVE,
            network_backend=Streams(),
        )

    def _gives_way(self, began: float) -> bool:
        """Whether a request that began then has overtaken one on a new connection, which may wait for this one's place.

        Each that was overtaken gets one place, and another after as long a wait.
        """
        for other, since in self._new.items():
            if since + STARVED < began:
                self._new[other] = began
                return True
        return False

    def _keep(self, connection: Connection) -> None:
        self._idle.append((self._clock(), connection))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK, self._look)

    def _look(self) -> None:
        """Close what nobody needs, beside everything else, and come back while something is kept."""
        self._timer = None
        if self._idle:
            self._timer = asyncio.get_running_loop().call_later(LOOK, self._look)
        if self._spare():
            self._beside.start(self, self._close_spare)

    def _spare(self) -> bool:
        """Whether the connection that was longest unused is kept for nothing."""
        if not self._idle:
            return False
        unused = self._clock() - self._idle[0][0]
        needed, quiet = (0, STARVED) if self._new else (KEPT_IDLE, QUIET)
        return unused > KEPT_ALIVE or (unused > quiet and len(self._idle) > needed)

    async def _close_spare(self) -> None:
        while self._spare():
            await self._idle.pop(0)[1].aclose()

    async def close(self) -> None:
        """Close what is not in use."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._idle:
            await self._idle.pop()[1].aclose()


class Target(NamedTuple):
    """A URL as it is sent: its parts, the Host header, and the path in words."""

    url: httpcore.URL
    host: bytes
    path: str


def url_of(text: str) -> httpx.URL:
    """An address, parsed; SettingsError where it is none."""
    try:
        return httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        raise SettingsError(
            "api_base_url is no address that can be asked", "Type it like https://host or http://host:port"
        ) from None


def core_of(url: httpx.URL) -> httpcore.URL:
    """The same URL as httpcore takes it."""
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
