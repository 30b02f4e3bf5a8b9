"""Hits into LangBot's entries: threshold, cut, ids, score and distance. The only place that knows scores."""

import math
from collections.abc import Iterable
from typing import Any, Protocol

from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from bridge.hits import Hit
from bridge.values import carried, counted, digest, worst_last


class Wanted(Protocol):
    """What of the hits is shown, and how."""

    @property
    def top_k(self) -> int:
        """At most how many."""

    @property
    def score_threshold(self) -> float:
        """Least score; 0 is off."""

    @property
    def cite_source(self) -> bool:
        """Whether a line with the document's name and link stands before each text."""


def response(hits: list[Hit], wanted: Wanted, notes: Iterable[str] = (), unread: int = 0) -> RetrievalResponse:
    """At most `top_k` entries in the order of `hits`, each with a unique id and a text; NUL is in none.

    `score` is finite and in 0..1, or None without a measure; `distance` is 1 - score, 1.0 without a score. A score
    that had to be clamped stays in the metadata as `raw_score`. Unscored hits pass only without a threshold (but see
    `Hit.similarity`); with one they are counted in a note and in `total_found`. What comes twice is one entry, with the
    better score in the better place. `unread` passages more were found.
    """
    scored = [(hit, _similarity(hit)) for hit in hits if _text(hit)]
    passing, unscored = _passing(scored, wanted.score_threshold) if wanted.score_threshold else (scored, 0)
    told = list(notes)
    if unscored:
        told.append(
            f"{counted(unscored, 'passage')} without a score left out by score_threshold; set it to 0 to see all"
        )
    entries, found = _entries(passing, wanted)
    for entry, metadata in zip(entries, carried([entry["metadata"] for entry in entries]), strict=True):
        entry["metadata"] = metadata
    return RetrievalResponse.model_validate(
        {
            "results": entries,
            "total_found": found + unscored + unread,
            "metadata": {"notes": told} if told else {},
        }
    )


def _passing(scored: list[tuple[Hit, float | None]], threshold: float) -> tuple[list[tuple[Hit, float | None]], int]:
    """Those at or above a threshold, and how many have nothing to hold against it."""
    measured = [(pair, pair[1] if pair[0].similarity is None else pair[0].similarity) for pair in scored]
    passing = [pair for pair, similarity in measured if similarity is not None and similarity >= threshold]
    return passing, sum(similarity is None for _, similarity in measured)


def _entries(scored: list[tuple[Hit, float | None]], wanted: Wanted) -> tuple[list[dict[str, Any]], int]:
    """The first `top_k` different passages as LangBot takes them, and how many there are."""
    entries: dict[str, dict[str, Any]] = {}
    texts: dict[str, str] = {}
    found, top_k, cite = 0, wanted.top_k, wanted.cite_source
    for hit, score in scored:
        text = hit.text
        ident = hit.id or digest(hit.metadata.get("document_name"), text)
        while ident in entries and texts[ident] != text:
            ident += "-2"
        if ident in entries:
            if worst_last(score) >= worst_last(entries[ident]["score"]):
                continue
        else:
            found += 1
            if len(entries) == top_k:
                continue
        texts[ident] = text
        entries[ident] = {
            "id": ident,
            "content": [{"type": "text", "text": _cited(hit) if cite else text}],
            "metadata": hit.metadata,
            "distance": 1.0 if score is None else 1.0 - score,
            "score": score,
        }
    return list(entries.values()), found


def _text(hit: Hit) -> str:
    """What a passage says, without NUL; empty where it says nothing."""
    if "\0" in hit.text:
        hit.text = hit.text.replace("\0", "")
    return hit.text.strip()


def _similarity(hit: Hit) -> float | None:
    if hit.score is None or not math.isfinite(hit.score):
        return None
    score = min(max(hit.score, 0.0), 1.0)
    if score != hit.score:
        hit.metadata["raw_score"] = hit.score
    return score


def _cited(hit: Hit) -> str:
    """The passage below a line that names its document, since a pipeline's prompt holds nothing but text."""
    name, link = (_line(hit.metadata.get(field)) for field in ("document_name", "url"))
    source = f"{name} ({link})" if name and link and name != link else name or link
    return f"Source: {source}\n{hit.text}" if source else hit.text


def _line(value: Any) -> str:
    return " ".join(value.replace("\0", "").split()) if isinstance(value, str) else ""
