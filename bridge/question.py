"""What is asked."""

import re
from dataclasses import dataclass, field
from typing import Any, Self

from bridge.filters import Filter

_UNSENDABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates; all else is spelling: joiners, soft hyphens, signs newer than this Python."""
_UNSEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]*")
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Question:
    """Trimmed text, at most as long as the service takes, and the filter on metadata."""

    text: str
    where: Filter = field(default_factory=Filter)
    asked: str = ""
    """The query as it came, for keeping it out of texts."""
    cut: bool = False
    """Whether the query was longer than the service takes."""

    @classmethod
    def of(cls, query: str, filters: dict[str, Any], limit: int) -> Self:
        """Read a host's query and Chroma-style filters; SettingsError for a filter that can't be read."""
        text = _UNSENDABLE.sub(" ", query).strip()
        if _UNSEEN.fullmatch(text):
            text = ""
        cut = len(text) > limit
        if cut:
            text = text[:limit].rstrip().rstrip(_JOINERS)
        return cls(text, Filter.of(filters), query, cut)
