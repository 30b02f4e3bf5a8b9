"""Hits into LangBot's entries: threshold, cut, ids, score and distance. The only place that knows scores."""

import math
from collections.abc import Iterable
from typing import Any, Protocol

from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from bridge.hits import Hit
from bridge.values import carried, digest


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
    """At most `top_k` entries in the order of `hits`, each with a unique id and a text.

    `score` is finite and in 0..1, or None without a measure; `distance` is 1 - score, 1.0 without a score. A score
    that had to be clamped stays in the metadata as `raw_score`. Unscored hits pass only without a threshold (but see
    `Hit.similarity`); with one they are counted in a note and in `total_found`. `unread` passages more were found.
    """
    entries: dict[str, dict[str, Any]] = {}
    texts: dict[str, str] = {}
    found, unscored, top_k, threshold, cite = 0, 0, wanted.top_k, wanted.score_threshold, wanted.cite_source
    for hit in hits:
        text, score = hit.text, _similarity(hit)
        if not text.strip():
            continue
        if threshold:
            measured = score if hit.similarity is None else hit.similarity
            unscored += measured is None
            if measured is None or measured < threshold:
                continue
        ident = hit.id or digest(hit.metadata.get("document_name"), text)
        if texts.get(ident) == text:
            continue
        found += 1
        if len(entries) < top_k:
            while ident in entries:
                ident += "-2"
            texts[ident] = text
            entries[ident] = {
                "id": ident,
                "content": [{"type": "text", "text": _cited(hit) if cite else text}],
                "metadata": hit.metadata,
                "distance": 1.0 if score is None else 1.0 - score,
                "score": score,
            }
    shown = list(entries.values())
    for entry, metadata in zip(shown, carried([entry["metadata"] for entry in shown]), strict=True):
        entry["metadata"] = metadata
    told = list(notes)
    if unscored:
        told.append(f"{unscored} passages have no score, so score_threshold left them out; set it to 0 to see them")
    return RetrievalResponse.model_validate(
        {
            "results": shown,
            "total_found": found + unscored + unread,
            "metadata": {"notes": told} if told else {},
        }
    )


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
    return " ".join(value.split()) if isinstance(value, str) else ""
