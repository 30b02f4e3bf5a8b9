"""One answer, read whole: unpacked within a limit, and its JSON."""

import zlib
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bridge.errors import ResponseError

SIZE_LIMIT = 8 * 1024 * 1024
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
    """The body, unpacked; ResponseError past SIZE_LIMIT, however it was packed."""
    if not isinstance(stream, AsyncIterable):  # pragma: no cover - an async connection has no other
        raise TypeError(type(stream).__name__)
    packing = headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", "deflate"):
        raise ResponseError(
            "the answer is packed in an unknown way", "Switch compression off in the proxy before the service"
        )
    inflater = None if packing == "identity" else zlib.decompressobj(wbits=47)
    parts: list[bytes] = []
    room = SIZE_LIMIT
    async for chunk in stream:
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
