"""Ranking without models: bm25 for words, cosine over character n-grams for meaning."""

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import NamedTuple

from sandbox.corpus import Passage

Vector = dict[str, float]
Keep = Callable[[Passage], bool]

_RUNS = re.compile(r"(?P<han>[\u3400-\u9fff]+)|(?P<word>[^\W_]+)")
_HAN = re.compile("[\u3400-\u9fff]")
_COMMON_WORDS = """
    a all an and are as at be but by can do does for from has have how i in is it my not of on or that the there this
    to was we what when where which who will with you your
"""
# bm25 has no upper end; this value is scored 0.5.
_MIDDLE_BM25 = 4.0


class Hit(NamedTuple):
    """A passage, the one of its pieces that was found, and how well (0 to below or about 1)."""

    passage: Passage
    piece: str
    score: float


def everything(_: Passage) -> bool:
    """Keep every passage."""
    return True


class Index(AbstractContextManager["Index"]):
    """Searches the pieces of passages; a passage comes once for every piece of it that is found."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        self._pieces = [(passage, piece) for passage in self.passages for piece in passage.pieces]
        self._rarity = _rarity(piece for _, piece in self._pieces)
        self._vectors = [self._vector(piece) for _, piece in self._pieces]
        # Served from another thread than the one that built it, never from two at once.
        self._table = sqlite3.connect(":memory:", check_same_thread=False)
        self._table.execute("CREATE VIRTUAL TABLE piece USING fts5(words, tokenize = 'porter unicode61')")
        rows = [(" ".join(terms(piece)),) for _, piece in self._pieces]
        self._table.executemany("INSERT INTO piece VALUES (?)", rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the table."""
        self._table.close()

    def words(self, query: str, keep: Keep = everything) -> list[Hit]:
        """Return the pieces that share a word with the query, best bm25 first, scored 0 to below 1."""
        wanted = " OR ".join(f'"{term}"' for term in terms(query))
        if not wanted:
            return []
        found = self._table.execute("SELECT rowid, bm25(piece) FROM piece WHERE words MATCH ? ORDER BY 2, 1", (wanted,))
        hits = []
        for row, bm25 in found:
            passage, piece = self._pieces[row - 1]
            if keep(passage):
                # FTS5 gives the better match the lower, negative number.
                hits.append(Hit(passage, piece, -bm25 / (_MIDDLE_BM25 - bm25)))
        return hits

    def meaning(self, query: str, keep: Keep = everything) -> list[Hit]:
        """Return every piece, most similar first, scored by cosine (0 to 1)."""
        vector = self._vector(query)
        hits = [
            Hit(passage, piece, _cosine(vector, other))
            for (passage, piece), other in zip(self._pieces, self._vectors, strict=True)
            if keep(passage)
        ]
        return _best_first(hits)

    def hybrid(self, query: str, vector_weight: float, keep: Keep = everything) -> list[Hit]:
        """Return every piece, best first, scored by the weighted sum of `meaning` and `words`."""
        words = {hit.piece: hit.score for hit in self.words(query, keep)}
        return _best_first(
            hit._replace(score=vector_weight * hit.score + (1 - vector_weight) * words.get(hit.piece, 0.0))
            for hit in self.meaning(query, keep)
        )

    def _vector(self, text: str) -> Vector:
        weighted = {gram: count * self._rarity.get(gram, 0.0) for gram, count in Counter(_grams(text)).items()}
        length = math.sqrt(sum(weight * weight for weight in weighted.values()))
        return {gram: weight / length for gram, weight in weighted.items()} if length else {}


def best_pieces(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits without those whose passage came before."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.passage.key, hit)
    return list(first.values())


def terms(text: str) -> list[str]:
    """Return the lower-case words of the text without common ones; Chinese in pairs of characters."""
    return [term for run in _RUNS.finditer(text.lower()) for term in _terms_of(run)]


def _terms_of(run: re.Match[str]) -> Iterator[str]:
    if word := run["word"]:
        if word not in _COMMON_WORDS.split():
            yield word
    elif len(run["han"]) == 1:
        yield run["han"]
    else:
        yield from _slices(run["han"], 2)


def _grams(text: str) -> Iterator[str]:
    for term in terms(text):
        yield from [term] if _HAN.match(term) else _slices(f" {term} ", 3)


def _slices(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(len(text) - size + 1))


def _rarity(texts: Iterable[str]) -> Vector:
    grams = [set(_grams(text)) for text in texts]
    return {gram: math.log(1 + len(grams) / times) for gram, times in Counter(g for s in grams for g in s).items()}


def _cosine(one: Vector, other: Vector) -> float:
    return sum(weight * other.get(gram, 0.0) for gram, weight in one.items())


def _best_first(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: hit.score, reverse=True)
