"""The only I/O: pooled connections, one deadline, retries, statuses, a cap on size."""

import asyncio
import json
import logging
import re
import socket
import ssl
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any, Self, TypeVar
from urllib.parse import quote_plus, urlsplit

import httpx
import tenacity

from adapters.base import Backend, Question
from adapters.errors import (
    AuthError,
    BridgeError,
    NotFoundError,
    RateLimitedError,
    ResponseError,
    Retry,
    SettingsError,
    UnavailableError,
    shortened,
)
from adapters.network import Network
from adapters.patience import Patience

SIZE_LIMIT = 8 * 1024 * 1024
CONNECT_LIMIT = 5.0
KEPT_ALIVE = 60.0
LANES = 64
KEPT_ANSWERS = 512
TRIES = 3
_PROXY = "Check proxy_url in the plugin's configuration"
HEADERS = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "KnowledgeBridge/0.1"}

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Json = Any
KeptName = tuple[str, bytes, str, str]
E = TypeVar("E", bound=BaseException)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer read whole: `data` is its JSON, None where it is none; `is_json` tells a null from that."""

    status: int
    headers: httpx.Headers
    data: Json
    is_json: bool
    body: bytes
    path: str
    http: "Http"

    @property
    def html(self) -> bool:
        """Whether the body is a web page."""
        return not self.is_json and b"<" in self.body[:512] and "json" not in self.headers.get("content-type", "")

    @property
    def version(self) -> str:
        """What the service calls itself, empty where it doesn't."""
        return str(self.headers.get(self.http.backend.version_header, ""))

    @property
    def said(self) -> str:
        """The status and what the body says about it, made fit to show."""
        words = self.http.backend.words(self.data) if self.is_json else self.body[:400].decode("utf-8", "replace")
        quoted = self.http.quote(words)
        return f"{self.status}: {quoted}" if quoted else f"status {self.status}"


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

    def open(self, backend: Backend, question: Question) -> AbstractAsyncContextManager["Http"]:
        """See Access.open: here with the usual network and for nobody in particular."""
        return Access(self, Network()).open(backend, question)

    @asynccontextmanager
    async def lane(self, backend: Backend, network: Network) -> AsyncIterator[Lane]:
        """The connections to a backend's address over this network; they stay while somebody is inside."""
        parts = urlsplit(backend.api_base_url)
        name = (parts.scheme, parts.netloc, backend.verify_tls, network)
        lane = self._lanes.pop(name, None)
        if lane is None:
            secure = parts.scheme == "https" or network.proxy_url.get_secret_value().startswith("https")
            lane = Lane(self._context(backend.verify_tls, network.ca_certificates) if secure else False, network)
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


@dataclass(frozen=True, slots=True)
class Access:
    """A pool as one installation uses it: over its network, with a memory of its own."""

    pool: Pool
    network: Network
    tenant: str = ""

    @asynccontextmanager
    async def open(self, backend: Backend, question: Question) -> AsyncIterator["Http"]:
        """An Http for one retrieval. What runs inside ends within `options.timeout` seconds, or as UnavailableError.

        What is remembered of an address (answers, failures) is kept apart by address, key and tenant.
        """
        secret = backend.api_key.get_secret_value()
        who = (self.tenant, sha256(f"{backend.api_base_url}\0{secret}".encode()).digest())
        async with self.pool.lane(backend, self.network) as lane:
            http = Http(self.pool, lane, backend, question, who)
            pause = self.pool.patience.call(who) if self.network.pause_after_failures else nullcontext()
            try:
                with pause:
                    try:
                        async with asyncio.timeout(backend.options.timeout):
                            yield http
                    except TimeoutError:
                        raise http.late() from None
            except BridgeError as error:
                raise http.placed(error) from None


