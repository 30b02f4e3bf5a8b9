"""One retrieval's requests: the deadline, the tries, the notes."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urlencode, urlsplit

import httpcore
import tenacity

from bridge.errors import BridgeError, UnavailableError, shortened
from bridge.http.faults import BROKEN, by_exception, by_status
from bridge.http.memory import KeptName
from bridge.http.network import Network
from bridge.http.pool import Lane, Pool
from bridge.http.privacy import Privacy
from bridge.http.redirects import is_followed
from bridge.http.reply import Json, Reply, read
from bridge.http.request import Request
from bridge.http.service import Service
from bridge.values import from_json, to_json

CONNECT_LIMIT = 5.0
TRIES = 3
KEPT_AT_MOST = 86_400.0
"""Seconds after which a kept answer counts no longer."""
HEADERS = (
    (b"Accept", b"application/json"),
    (b"Accept-Encoding", b"gzip"),
    (b"User-Agent", b"KnowledgeBridge/0.2"),
)
VERSION = re.compile(r"v?\d{1,4}(\.\d{1,6}){1,3}([.+-][a-z0-9]{1,8})?")


@dataclass(frozen=True, slots=True)
class Access:
    """A pool as one installation uses it: over its network, with a memory of its own."""

    pool: Pool
    network: Network = field(default_factory=Network)
    tenant: str = ""

    @asynccontextmanager
    async def open(self, service: Service, asked: str = "") -> AsyncIterator["Http"]:
        """An Http for one retrieval. What runs inside ends within the service's timeout, or as UnavailableError.

        `asked` is kept out of every text, like the key. What is remembered of an address (answers, failures) is kept
        apart by address, key and tenant.
        """
        key = service.api_key.get_secret_value()
        own_query = service.own_query.get_secret_value()
        who = (self.tenant, sha256(f"{service.api_base_url}\0{own_query}\0{key}".encode()).digest())
        async with self.pool.lane(service, self.network) as lane:
            http = Http(self, lane, service, Privacy(key, asked, own_query), who)
            pause = self.pool.patience.call(who) if self.network.pause_after_failures else nullcontext()
            try:
                with pause:
                    try:
                        async with asyncio.timeout(service.timeout):
                            yield http
                    except TimeoutError:
                        raise http.late() from None
            except BridgeError as error:
                http.doubt()
                raise http.placed(error) from None


@dataclass(slots=True)
class Http:
    """Requests of one retrieval, bound to one service: its address, key and deadline. Made by `Access.open`."""

    access: Access
    lane: Lane
    service: Service
    privacy: Privacy
    who: tuple[str, bytes]
    """Tenant, and a digest of address and key: whose memory this is."""
    started: float = field(default_factory=time.monotonic)
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

    async def get(self, path: str, params: dict[str, str] | None = None, keep: float = 0.0) -> Json:
        """The JSON behind `path`. Raises BridgeError.

        With `keep` an answer is kept, and counts as it is for that many seconds. After that it is asked for anew beside
        the call, for the next one; after a day, or a failure of a call that relied on it, before anything else.
        """
        if not keep:
            return await self._send("GET", path, params=params)
        memory, name = self.access.pool.memory, (*self.who, path, str(params))
        kept = None if self.fresh else memory.get(name)
        if kept is None or kept.age > KEPT_AT_MOST:
            answer = await self._send("GET", path, params=params)
            memory.keep(name, answer)
            return answer
        self.relied_on.append(name)
        if kept.age > keep:
            self.access.pool.beside.start(name, lambda: self._renew(name, path, params))
        return kept.answer

    async def _renew(self, name: KeptName, path: str, params: dict[str, str] | None) -> None:
        """Ask anew for what is kept under `name`; a failure leaves it as it is, since the search shows what is wrong."""
        pool = self.access.pool
        with suppress(BridgeError, TimeoutError):
            async with asyncio.timeout(self.service.timeout), pool.lane(self.service, self.access.network) as lane:
                http = Http(self.access, lane, self.service, self.privacy, self.who)
                pool.memory.keep(name, await http.get(path, params))

    def doubt(self) -> None:
        """After a failure of the service's: what was kept may be what misled the call, so it is asked for again."""
        if self.answered:
            for name in self.relied_on:
                self.access.pool.memory.drop(name)

    async def post(self, path: str, payload: Json) -> Json:
        """The JSON that `payload` is answered with. Raises BridgeError."""
        return await self._send("POST", path, payload=payload)

    def note(self, text: str) -> None:
        """Tell the admin something that is no failure; it reaches the log and the response's metadata."""
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
        return error if error.where else error.at(self.where)

    def late(self) -> BridgeError:
        """The error of a retrieval that ran into its deadline."""
        why = f" (before that: {self.last.happened})" if self.last else ""
        return UnavailableError(
            f"no answer within {self.service.timeout:g} s{why}",
            "Check the service, or raise timeout in the retrieval settings",
        ).at(self.where, self.tries)

    # ---- one request with its retries

    async def _send(
        self, method: str, path: str, *, params: dict[str, str] | None = None, payload: Json = None
    ) -> Json:
        request = self._request(method, path, params, payload)
        self.tries = 0
        try:
            return await self._try(request)
        except BridgeError as error:
            failed: BridgeError | None = error
        tries = 1

        async def again() -> Json:
            # tenacity costs as much as all the rest of a call, so it comes in with the first failure, as its first try
            nonlocal failed, tries
            if failed:
                first, failed = failed, None
                raise first
            tries += 1
            return await self._try(request)

        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(TRIES),
            retry=tenacity.retry_if_exception(lambda error: self._may_retry(error, tries)),
            wait=_pause,
            reraise=True,
        )
        try:
            return await retrying(again)
        except BridgeError as error:
            raise error.at(self.where, tries) from None

    def _may_retry(self, error: BaseException, tries: int) -> bool:
        if not isinstance(error, BridgeError) or error.retry is None or tries >= error.retry.tries:
            return False
        left = self.service.timeout - (time.monotonic() - self.started)
        return error.retry.after < left and (self.service.resend or error.retry.unsent)

    def _request(self, method: str, path: str, params: dict[str, str] | None, payload: Json) -> Request:
        own = self.privacy.own_query
        query = "&".join(filter(None, (urlencode(params), own))) if params else own
        text = self.service.api_base_url + path
        target = self.lane.target(f"{text}?{query}" if query else text)
        headers = [(b"Host", target.host), *HEADERS]
        if self.privacy.key:
            headers.append((b"Authorization", f"Bearer {self.privacy.key}".encode()))
        content = None
        if method == "POST":
            content = to_json(payload)
            headers += (b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(content))
        connect = min(CONNECT_LIMIT, self.service.timeout)
        return Request(
            target,
            httpcore.Request(
                method, target.url, headers=headers, content=content, extensions={"timeout": {"connect": connect}}
            ),
        )

    async def _try(self, request: Request) -> Json:
        """One exchange; a failure of any kind leaves as BridgeError."""
        self.tries += 1
        try:
            reply = await self._exchange(request)
            if 300 <= reply.status < 400 and is_followed(
                reply, request.sent.method.decode(), request.target.url.host.decode()
            ):
                reply = await self._exchange(request.with_slash())
            if self.service.accepts(reply):
                return reply.data
            error = self.service.failure(reply) or by_status(reply)
        except BridgeError as raised:
            error = raised
        except (*BROKEN, OSError) as raised:
            error = by_exception(raised, proxied=self.lane.proxy is not None)
        self.last = error.at(self.where)
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


def _pause(state: tenacity.RetryCallState) -> float:
    """Seconds before the next try: what the failure asks for, at least a random and growing pause."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry.after if isinstance(error, BridgeError) and error.retry else 0.0
    return max(asked, float(tenacity.wait_random_exponential(multiplier=0.2, max=2)(state)))
