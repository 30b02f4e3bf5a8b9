"""Every fault, what it is expected to come to, and the table that a run of them makes."""

import asyncio
import contextlib
import gzip
import html
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock
from urllib.parse import quote

import httpx
import trustme

from adapters import Access, Network, Pool, retrieve
from tests.faults.kit import KITS, Kit, Outcome, dribble, endless, listening, nap, quick, raw, reset, silence
from tests.service import Answer, Service

DOCUMENT = Path(__file__).parents[2] / "docs" / "fault-matrix.md"
AUTH, GONE, LIMITED = "AuthError", "NotFoundError", "RateLimitedError"
AWAY, ODD, SET = "UnavailableError", "ResponseError", "SettingsError"
WORKS = "entries"
SPACE = b" " * 65536
MB = 2**20


class Expected(NamedTuple):
    """An error's class or WORKS, and how many requests the service sees."""

    kind: str
    requests: int


@dataclass
class Place:
    """Where a call goes: the address, the service behind it, and those that must not be asked."""

    base: str
    service: Service = field(default_factory=Service)
    others: list[Service] = field(default_factory=list)
    network: Network = field(default_factory=Network)


Places = Callable[[Kit], AbstractAsyncContextManager[Place]]


@dataclass(frozen=True)
class Fault:
    """A row of the matrix: what happens, and what each service's call comes to."""

    name: str
    place: Places
    kind: str
    requests: int
    differs: dict[str, Expected] = field(default_factory=dict)
    """Services that differ, by their word in the settings."""
    timeout: float = 2.0
    patient: bool = False
    """Time is the subject: pauses are not skipped."""
    warm: bool = False
    """A good call comes first."""
    around: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext
    says: str = ""
    """What every text holds."""

    def expected(self, kit: Kit) -> Expected:
        return self.differs.get(kit.backend, Expected(self.kind, self.requests))


# ---- places


def answering(*answers: Callable[[Kit], Answer], tls: Callable[[], ssl.SSLContext] | None = None) -> Places:
    """A service that gives these answers in turn, the last for ever."""

    @asynccontextmanager
    async def place(kit: Kit) -> AsyncIterator[Place]:
        async with Service([make(kit) for make in answers], tls=tls() if tls else None) as service:
            yield Place(service.base, service)

    return place


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


@asynccontextmanager
async def no_handshake(kit: Kit) -> AsyncIterator[Place]:
    """https at a port where a connection is taken and nothing is said."""
    async with Service([silence]) as service:
        yield Place(service.base.replace("http://", "https://"), service)


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


