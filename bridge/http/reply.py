"""One answer, read whole: unpacked within a limit, and its JSON."""

import re
import zlib
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bridge.errors import ResponseError, shortened

SIZE_LIMIT = 8 * 1024 * 1024
UNDONE = ("gzip", "x-gzip", "deflate")
"""The packings that are undone; what else Content-Encoding names (a character set, `none`) is read as it is."""
Json = Any


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: `data` is its JSON, None where it is none; `is_json` tells a null from that."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters."""
    data: Json
    is_json: bool
    body: bytes
    path: str
    version: str
    """What the service calls itself, empty where it doesn't."""
    words: Callable[[Json], str]
    """The service's own way to say what failed, in `data`."""
    quote: Callable[[str], str]
    """Makes such words fit to show."""
    proxied: bool = False
    """Whether it came through a proxy of the plugin's configuration."""

    @property
    def html(self) -> bool:
        """Whether the body is a web page."""
        return not self.is_json and self.body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")

    @property
    def blank(self) -> bool:
        """Whether the body says nothing at all."""
        return not self.data if self.is_json else not self.body.strip()

    @property
    def raw_words(self) -> str:
        """What the body says, as it came."""
        return self.words(self.data) if self.is_json else self.body[:2000].decode("utf-8", "replace")

    @property
    def said(self) -> str:
        """The status and what the body says about it, made fit to show."""
        quoted = self.quote(self.raw_words)
        return f"{self.status}: {quoted}" if quoted else f"status {self.status}"


async def read(stream: AsyncIterable[bytes] | Iterable[bytes], headers: Mapping[str, str]) -> bytes:
    """The body, unpacked as far as its packing is known; ResponseError past SIZE_LIMIT, however it was packed."""
    if not isinstance(stream, AsyncIterable):  # pragma: no cover - an async connection has no other
        raise TypeError(type(stream).__name__)
    layers = [_Layer(name) for name in reversed(_packings(headers)) if name in UNDONE]
    parts: list[bytes] = []
    room = SIZE_LIMIT
    async for chunk in stream:
        part = chunk
        for layer in layers:
            part = layer.unpacked(part)
        room -= len(part)
        if room < 0:
            raise _too_large()
        parts.append(part)
    if parts and not all(layer.whole for layer in layers):
        raise ResponseError("the answer's compression is broken off", "Check the proxy before the service")
    return b"".join(parts)


def packed(reply: Reply) -> ResponseError | None:
    """Why an answer that should be JSON and is none can't be read, where its Content-Encoding tells that."""
    told = ", ".join(name for name in _packings(reply.headers) if name not in (*UNDONE, "identity"))
    if not told or reply.is_json or reply.status not in range(200, 300) or re.match(rb"\s*<[!?a-zA-Z]", reply.body):
        return None
    return ResponseError(
        f"the answer is no JSON (Content-Encoding: {shortened(reply.quote(told), 40) or 'unknown'})",
        "Switch that encoding off in the service or the proxy before it",
    )


def _packings(headers: Mapping[str, str]) -> list[str]:
    """What Content-Encoding names, in the order in which it was done."""
    told = headers.get("content-encoding")
    return [name for part in told.lower().split(",") if (name := part.strip())] if told else []


def _too_large() -> ResponseError:
    return ResponseError(
        f"the answer is larger than {SIZE_LIMIT // 2**20} MB", "Ask for fewer or smaller passages (top_k)"
    )


class _Layer:
    """One packing, undone piece by piece; ResponseError where it is broken, or past SIZE_LIMIT."""

    def __init__(self, name: str) -> None:
        self._inflater = zlib.decompressobj(wbits=47)
        self._may_be_bare = name == "deflate"  # some servers leave its header out
        self._room = SIZE_LIMIT

    @property
    def whole(self) -> bool:
        """Whether the end has come."""
        return self._inflater.eof

    def unpacked(self, data: bytes) -> bytes:
        try:
            part = self._inflated(data)
        except zlib.error:
            raise ResponseError("the answer's compression is broken", "Check the proxy before the service") from None
        self._room -= len(part)
        if self._room < 0:
            raise _too_large()
        return part

    def _inflated(self, data: bytes) -> bytes:
        bare, self._may_be_bare = self._may_be_bare, self._may_be_bare and not data
        try:
            return self._inflater.decompress(data, self._room + 1)
        except zlib.error:
            if not bare:
                raise
            self._inflater = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
            return self._inflater.decompress(data, self._room + 1)
