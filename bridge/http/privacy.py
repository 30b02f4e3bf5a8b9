"""What others say made fit to show: nothing secret, no page, no traceback, one line."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote_plus

from bridge.errors import shortened

QUOTE_LIMIT = 160
ECHO = 12
"""Characters of the query in a row that are an echo of it."""
KEY_ECHO = 8
"""Those of the key."""
GAP = 8
"""Characters between two parts of an echo that was escaped in an unknown way."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_PREFIX = re.compile(r"^[a-z]{2,10}-")
"""What every key of a service begins with (ragflow-, dataset-, sk-): no secret, and a word of many a message."""


@dataclass(frozen=True, slots=True)
class Privacy:
    """What must not come back out of a service: its key, what was asked, and the address's own query string."""

    key: str
    asked: str
    own_query: str = ""

    def quote(self, words: str) -> str:
        """A message of the service in one line of at most 160 characters, without key, query, HTML or traceback.

        An echo leaves a … in its place, so that the reason around it stays.
        """
        if re.search(r"(?i)<\s*(!doctype|html|head|body|script)|^[\w-]+:[\w.-]+$", words):
            return ""  # a page, or the name of a message that was never filled in
        words = words.partition("Traceback (most recent")[0].partition(" [type=")[0]  # pydantic echoes the input there
        words = _TAG.sub("", words)
        words = " ".join("".join(c if c.isprintable() else " " for c in words[:2000]).split())
        secrets = [(_PREFIX.sub("", self.key), KEY_ECHO), (self.own_query, KEY_ECHO)]
        secrets += [(spelling, ECHO) for spelling in _spellings(self.asked)]
        return shortened(_without(words, secrets), QUOTE_LIMIT).rstrip(". ")


def _spellings(asked: str) -> set[str]:
    """The query as services echo it: plain, in JSON, in HTML, in a URL, as Python's repr."""
    plain = " ".join(asked.split())
    in_url = quote_plus(plain, errors="replace")
    written = plain, json.dumps(plain)[1:-1], repr(plain)[1:-1], html.escape(plain)
    return {*written, *(_TAG.sub("", text) for text in written), in_url, in_url.replace("+", "%20")}


def _without(words: str, secrets: list[tuple[str, int]]) -> str:
    """`words` with a … for every place that repeats so many characters of a secret in a row.

    A secret that is shorter counts only where it stands as words of its own.
    """
    lower = _lower(words)
    told, hidden = [False] * len(words), False
    for secret, size in secrets:
        for start, end in _echoes(lower, _lower(secret), size):
            told[start:end], hidden = [True] * (end - start), True
    if not hidden:
        return words
    kept = "".join("\0" if echo else char for char, echo in zip(words, told, strict=True))
    return re.sub(rf"\0+([^\0\s]{{1,{GAP}}}\0+)*", "…", kept)


def _echoes(words: str, secret: str, size: int) -> Iterator[tuple[int, int]]:
    if len(secret) < size:
        found = re.finditer(rf"(?<!\w){re.escape(secret)}(?!\w)", words) if secret else ()
        yield from (match.span() for match in found)
        return
    parts = {secret[i : i + size] for i in range(len(secret) - size + 1)}
    yield from ((i, i + size) for i in range(len(words) - size + 1) if words[i : i + size] in parts)


def _lower(text: str) -> str:
    """Without case, each character in its place."""
    return "".join(folded if len(folded := c.casefold()) == 1 else c for c in text)
