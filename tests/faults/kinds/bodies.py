"""Bodies: cut, endless, packed, in another encoding, or no search result."""

import gzip
import json
from collections.abc import Callable
from functools import cache

from tests.faults.answers import answering, named, whole
from tests.faults.fault import AWAY, ODD, ONCE, WORKS, Fault
from tests.faults.kit import Kit
from tests.faults.wire import endless, raw
from tests.service import Answer

SPACE = b" " * 65536
MB = 2**20


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
    Fault(
        "packed with brotli",
        answering(whole(body=lambda kit: b"\x8b\x03\x80" + kit.good + b"\x03", Content_Encoding="br")),
        ODD,
        1,
        says="Content-Encoding: br",
    ),
    Fault("a character set as Content-Encoding", answering(whole(Content_Encoding="UTF-8")), WORKS, 1),
    Fault(
        "line breaks as they are in texts",
        answering(whole(body=lambda kit: json.dumps({**kit.found, "note": "@"}).encode().replace(b"@", b"a\r\n\tb"))),
        WORKS,
        1,
    ),
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