def unknown_names() -> AbstractContextManager[Any]:
    """A resolver that knows nothing under .invalid, without asking anybody."""
    known = socket.getaddrinfo

    def look_up(host: Any, *args: Any, **settings: Any) -> Any:
        if str(host).endswith(".invalid") or bytes(str(host), "ascii").endswith(b".invalid'"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return known(host, *args, **settings)

    return mock.patch.object(socket, "getaddrinfo", look_up)


# ---- certificates


@cache
def authority() -> trustme.CA:
    return trustme.CA()


def trusted() -> AbstractContextManager[Any]:
    """A machine that trusts the authority."""

    def made(verify: Any = True, **_: Any) -> ssl.SSLContext:
        context = ssl.create_default_context()
        authority().configure_trust(context)
        return context

    return mock.patch.object(httpx, "create_ssl_context", made)


def _shown(*certificates: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for certificate in certificates:
        certificate.configure_cert(context)
    return context


def right() -> ssl.SSLContext:
    return _shown(authority().issue_cert("127.0.0.1"))


def wrong_name() -> ssl.SSLContext:
    return _shown(authority().issue_cert("else.test"))


def expired() -> ssl.SSLContext:
    return _shown(authority().issue_cert("127.0.0.1", not_after=datetime.now(UTC) - timedelta(days=1)))


def unknown_authority() -> ssl.SSLContext:
    return _shown(trustme.CA().issue_cert("127.0.0.1"))


def self_signed() -> ssl.SSLContext:
    own = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with (
        own.cert_pem.tempfile() as certificate,
        own.private_key_pem.tempfile() as key,
    ):
        context.load_cert_chain(certificate, key)
    return context


def old_tls() -> ssl.SSLContext:
    """A service that speaks a cipher no client of today has."""
    context = right()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("NULL-SHA256:@SECLEVEL=0")
    return context


# ---- answers


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


def length(difference: int) -> Callable[[Kit], Answer]:
    return lambda kit: raw(kit.whole(headers={"Content-Length": str(len(kit.good) + difference)}), close=True)


def chunked(kit: Kit, pieces: int = 2) -> bytes:
    """The head and the first half of a good body in chunks, without an end."""
    half = kit.good[: len(kit.good) // 2]
    size = len(half) // pieces
    parts = [half[i * size : (i + 1) * size] for i in range(pieces)]
    return kit.head(200, {"Transfer-Encoding": "chunked"}) + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts)


@cache
def bomb() -> bytes:
    return gzip.compress(b" " * (100 * MB), 9)


def packed(kit: Kit) -> bytes:
    return gzip.compress(kit.good)


def foreign(kit: Kit, charset: str) -> bytes:
    return json.dumps({**kit.found, "note": "grün 退款"}, ensure_ascii=False).encode(charset, "replace")


def named(make: Callable[[Kit], Any]) -> Callable[[Kit], bytes]:
    return lambda kit: json.dumps(make(kit)).encode()


def registered(first: int, last: int) -> list[int]:
    return [status for status in HTTPStatus if first <= status <= last]


# ---- the faults

ONCE = {"jinba": Expected(AWAY, 1)}
"""A run of Jinba costs credits: what may have arrived is not sent again."""

CONNECTIONS = [
    Fault("connection refused", nobody, AWAY, 0, says="refused"),
    Fault("name not known", nowhere, AWAY, 0, around=unknown_names, says="host name is not known"),
    Fault("reset before the headers", answering(lambda _: reset()), AWAY, 3, ONCE, says="broke off"),
    Fault("reset inside the status line", answering(lambda _: reset(b"HTTP/1.1 20")), AWAY, 3, ONCE),
    Fault("reset inside the headers", answering(lambda kit: reset(kit.whole()[:150])), AWAY, 3, ONCE),
    Fault("reset inside the body", answering(lambda kit: reset(kit.whole()[:-40])), AWAY, 3, ONCE),
    Fault("closed before the headers", answering(lambda _: raw(b"", close=True)), AWAY, 3, ONCE),
    Fault("closed inside the headers", answering(lambda kit: raw(kit.whole()[:150], close=True)), AWAY, 3, ONCE),
    Fault("a reset, then a good answer", answering(lambda _: reset(), good), WORKS, 2, ONCE),
    Fault(
        "kept connection closed between calls",
        answering(lambda kit: raw(kit.whole(), close=True), good),
        WORKS,
        2,
        warm=True,
    ),
    Fault(
        "kept connection reset as the next request arrives",
        answering(good, lambda _: reset(), good),
        WORKS,
        3,
        {"jinba": Expected(AWAY, 2)},
        warm=True,
    ),
    Fault("no HTTP at all", answering(lambda _: raw(b"SSH-2.0-OpenSSH_9.7\r\n", close=True)), AWAY, 3, ONCE),
]


def _slow(name: str, answer: Callable[[Kit], Answer]) -> Fault:
    return Fault(name, answering(answer), AWAY, 1, timeout=1.0, patient=True, says="no answer within 1 s")


def _then_silence(before: bytes) -> Answer:
    async def answer(request: Any, writer: asyncio.StreamWriter) -> bool:
        writer.write(before)
        return bool(await silence(request, writer))

    return answer


PATIENCE = [
    _slow("accepted, then silence", lambda _: silence),
    _slow("headers, then silence", lambda kit: _then_silence(kit.head(200, {"Content-Length": "99"}))),
    _slow("one byte of the headers a second", lambda kit: dribble(b"", kit.whole())),
    _slow("one byte of the body a second", lambda kit: dribble(kit.head(200, {"Content-Length": "999"}), kit.good)),
    Fault("a TLS handshake that never ends", no_handshake, AWAY, 0, timeout=1.0, patient=True),
]

BODIES = [
    Fault("Content-Length too small", answering(length(-25)), ODD, 1),
    Fault("Content-Length too large", answering(length(25)), AWAY, 3, ONCE),
    Fault("Content-Length that is no number", answering(whole(Content_Length="many")), AWAY, 3, ONCE),
    Fault("half a body, its length right", answering(whole(body=lambda kit: kit.good[: len(kit.good) // 2])), ODD, 1),
    Fault(
        "chunked body broken off between chunks", answering(lambda kit: raw(chunked(kit), close=True)), AWAY, 3, ONCE
    ),
    Fault(
        "chunked body broken off in a chunk", answering(lambda kit: raw(chunked(kit)[:-20], close=True)), AWAY, 3, ONCE
    ),
    Fault(
        "chunk size that is no number", answering(lambda kit: raw(chunked(kit) + b"zz\r\n", close=True)), AWAY, 3, ONCE
    ),
    Fault(
        "endless headers",
        answering(lambda _: endless(b"HTTP/1.1 200 OK\r\n", b"X-More: more\r\n" * 999)),
        AWAY,
        3,
        ONCE,
    ),
    Fault(
        "endless chunked body",
        answering(lambda kit: endless(kit.head(200, {"Transfer-Encoding": "chunked"}), b"10000\r\n" + SPACE + b"\r\n")),
        ODD,
        1,
        says="larger than 8 MB",
    ),
    Fault(
        "endless body without a length",
        answering(lambda kit: endless(kit.head(200), SPACE)),
        ODD,
        1,
        says="larger than 8 MB",
    ),
    Fault(
        "100 MB body",
        answering(lambda kit: endless(kit.head(200, {"Content-Length": str(100 * MB)}), SPACE, 1600)),
        ODD,
        1,
        says="larger than 8 MB",
    ),
    Fault(
        "gzip bomb of 100 MB",
        answering(whole(body=lambda _: bomb(), Content_Encoding="gzip")),
        ODD,
        1,
        says="larger than 8 MB",
    ),
    Fault(
        "gzip body broken off",
        answering(whole(body=lambda kit: packed(kit)[:-30], Content_Encoding="gzip")),
        ODD,
        1,
        says="compression",
    ),
    Fault("gzip said, plain sent", answering(whole(Content_Encoding="gzip")), ODD, 1, says="compression"),
    Fault("gzip body", answering(whole(body=packed, Content_Encoding="gzip")), WORKS, 1),
    Fault("packed with brotli", answering(whole(Content_Encoding="br")), ODD, 1, says="packed"),
    Fault("empty body", answering(whole(body=lambda _: b"")), ODD, 1),
    Fault("Latin-1 said to be UTF-8", answering(whole(body=lambda kit: foreign(kit, "latin-1"))), ODD, 1),
    Fault(
        "GBK said to be GBK",
        answering(whole(body=lambda kit: foreign(kit, "gbk"), Content_Type="application/json; charset=gbk")),
        ODD,
        1,
    ),
    Fault(
        "UTF-8 said to be Latin-1",
        answering(whole(body=lambda kit: foreign(kit, "utf-8"), Content_Type="application/json; charset=latin-1")),
        WORKS,
        1,
    ),
    Fault("UTF-16", answering(whole(body=lambda kit: foreign(kit, "utf-16"))), WORKS, 1),
    Fault("byte order mark", answering(whole(body=lambda kit: b"\xef\xbb\xbf" + kit.good)), WORKS, 1),
    Fault("good answer said to be text/html", answering(whole(Content_Type="text/html")), WORKS, 1),
    Fault("JSON text instead of an object", answering(whole(body=named(lambda kit: kit.echo))), ODD, 1),
    Fault("JSON list instead of an object", answering(whole(body=named(lambda kit: [kit.echo]))), ODD, 1),
]


def saying(words: Callable[[Kit], str]) -> Callable[[Kit], Answer]:
    """A failure in these words, in the service's form."""
    return whole(418, lambda kit: kit.failed(418, words(kit)))


def redirect_by_name(kit: Kit) -> Answer:
    return raw(kit.whole(302, b"", {"Location": f"https://{kit.key}.example/{kit.key}?asked={quote(kit.query)}"}))


def _traceback(kit: Kit) -> str:
    return f"boom\nTraceback (most recent call last):\n  File 'x.py'\n    search({kit.query!r}, key={kit.key!r})"


def _as_names(kit: Kit) -> Any:
    """An answer that the service's own check lets pass, with the secrets where a shape is told by its keys."""
    names = {kit.key: 1, kit.query: 2, kit.page.decode(): 3}
    match kit.backend:
        case "ragflow":
            return {"code": 0, "data": names}
        case "fastgpt":
            return {"code": 200, "data": names}
        case "jinba":
            return {**names, "status": "success", "stepOutputs": names}
    return names


def _informed(status: int, kit: Kit) -> Answer:
    return raw(b"HTTP/1.1 %d Info\r\nLink: </a>\r\n\r\n" % status + kit.whole())


def _failed_step(kit: Kit) -> Any:
    """200 and a failure inside, as far as the service has such a thing."""
    match kit.backend:
        case "jinba":
            step = {"status": "failed", "error": {"name": kit.key, "message": kit.query}}
            return {"status": "success", "stepOutputs": {"search": step}}
        case "dify":
            return {"error": kit.echo, "code": kit.key}
    return json.loads(kit.failed(1999))


FAILED_INSIDE = {"ragflow": Expected(AWAY, 2), "external_knowledge": Expected(AWAY, 2)}
ECHOES = [
    Fault("key and query in plain words", answering(saying(lambda kit: kit.echo)), ODD, 1),
    Fault("key alone, in capitals", answering(saying(lambda kit: kit.key.upper())), ODD, 1),
    Fault("query alone", answering(saying(lambda kit: kit.query)), ODD, 1),
    Fault("query escaped for HTML", answering(saying(lambda kit: html.escape(kit.query))), ODD, 1),
    Fault("query escaped for a URL", answering(saying(lambda kit: quote(kit.query))), ODD, 1),
    Fault("query escaped for JSON", answering(saying(lambda kit: json.dumps(kit.query))), ODD, 1),
    Fault("a page in a failure's words", answering(saying(lambda kit: kit.page.decode())), ODD, 1),
    Fault("a traceback in a failure's words", answering(saying(_traceback)), ODD, 1),
    Fault(
        "a failure in plain text",
        answering(whole(418, lambda kit: kit.echo.encode(), Content_Type="text/plain")),
        ODD,
        1,
    ),
    Fault(
        "a failure in a page without a type",
        answering(whole(418, lambda kit: b" " * 600 + kit.page, Content_Type=None, X_Version=None)),
        ODD,
        1,
    ),
    Fault("key and query as names in the answer", answering(whole(body=named(_as_names))), ODD, 1),
    Fault(
        "key as the version",
        answering(lambda kit: raw(kit.whole(418, kit.failed(418), {"X-Version": kit.key}))),
        ODD,
        1,
    ),
    Fault("key in the host of a redirect", answering(redirect_by_name), ODD, 1),
    Fault("a failure inside a 200", answering(whole(body=named(_failed_step))), ODD, 1, FAILED_INSIDE),
]

INFORMATIONAL = [
    Fault(f"{status} before a good answer", answering(partial(_informed, status)), WORKS, 1)
    for status in (100, 102, 103)
]
REDIRECTS = [
    Fault(f"{status} to another host", redirecting(status), ODD, 1, says="redirects")
    for status in (301, 302, 303, 307, 308)
]
STATUSES = [
    *INFORMATIONAL,
    Fault(
        "101 unasked",
        answering(lambda kit: raw(kit.head(101, {"Upgrade": "websocket", "Connection": "Upgrade"}), close=True)),
        AWAY,
        3,
        ONCE,
    ),
    Fault("204 without a body", answering(lambda kit: raw(kit.head(204))), ODD, 1),
    Fault("205 without a body", answering(bare(205)), ODD, 1),
    Fault("a sign-in page with 200", answering(page(200)), ODD, 1, says="page"),
    *REDIRECTS,
    Fault("302 without an address", answering(page(302)), ODD, 1, says="redirects"),
    Fault("304", answering(lambda kit: raw(kit.head(304))), ODD, 1),
    Fault("a status that nobody registered: 499", answering(failing(499)), ODD, 1),
    Fault("a status that nobody registered: 599", answering(failing(599)), AWAY, 1),
    Fault("a status that nobody registered: 999", answering(failing(999)), AWAY, 1),
]

BY_STATUS = {
    401: Expected(AUTH, 1),
    403: Expected(AUTH, 1),
    404: Expected(GONE, 1),
    407: Expected(AWAY, 1),
    408: Expected(AWAY, 3),
    410: Expected(GONE, 1),
    429: Expected(LIMITED, 3),
    502: Expected(AWAY, 3),
    503: Expected(AWAY, 3),
    504: Expected(AWAY, 3),
}
JINBA_ONCE = {status: {"jinba": Expected(AWAY, 1)} for status in (408, 502, 503, 504)}
TAKEN_AS_SETTINGS = {"jinba": Expected(SET, 1), "external_knowledge": Expected(SET, 1)}
DIFFERS: dict[int, dict[str, Expected]] = {
    **JINBA_ONCE,
    # Dify's own: a model or the vector store failed for the moment; the others refuse what was configured
    400: {"dify": Expected(AWAY, 2), **TAKEN_AS_SETTINGS},
    422: {"external_knowledge": Expected(SET, 1)},
    500: {"dify": Expected(AWAY, 2), "fastgpt": Expected(AWAY, 2), "external_knowledge": Expected(AWAY, 2)},
}


def _status(status: int) -> Fault:
    kind, requests = BY_STATUS.get(status, Expected(AWAY if status >= 500 else ODD, 1))
    return Fault(
        f"{status} {HTTPStatus(status).phrase}", answering(failing(status)), kind, requests, DIFFERS.get(status, {})
    )


PASSING = (502, 503, 504, 520, 521, 522, 523, 524, 530)
BY_STATUS_OF_A_PAGE = {
    404: Expected(GONE, 1),
    429: Expected(LIMITED, 3),
    500: Expected(AWAY, 1),
    **dict.fromkeys(PASSING, Expected(AWAY, 3)),
}
DIFFERS_PAGE: dict[int, dict[str, Expected]] = {
    **dict.fromkeys(PASSING, ONCE),
    500: {"external_knowledge": Expected(AWAY, 2)},  # many a small server of the protocol fails with a page of its own
}


def _page(status: int) -> Fault:
    kind, requests = BY_STATUS_OF_A_PAGE.get(status, Expected(ODD, 1))
    return Fault(f"{status} with a page", answering(page(status)), kind, requests, DIFFERS_PAGE.get(status, {}))


def _in_front(name: str, answer: Callable[[Kit], Answer], says: str, kind: str = ODD) -> Fault:
    return Fault(name, answering(answer), kind, 1, says=says)


PLAIN_HTTP = "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>"
IN_FRONT = [
    _in_front("404 of APISIX", strange(404, {"error_msg": "404 Route Not Found"}), "api_base_url", GONE),
    _in_front(
        "404 of Kong",
        strange(404, {"message": "no Route matched with those values", "request_id": "5f0b"}),
        "api_base_url",
        GONE,
    ),
    _in_front("404 of Traefik", strange(404, "404 page not found\n"), "api_base_url", GONE),
    _in_front("404 of FastAPI", strange(404, {"detail": "Not Found"}), "api_base_url", GONE),
    _in_front(
        "403 page of Cloudflare", page(403, Server="cloudflare", CF_RAY="8f-FRA"), r"in front of .*\(cloudflare\)"
    ),
    _in_front(
        "403 page that came through a CDN", page(403, Via="1.1 edge-7 (Varnish/7.4)"), r"in front of .*\(Varnish\)"
    ),
    _in_front(
        "401 page of a login",
        page(401, Server="nginx", WWW_Authenticate='Basic realm="x"'),
        "a user name and a password",
    ),
    _in_front(
        "401 of a login without a word", strange(401, "", WWW_Authenticate="Basic"), "a user name and a password"
    ),
    _in_front("400 of nginx to http at its https port", strange(400, PLAIN_HTTP, Content_Type="text/html"), "https://"),
    _in_front(
        "400 of Go to http at its https port",
        strange(400, "Client sent an HTTP request to an HTTPS server.\n"),
        "https://",
    ),
]

STRANGERS: dict[str, tuple[Callable[[Kit], Answer], str]] = {
    "dify": (
        strange(404, "<!doctype html><title>404 Not Found</title>", Content_Type="text/html", X_Version="1.9.2"),
        GONE,
    ),
    "ragflow": (
        strange(404, {"code": 404, "data": None, "error": "Not Found", "message": "Not Found: /v1/retrieval"}),
        GONE,
    ),
    "fastgpt": (strange(403, {"code": 403, "statusText": "unAuthorization", "message": "", "data": None}), AUTH),
    "jinba": (strange(401, {"status": "failed", "error": {"name": "AuthError", "value": "no key"}}), AUTH),
    "external_knowledge": (strange(403, {"error_code": 1002, "error_msg": "Authorization failed"}), AUTH),
}
"""What each service says where it doesn't know the path or the key, and what that comes to on the service itself."""


def _another(kit: Kit) -> Fault:
    answer, own = STRANGERS[kit.backend]
    differs = {kit.backend: Expected(own, 1)}
    says = f"looks like {kit.product}|^{kit.product}.* at "
    return Fault(f"{kit.product} at the address", answering(answer), GONE, 1, differs, says=says)


FAILED = [
    *map(_status, (s for s in registered(400, 499) if s != HTTPStatus.TOO_MANY_REQUESTS)),
    *map(_status, registered(500, 599)),
    *map(_page, (400, 401, 403, 404, 405, 413, 429, 500, *PASSING)),
    *IN_FRONT,
    *map(_another, KITS),
]


def _limited(name: str, after: Callable[[], str | None], requests: int) -> Fault:
    return Fault(
        f"429, Retry-After {name}",
        answering(lambda kit: raw(kit.whole(429, kit.failed(429), {"Retry-After": after()}))),
        LIMITED,
        requests,
    )


def _date(seconds: float) -> str:
    return formatdate(time.time() + seconds, usegmt=True)


LIMITS = [
    _limited("missing", lambda: None, 3),
    _limited("of 1 second", lambda: "1", 3),
    _limited("of 30 seconds", lambda: "30", 1),
    _limited("of 0 seconds", lambda: "0", 3),
    _limited("as a date in an hour", lambda: _date(3600), 1),
    _limited("as a date that has passed", lambda: _date(-3600), 3),
    _limited("of -5", lambda: "-5", 3),
    _limited("of 10 to the 30", lambda: "1" + "0" * 30, 3),
    _limited("of 1e9", lambda: "1e9", 3),
    _limited("of 99999999999", lambda: "99999999999", 1),
    _limited("as the date 31 Feb 99999", lambda: "Sat, 31 Feb 99999 99:99:99 GMT", 3),
    _limited("of words", lambda: "soon, <b>really</b>", 3),
    Fault("429 with Retry-After 1, then a good answer", answering(failing(429, Retry_After="1"), good), WORKS, 2),
]

TLS = [
    Fault("a certificate of a trusted authority", answering(good, tls=right), WORKS, 1, around=trusted),
    Fault("certificate of an unknown authority", answering(good, tls=unknown_authority), AWAY, 0, says="certificate"),
    Fault("self-signed certificate", answering(good, tls=self_signed), AWAY, 0, says="self.signed certificate"),
    Fault("expired certificate", answering(good, tls=expired), AWAY, 0, around=trusted, says="expired"),
    Fault(
        "certificate of another name",
        answering(good, tls=wrong_name),
        AWAY,
        0,
        around=trusted,
        says="certificate .*127.0.0.1",
    ),
    Fault("no cipher in common", answering(good, tls=old_tls), AWAY, 0, around=trusted, says="TLS failed"),
    Fault("https at a plain http port", plain_behind_https, AWAY, 0, says="TLS failed"),
]

PROXIES = [
    Fault(
        "http by a proxy that answers 403",
        by_proxy("http", page(403, Server="squid/6.13")),
        ODD,
        1,
        says=r"proxy_url.*\(squid\)",
    )
] + [
    Fault(f"{scheme} by a proxy {what}", place, AWAY, requests, differs, around=trusted, says=says)
    for scheme in ("http", "https")
    for what, place, requests, differs, says in (
        ("that answers 407", by_proxy(scheme, page(407)), 1, {}, "proxy refused .*proxy_url"),
        ("that answers 502", by_proxy(scheme, page(502)), 3, ONCE if scheme == "http" else {}, ""),
        ("that resets", by_proxy(scheme, lambda _: reset()), 3, ONCE, ""),
        ("that is not there", no_proxy(scheme), 0, {}, "proxy_url"),
    )
]

FAULTS = [*CONNECTIONS, *PATIENCE, *BODIES, *ECHOES, *STATUSES, *LIMITS, *FAILED, *TLS, *PROXIES]


# ---- running


async def run(fault: Fault) -> dict[str, Outcome]:
    """Each service's outcome of one fault, all at once."""
    pauses = contextlib.nullcontext() if fault.patient else quick()
    with listening() as lines, pauses, fault.around():
        outcomes = await asyncio.gather(*(cell(fault, kit) for kit in KITS))
    for outcome in outcomes:
        outcome.lines = lines
    return {kit.backend: outcome for kit, outcome in zip(KITS, outcomes, strict=True)}


async def cell(fault: Fault, kit: Kit) -> Outcome:
    """One call of one service."""
    async with fault.place(kit) as place, Pool() as pool:
        context = kit.context(place.base, fault.timeout)
        access = Access(pool, place.network)
        if fault.warm:
            await retrieve(context, access)
            await nap(0.05)
        outcome = Outcome()
        started = time.monotonic()
        try:
            outcome.response = await retrieve(context, access)
        except BaseException as error:  # noqa: BLE001 - what leaves is the finding
            outcome.error = error
        outcome.elapsed = time.monotonic() - started
        outcome.requests = len(place.service.requests)
        outcome.connections = place.service.connections
        outcome.astray = sum(other.connections for other in place.others)
    return outcome


def table(outcomes: dict[str, dict[str, Outcome]]) -> str:
    """The document: a row a fault, a column a service."""
    lines = [
        "# What a fault comes to",
        "",
        "Made by `python -m tests.faults.write_matrix` from a run of `tests/faults/test_matrix.py` on real sockets;",
        "a test compares it with what happens. A cell says the error's class, or how many entries came, and how many",
        "requests the service saw. Every error comes within the call's timeout.",
        "",
        "| Fault | " + " | ".join(kit.product for kit in KITS) + " | Text for Dify |",
        "|---" * (len(KITS) + 2) + "|",
    ]
    for name, row in outcomes.items():
        cells = [f"{outcome.kind} / {outcome.requests}" for outcome in row.values()]
        lines.append(f"| {name} | {' | '.join(cells)} | {_cell(row['dify'].text)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
