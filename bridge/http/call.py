"""One retrieval's requests: the deadline, the tries, the notes."""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import httpcore

from bridge.errors import BridgeError, ResponseError, UnavailableError, shortened
from bridge.http.faults import BROKEN, by_exception, by_status
from bridge.http.lane import Lane
from bridge.http.memory import KeptName
from bridge.http.network import Network
from bridge.http.pool import Pool
from bridge.http.privacy import Privacy
from bridge.http.redirects import is_followed
from bridge.http.reply import Json, Reply, packed, read
from bridge.http.request import Request
from bridge.http.retry import Retries, Watch
from bridge.http.service import Service
from bridge.values import from_json, to_json

CONNECT_LIMIT = 5.0
PROBE_LIMIT = 2.0
"""Seconds that a probe of an address that is left alone takes to connect."""
KEPT_AT_MOST = 86_400.0
"""Seconds after which a kept answer counts no longer."""
HEADERS = (
    (b"Accept", b"application/json"),
    (b"Accept-Encoding", b"gzip"),
    (b"User-Agent", b"KnowledgeBridge/0.3"),
)
VERSION = re.compile(r"v?\d{1,4}(\.\d{1,6}){1,3}([.+-][a-z0-9]{1,8})?")


@dataclass(slots=True)
class Http:
    """Requests of one retrieval, bound to one service: its address, key and deadline. Made by `Access.open`."""

    pool: Pool
    network: Network
    lane: Lane
    service: Service
    privacy: Privacy
    who: tuple[str, bytes]
    """Tenant, and a digest of address and key: whose memory this is."""
    started: float
    """By the pool's clock."""
    tries: int = 0
    answered: bool = False
    version: str = ""
    notes: list[str] = field(default_factory=list)
    last: BridgeError | None = None
    unread: int = 0
    """Records that the service found and that nobody needed to read."""
    fresh: bool = False
    """Whether answers that were kept don't count."""
    relied_on: list[KeptName] = field(default_factory=list)
    """The kept answers that counted."""
    probe: bool = False
    """Whether the address is left alone and this call finds out about it."""
    watch: Watch | None = None
    """Whom a further try is told to."""

    async def get(self, path: str, params: dict[str, str] | None = None, keep: float = 0.0) -> Json:
        """The JSON behind `path`. Raises BridgeError.

        With `keep` an answer is kept, and counts as it is for that many seconds. After that it is asked for anew beside
        the call, for the next one; after a day, or a failure of a call that relied on it, before anything else.
        """
        if not keep:
            return await self._send("GET", path, params=params)
        memory, name = self.pool.memory, (*self.who, path, str(params))
        kept = None if self.fresh else memory.get(name)
        if kept is None or kept.age > KEPT_AT_MOST:
            answer = await self._send("GET", path, params=params)
            memory.keep(name, answer)
            return answer
        self.relied_on.append(name)
        if kept.age > keep:
            self.pool.beside.start(name, lambda: self._renew(name, path, params))
        return kept.answer

    async def look_up(self, path: str, keep: float) -> Json | None:
        """As `get`, for what a search can do without: None where the service answers but can't tell.

        That the key was refused, or that nothing is there, is raised all the same.
        """
        try:
            return await self.get(path, keep=keep)
        except (ResponseError, UnavailableError):
            if not self.answered:
                raise
            return None

    async def _renew(self, name: KeptName, path: str, params: dict[str, str] | None) -> None:
        """Ask anew for what is kept under `name`; a failure leaves it as it is, since the search shows what is wrong."""
        pool = self.pool
        with suppress(BridgeError, TimeoutError):
            async with asyncio.timeout(self.service.timeout), pool.lane(self.service, self.network) as lane:
                http = Http(self.pool, self.network, lane, self.service, self.privacy, self.who, pool.clock())
                pool.memory.keep(name, await http.get(path, params))

    def doubt(self) -> None:
        """After a failure of the service's: what was kept may be what misled the call, so it is asked for again."""
        if self.answered:
            for name in self.relied_on:
                self.pool.memory.drop(name)

    async def post(self, path: str, payload: Json) -> Json:
        """The JSON that `payload` is answered with. Raises BridgeError."""
        return await self._send("POST", path, payload=payload)

    def note(self, text: str) -> None:
        """Tell the admin something that is no failure; it reaches the log and the response's metadata, once."""
        if text not in self.notes:
            self.notes.append(text)

    def seen(self, value: Json) -> str:
        """The names on the top level of an answer, made fit to show."""
        if not isinstance(value, dict):
            return f"a JSON {'list' if isinstance(value, list) else type(value).__name__}"
        keys = f"keys: {self.privacy.quote(', '.join(list(value)[:8])) or 'none'}"
        other = self.service.resembled(value)
        return f"{keys}; this looks like {other}" if other else keys

    @property
    def where(self) -> str:
        """`<Product> <version> at <host>`."""
        product = f"{self.service.product} {self.version}".strip()
        return f"{product} at {shortened(urlsplit(self.service.api_base_url).netloc, 60)}"

    def placed(self, error: BridgeError) -> BridgeError:
        """The error with the service that it belongs to."""
        error.answered = self.answered and not error.foreign
        error.version = self.version
        return error if error.where else error.at(self.where, self.tries)

    def late(self) -> BridgeError:
        """The error of a retrieval that ran into its deadline."""
        why = f" (before that: {self.last.happened})" if self.last else ""
        error = UnavailableError(
            f"no answer within {self.service.timeout:g} s{why}",
            "Check the service, or raise timeout in the retrieval settings",
        ).at(self.where, self.tries)
        error.by_address = True
        return error

    # ---- one request with its retries

    async def _send(
        self, method: str, path: str, *, params: dict[str, str] | None = None, payload: Json = None
    ) -> Json:
        request = self._request(method, path, params, payload)
        self.tries = 0
        try:
            return await self._try(request)
        except BridgeError as error:
            if self.probe and error.by_address:
                raise
            failed = error
        service, clock = self.service, self.pool.clock
        retries = Retries(service.timeout, self.started + service.timeout, service.resend, clock, self.watch)
        return await retries.after(failed, lambda: self._try(request))

    def _request(self, method: str, path: str, params: dict[str, str] | None, payload: Json) -> Request:
        own = self.privacy.own_query
        query = "&".join(filter(None, (urlencode(params), own))) if params else own
        text = self.service.api_base_url + path
        target = self.lane.target(f"{text}?{query}" if query else text)
        headers = [(b"Host", target.host), *HEADERS]
        if self.privacy.key:
            name, before = self.service.key_header
            headers.append((name.encode(), f"{before}{self.privacy.key}".encode()))
        content = None
        if method == "POST":
            content = to_json(payload)
            headers += (b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(content))
        connect = min(PROBE_LIMIT if self.probe else CONNECT_LIMIT, self.service.timeout)
        extensions = {"timeout": {"connect": connect}}
        sent = httpcore.Request(method, target.url, headers=headers, content=content, extensions=extensions)
        return Request(target, sent)

    async def _try(self, request: Request) -> Json:
        """One exchange; a failure of any kind leaves as BridgeError."""
        self.tries += 1
        told: BridgeError | None = None
        try:
            reply = await self._exchange(request)
            if 300 <= reply.status < 400 and is_followed(
                reply, request.sent.method.decode(), request.target.url.host.decode()
            ):
                reply = await self._exchange(request.with_slash())
            if self.service.accepts(reply):
                self.lane.answers += 1
                return reply.data
            told = packed(reply) or self.service.failure(reply)
            error = told or by_status(reply)
        except BridgeError as raised:
            error = told = raised
        except (*BROKEN, OSError) as raised:
            error = by_exception(raised, proxied=self.lane.proxy is not None)
        # what the service says in its own words is about a dataset, a model or a key; what else may pass is the address's
        error.by_address = told is None and isinstance(error, UnavailableError) and error.retry is not None
        if self.answered and not error.by_address:
            self.lane.answers += 1
        self.last = error.at(self.where, self.tries)
        raise error from None

    async def _exchange(self, request: Request) -> Reply:
        async with self.lane.connection() as connection:
            response = await connection.handle_async_request(request.sent)
            try:
                self.answered = True
                headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
                told = headers.get(self.service.version_header, "")
                if told and not self.version and VERSION.fullmatch(told):
                    self.version = told
                body = await read(response.stream, headers)
            finally:
                await response.aclose()
        data, is_json = from_json(body)
        words, quote = self.service.words, self.privacy.quote
        proxied = self.lane.proxy is not None
        return Reply(response.status, headers, data, is_json, body, request.target.path, told, words, quote, proxied)
