"""What is asked."""

from dataclasses import dataclass, field
from typing import Any, Self

from bridge.filters import Filter


@dataclass(frozen=True, slots=True)
class Question:
    """Trimmed text, at most as long as the service takes, and the filter on metadata."""

    text: str
    where: Filter = field(default_factory=Filter)
    asked: str = ""
    """The query as it came, for keeping it out of texts."""

    @classmethod
    def of(cls, query: str, filters: dict[str, Any], limit: int) -> Self:
        """Read a host's query and Chroma-style filters; SettingsError for a filter that can't be read."""
        text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in query).strip()
        return cls(text[:limit].rstrip(), Filter.of(filters), query)

    @property
    def cut(self) -> bool:
        """Whether the query was longer than the service takes."""
        return len(self.asked.strip()) > len(self.text)
