"""FastGPT's recall: ranked lists, reciprocal rank fusion, reranker, similarity filter, token budget."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sandbox.corpus import Passage
from sandbox.fastgpt.payload import EMBEDDING, FULL_TEXT, MIXED
from sandbox.ranking import Hit, Index, Keep, best_pieces, terms

MOST_TOKENS = 20000

# How many of each list are taken: alone, and where two lists are merged.
_ALONE, _BY_VECTOR, _BY_TEXT = 100, 80, 60
_TOKEN = re.compile("[\u3400-\u9fff]|[^\\W_]{1,6}|[^\\w\\s]")


@dataclass(frozen=True, slots=True)
class Score:
    """One entry of an item's `score`: a value and the rank in its list, from 0."""

    value: float
    index: int


class Found(NamedTuple):
    """A passage and its scores by type."""

    passage: Passage
    scores: Mapping[str, Score]


def search(index: Index, asked: Mapping[str, Any], keep: Keep) -> tuple[list[Found], bool]:
    """Return the items in FastGPT's order before the token budget, and whether a reranker was used."""
    found = _recalled(index, _queries(asked), asked["searchMode"], asked["embeddingWeight"], keep)
    is_reranked = bool(asked["usingReRank"] and found)
    if is_reranked:
        found = _with_reranker(found, _reranked(index, asked["text"], found), asked["rerankWeight"])
    measure = "reRank" if is_reranked else "embedding" if asked["searchMode"] == EMBEDDING else None
    return [one for one in found if _is_similar(one, measure, asked["similarity"])], is_reranked


def within(limit: float, found: Iterable[Found]) -> Iterator[Found]:
    """Yield items up to the one that passes the limit of tokens, that one included."""
    used = 0
    for one in found:
        yield one
        used += tokens(one.passage.full_text)
        if used > limit:
            return


def tokens(text: str) -> int:
    """Return about as many tokens as cl100k_base counts."""
    return len(_TOKEN.findall(text))


def _queries(asked: Mapping[str, Any]) -> list[str]:
    text = asked["text"]
    queries = [text]
    if text.startswith("["):
        # FastGPT takes a text that is a JSON list of texts for several queries.
        try:
            listed = json.loads(text)
        except ValueError:
            listed = None
        if isinstance(listed, list) and listed and all(isinstance(one, str) for one in listed):
            queries = listed
    if asked["datasetSearchUsingExtensionQuery"]:
        queries = [*queries, *(" ".join([query, *terms(query)]) for query in queries)]
    return list(dict.fromkeys(queries))


def _recalled(index: Index, queries: list[str], mode: str, embedding_weight: float, keep: Keep) -> list[Found]:
    by_vector, by_text = (_BY_VECTOR, _BY_TEXT) if mode == MIXED else (_ALONE, _ALONE)
    vectors, texts = [], []
    if mode != FULL_TEXT:
        vectors = _fused((1, _list("embedding", index.meaning(query, keep), by_vector)) for query in queries)
    if mode != EMBEDDING:
        texts = _fused((1, _list("fullText", _unbounded(index.words(query, keep)), by_text)) for query in queries)
    return _fused([(embedding_weight, vectors), (1 - embedding_weight, texts)])


def _list(kind: str, hits: Iterable[Hit], size: int) -> list[Found]:
    return [Found(hit.passage, {kind: Score(hit.score, rank)}) for rank, hit in enumerate(best_pieces(hits)[:size])]


def _unbounded(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Yield the hits with a score that has no upper end, as MongoDB's."""
    return (hit._replace(score=2 * hit.score / (1 - hit.score)) for hit in hits)


def _reranked(index: Index, text: str, found: list[Found]) -> list[Found]:
    wanted = {one.passage.key for one in found}
    hits = best_pieces(index.hybrid(text, 0.5, lambda passage: passage.key in wanted))
    return _list("reRank", hits, len(hits))


def _with_reranker(found: list[Found], reranked: list[Found], weight: float) -> list[Found]:
    return reranked if weight == 1 else _fused([(1 - weight, found), (weight, reranked)])


def _fused(lists: Iterable[tuple[float, list[Found]]]) -> list[Found]:
    """Merge by weight/(60 + rank); a list that is alone stays as it is, without `rrf`."""
    filled = [(weight, found) for weight, found in lists if found]
    if len(filled) < 2:
        return filled[0][1] if filled else []
    merged: dict[str, Found] = {}
    sums: dict[str, float] = {}
    for weight, found in filled:
        for rank, one in enumerate(found, 1):
            key = one.passage.key
            sums[key] = sums.get(key, 0.0) + weight / (60 + rank)
            merged[key] = _joined(merged[key], one) if key in merged else one
    order = sorted(sums, key=lambda key: sums[key], reverse=True)
    return [
        merged[key]._replace(scores={**merged[key].scores, "rrf": Score(sums[key], rank)})
        for rank, key in enumerate(order)
    ]


def _joined(one: Found, other: Found) -> Found:
    """Keep the larger value of a type that both have, and the rank in the first list."""
    scores = dict(one.scores)
    for kind, score in other.scores.items():
        known = scores.get(kind, score)
        scores[kind] = Score(max(known.value, score.value), known.index)
    return one._replace(scores=scores)


def _is_similar(found: Found, measure: str | None, floor: float) -> bool:
    score = found.scores.get(measure) if measure else None
    return score is None or score.value >= floor