@dataclass(slots=True)
class Http:
    """Requests of one retrieval, bound to one backend: its address, key and deadline. Made by `Pool.open`."""

    pool: Pool
    lane: Lane
    backend: Backend
    question: Question
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

    async def get(self, path: str, params: dict[str, str] | None = None, keep: float = 0.0) -> Json:
        """The JSON behind `path`; with `keep` an answer may be that many seconds old. Raises BridgeError."""
        if not keep:
            return await self._send("GET", path, params=params)
        name = (*self.who, path, str(params))
        answer = None if self.fresh else self.pool.kept(name)
        if answer is None:
            answer = await self._send("GET", path, params=params)
            self.pool.keep(name, answer, keep)
        return answer

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
        return f"keys: {self.quote(', '.join(list(value)[:8])) or 'none'}"

    @property
    def where(self) -> str:
        """`<Product> <version> at <host>`."""
        product = f"{self.backend.product} {self.version}".strip()
        return f"{product} at {shortened(urlsplit(self.backend.api_base_url).netloc, 60)}"

    def placed(self, error: BridgeError) -> BridgeError:
        """The error with the service that it belongs to."""
        error.answered = self.answered
        return error if error.where else error.at(self.where)

    def late(self) -> BridgeError:
        """The error of a retrieval that ran into its deadline."""
        why = f" (before that: {self.last.happened})" if self.last else ""
        return UnavailableError(
            f"no answer within {self.backend.options.timeout:g} s{why}",
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
        left = self.backend.options.timeout - (time.monotonic() - self.started)
        return error.retry.after < left and (self.backend.resend or error.retry.unsent)

    def _request(self, method: str, path: str, params: dict[str, str] | None, payload: Json) -> httpx.Request:
        headers = dict(HEADERS)
        if secret := self.backend.api_key.get_secret_value():
            headers["Authorization"] = f"Bearer {secret}"
        content = None
        if method == "POST":
            headers["Content-Type"] = "application/json"
            content = _encode(payload).encode("utf-8", "replace")
        connect = min(CONNECT_LIMIT, self.backend.options.timeout)
        try:
            return httpx.Request(
                method,
                self.lane.url(self.backend.api_base_url + path),
                params=params,
                headers=headers,
                content=content,
                extensions={"timeout": {"connect": connect}},
            )
        except (httpx.InvalidURL, ValueError):
            raise SettingsError(
                "api_base_url is no address that can be asked", "Type it like https://host or http://host:port"
            ) from None

    async def _try(self, request: httpx.Request) -> Json:
        """One exchange; a failure of any kind leaves as BridgeError."""
        self.tries += 1
        try:
            reply = await self._exchange(request)
            if self.backend.accepts(reply):
                return reply.data
            error = self.backend.failure(reply) or _by_status(reply)
        except BridgeError as raised:
            error = raised
        except (httpx.TransportError, OSError) as raised:
            error = _by_exception(raised, proxied=self.lane.proxy is not None)
        self.last = error.at(self.where)
        raise error from None

    async def _exchange(self, request: httpx.Request) -> Reply:
        async with self.lane.connection() as connection:
            response = await connection.handle_async_request(request)
            try:
                self.answered = True
                told = response.headers.get(self.backend.version_header, "")
                if told and not self.version and re.fullmatch(r"v?\d{1,4}(\.\d{1,6}){1,3}([.+-][a-z0-9]{1,8})?", told):
                    self.version = told
                body = await _body(response)
            finally:
                await response.aclose()
        try:
            data, is_json = json.loads(body), True
        except (ValueError, RecursionError):
            data, is_json = None, False
        return Reply(response.status_code, response.headers, data, is_json, body, request.url.path, self)

    def quote(self, words: str) -> str:
        """A message of the service made fit to show: one line, at most 160 characters, no key, query, HTML or traceback."""
        if re.search(r"(?i)<\s*(!doctype|html|head|body|script)|^[\w-]+:[\w.-]+$", words):
            return ""  # a page, or the name of a message that was never filled in
        words = words.partition("Traceback (most recent")[0].partition(" [type=")[0]  # pydantic echoes the input there
        words = re.sub(r"</?[a-zA-Z][^<>]*>", "", words)
        words = " ".join("".join(c if c.isprintable() else " " for c in words[:2000]).split())
        for secret, size in (
            (self.backend.api_key.get_secret_value(), 8),
            *((q, 12) for q in _spellings(self.question)),
        ):
            words = _before_echo(words, secret, size)
        return shortened(words, 160).rstrip(". ")


def _spellings(question: Question) -> tuple[str, ...]:
    """The query as services echo it: plain, in JSON, in a URL, as Python's repr."""
    plain = " ".join(question.asked.split())
    in_url = quote_plus(plain, errors="replace")
    return plain, json.dumps(plain)[1:-1], in_url, in_url.replace("+", "%20"), repr(plain)[1:-1]


def _before_echo(words: str, secret: str, size: int) -> str:
    """`words` up to where they repeat `size` characters of a secret, or all of a shorter one."""
    size = min(size, len(secret))
    lower, hidden = words.casefold(), secret.casefold()
    if not size:
        return words
    echo = next((i for i in range(len(lower) - size + 1) if lower[i : i + size] in hidden), None)
    return words if echo is None else words[:echo].rstrip() + "…"


def _pause(state: tenacity.RetryCallState) -> float:
    """Seconds before the next try: what the failure asks for, at least a random and growing pause."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry.after if isinstance(error, BridgeError) and error.retry else 0.0
    return max(asked, float(tenacity.wait_random_exponential(multiplier=0.2, max=2)(state)))


async def _body(response: httpx.Response) -> bytes:
    """The body, unpacked; ResponseError past SIZE_LIMIT, however it was packed."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", "deflate"):
        raise ResponseError(
            "the answer is packed in an unknown way", "Switch compression off in the proxy before the service"
        )
    inflater = None if packing == "identity" else zlib.decompressobj(wbits=47)
    parts: list[bytes] = []
    room = SIZE_LIMIT
    async for chunk in _stream(response):
        try:
            part = inflater.decompress(chunk, room + 1) if inflater else chunk
        except zlib.error:
            raise ResponseError("the answer's compression is broken", "Check the proxy before the service") from None
        room -= len(part)
        if room < 0:
            raise ResponseError(
                f"the answer is larger than {SIZE_LIMIT // 2**20} MB", "Ask for fewer or smaller passages (top_k)"
            )
        parts.append(part)
    if inflater and not inflater.eof and parts:
        raise ResponseError("the answer's compression is broken off", "Check the proxy before the service")
    return b"".join(parts)


