"""What others say made fit to show: nothing secret, no page, no traceback, one line."""

import json
import re
from dataclasses import dataclass
from urllib.parse import quote_plus

from bridge.errors import shortened

QUOTE_LIMIT = 160


@dataclass(frozen=True, slots=True)
class Privacy:
    """What must not come back out of a service: its key, and what was asked."""

    key: str
    asked: str

    def quote(self, words: str) -> str:
        """A message of the service in one line of at most 160 characters, without key, query, HTML or traceback."""
        if re.search(r"(?i)<\s*(!doctype|html|head|body|script)|^[\w-]+:[\w.-]+$", words):
            return ""  # a page, or the name of a message that was never filled in
        words = words.partition("Traceback (most recent")[0].partition(" [type=")[0]  # pydantic echoes the input there
        words = re.sub(r"</?[a-zA-Z][^<>]*>", "", words)
        words = " ".join("".join(c if c.isprintable() else " " for c in words[:2000]).split())
        for secret, size in ((self.key, 8), *((spelling, 12) for spelling in _spellings(self.asked))):
            words = _before_echo(words, secret, size)
        return shortened(words, QUOTE_LIMIT).rstrip(". ")


def _spellings(asked: str) -> tuple[str, ...]:
    """The query as services echo it: plain, in JSON, in a URL, as Python's repr."""
    plain = " ".join(asked.split())
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
