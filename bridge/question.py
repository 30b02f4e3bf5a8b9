"""What is asked."""

import re
from dataclasses import dataclass, field
from typing import Any, Self

from bridge.filters import Filter

PIECES = 4
"""At most so many pieces of one question are asked."""
_UNSENDABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates; all else is spelling: joiners, soft hyphens, signs newer than this Python."""
_UNSEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]*")
_JOINERS = "\u200c\u200d"
_BREAKS = (
    re.compile(r"""(?s).*(?:[。！？…؟।\n][”’」』）]*|[.!?]["'”’)\]]*\s)"""),
    re.compile(r"(?s).*[\s，、；：]"),
)
"""Up to where a text is a piece: behind the last sentence that ends in it, else behind the last word."""


@dataclass(frozen=True, slots=True)
class Question:
    """Trimmed text, at most as long as the service takes, and the filter on metadata."""

    text: str
    where: Filter = field(default_factory=Filter)
    asked: str = ""
    """The query as it came, for keeping it out of texts."""
    cut: bool = False
    """Whether the end of the query isn't asked, since it was longer than the service takes."""
    more: tuple[str, ...] = ()
    """The pieces that are asked besides `text`, where the query was longer than the service takes."""
    left_out: int = 0
    """The pieces in the middle that aren't."""

    @classmethod
    def of(cls, query: str, filters: dict[str, Any], limit: int, *, split: bool = False) -> Self:
        """Read a host's query and Chroma-style filters; SettingsError for a filter that can't be read.

        A query longer than `limit` is cut to it, or split into pieces of at most that: all of them up to PIECES, else
        the first two and the last two, since people put the question at the end.
        """
        text = _UNSENDABLE.sub(" ", query).strip()
        if _UNSEEN.fullmatch(text):
            text = ""
        where = Filter.of(filters)
        if len(text) <= limit:
            return cls(text, where, query)
        if not split:
            return cls(_trimmed(text[:limit]), where, query, cut=True)
        every = split_up(text, limit)
        half = PIECES // 2
        first, *more = every if len(every) <= PIECES else [*every[:half], *every[-half:]]
        return cls(first, where, query, more=tuple(more), left_out=len(every) - 1 - len(more))

    @property
    def pieces(self) -> list["Question"]:
        """Each of the pieces as a question of its own."""
        return [Question(text, self.where, self.asked) for text in (self.text, *self.more)]

    def told(self, product: str) -> str:
        """What became of a query that was longer than `product` takes; blank for every other."""
        if self.cut:
            return f"the query was cut to the {len(self.text)} characters that {product} takes"
        if not self.more:
            return ""
        left_out = f"; {self.left_out} between the first two and the last two were left out" if self.left_out else ""
        return f"the query is longer than {product} takes and was asked in {1 + len(self.more)} pieces{left_out}"


def split_up(text: str, limit: int) -> list[str]:
    """`text` in pieces of at most `limit` characters, each once: whole sentences, or words where one is longer."""
    found, start = [], 0
    while start < len(text):
        end = len(text)
        if end - start > limit:
            matches = (pattern.match(text, start, start + limit) for pattern in _BREAKS)
            end = next((match.end() for match in matches if match), start + limit)
        found.append(_trimmed(text[start:end]))
        start = end
    return [piece for piece in dict.fromkeys(found) if not _UNSEEN.fullmatch(piece)]


def _trimmed(text: str) -> str:
    """A part of a text without blanks around it, and without a joiner that has lost what it joins."""
    return text.strip().strip(_JOINERS)