def _stream(response: httpx.Response) -> httpx.AsyncByteStream:
    if not isinstance(response.stream, httpx.AsyncByteStream):  # pragma: no cover - a transport of httpx has no other
        raise TypeError(type(response.stream).__name__)
    return response.stream


def _by_status(reply: Reply) -> BridgeError:
    """What the HTTP status alone says about an answer that wasn't accepted."""
    status, said = reply.status, reply.said
    match status:
        case _ if 200 <= status < 300 and reply.is_json:
            return ResponseError(
                f"the answer is no search result ({said})", "Check api_base_url and the service's version"
            )
        case _ if 200 <= status < 300:
            what = "a web page" if reply.html else "something" if reply.body else "nothing"
            return ResponseError(
                f"the address answered {what} instead of JSON (status {status})",
                "Enter the address of the service's API in api_base_url, not that of its web page",
            )
        case _ if 300 <= status < 400:
            target = reply.http.quote(_origin(reply.headers.get("location", "")))
            return ResponseError(
                f"the address redirects{f' to {target}' if target else ''} (status {status})",
                "Enter the address it leads to in api_base_url",
            )
        case 401 | 403:
            return AuthError(f"the API key was refused ({said})", "Check api_key and what its owner may read")
        case 404 | 410:
            return NotFoundError(
                f"nothing was found at {shortened(reply.path, 80)} ({said})", "Check api_base_url and dataset_id"
            )
        case 407:
            return UnavailableError(f"the proxy refused the request ({said})", _PROXY)
        case 429:
            after = retry_after(reply.headers.get("retry-after", ""))
            return RateLimitedError(
                f"too many requests ({said})",
                f"Wait {f'{after:.0f} s' if 0 < after < 86_400 else 'a while'}, or ask less often",
                retry=Retry(after, unsent=True),
            )
        case 408 | 502 | 503 | 504:
            return UnavailableError(f"the service is not ready ({said})", "Check that it runs", retry=Retry())
        case _ if status >= 500:
            return UnavailableError(f"the service failed ({said})", "Read the service's own log")
    return ResponseError(f"the request was not accepted ({said})", "Check api_base_url and the service's version")


def retry_after(value: str) -> float:
    """Seconds that a Retry-After header asks for; 1.0 where it is missing or says nothing."""
    value = value.strip()
    if re.fullmatch(r"\d{1,12}", value):
        return max(float(value), 1.0)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 1.0)
    except (ValueError, TypeError, OverflowError):
        return 1.0


def _origin(location: str) -> str:
    """Scheme and host of a redirect's target, without user, path and query."""
    try:
        parts = urlsplit(location)
        return shortened(f"{parts.scheme}://{parts.hostname}", 80) if parts.hostname else ""
    except ValueError:
        return ""


def _by_exception(error: Exception, *, proxied: bool) -> BridgeError:
    """Why there was no whole answer."""
    if isinstance(error, httpx.ProxyError):
        status = re.match(r"\d{3}", str(error))
        passing = status is not None and status[0] in ("502", "503", "504")
        refused = f"the proxy refused ({status[0] if status else 'no status'})"
        return UnavailableError(refused, _PROXY, retry=Retry(unsent=True) if passing else None)
    cause = _cause(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return UnavailableError(
            f"the TLS certificate was not accepted ({cause.verify_message})",
            "Give the service a certificate that this machine trusts, or switch verify_tls off",
        )
    if cause is not None:
        reason = (getattr(cause, "reason", None) or "handshake failed").replace("_", " ").lower()
        return UnavailableError(
            f"TLS failed ({shortened(reason, 60)})",
            "Check that the service speaks https at this address, else use http://",
        )
    if _cause(error, socket.gaierror):
        return UnavailableError(
            "the host name is not known",
            f"Check api_base_url{' and proxy_url' if proxied else ''} for a misspelt name",
            retry=Retry(tries=2, unsent=True),
        )
    check = f"Check that the service runs and that this machine can reach it{' through proxy_url' if proxied else ''}"
    if isinstance(error, httpx.ConnectTimeout):
        return UnavailableError("the connection timed out", check, retry=Retry(unsent=True))
    if isinstance(error, httpx.ConnectError):
        return UnavailableError("the connection was refused", check, retry=Retry(unsent=True))
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return SettingsError("the request can't be sent to this address", "Check api_base_url and api_key")
    return UnavailableError("the connection broke off before a whole answer came", check, retry=Retry())


def _cause(error: BaseException, kind: type[E]) -> E | None:
    """The nearest exception of this kind behind `error`."""
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, kind):
            return behind
        behind = behind.__cause__ or behind.__context__
    return None
