"""RAGFlow's retrieval: a pool of candidates, a mixed score, a window, a page, children folded into parents."""

import math
from collections import Counter
from dataclasses import dataclass
from statistics import fmean

from sandbox.corpus import Passage
from sandbox.ragflow.datasets import Dataset
from sandbox.ragflow.payload import Query
from sandbox.ranking import Hit, Index

_WINDOW = 64


@dataclass(frozen=True)
class Chunk:
    """What was found, with the three scores of RAGFlow."""

    dataset: Dataset
    passage: Passage
    piece: str
    similarity: float
    term: float
    vector: float
    is_parent: bool = False


@dataclass(frozen=True)
class Found:
    """One page of chunks, how many the window around it holds, and how many of each document."""

    chunks: list[Chunk]
    total: int
    by_document: Counter[tuple[str, str]]


def search(index: Index, query: Query) -> Found:
    """Return the page that the query asks for, best first."""
    size = _window(query)
    skipped = (query.page - 1) * query.page_size
    start = skipped // size * size
    chunks = _scored(index, query, _pool(index, query)[start : start + size])
    ranked = sorted(
        (one for one in chunks if one.similarity >= query.threshold), key=lambda one: one.similarity, reverse=True
    )
    by_document = Counter((one.passage.document.name, one.dataset.document_id(one.passage.document)) for one in ranked)
    page = ranked[skipped - start :][: query.page_size]
    return Found(_folded(page), len(ranked), by_document)


def _window(query: Query) -> int:
    pages = math.ceil(_WINDOW / query.page_size) if query.page_size > 1 else 30
    if query.reranked:
        pages = min(pages, math.ceil(query.top_k / query.page_size))
    return pages * query.page_size


def _pool(index: Index, query: Query) -> list[tuple[Dataset, Hit]]:
    """Return the `top_k` nearest vectors above the threshold, then all that share a word with the question."""
    allowed = [
        (dataset, hit)
        for hit in index.meaning(query.question)
        for dataset in query.datasets
        if query.allows(dataset, hit.passage)
    ]
    nearest = [(dataset, hit) for dataset, hit in allowed if hit.score >= query.threshold][: query.top_k]
    by_words = {hit.piece for hit in index.words(query.question)}
    return nearest + [pair for pair in allowed if pair[1].piece in by_words and pair not in nearest]


def _scored(index: Index, query: Query, pool: list[tuple[Dataset, Hit]]) -> list[Chunk]:
    terms = {hit.piece: hit.score for hit in index.words(query.question)}
    if query.reranked:
        vectors = {hit.piece: hit.score for hit in index.hybrid(query.question, 0.5)}
    else:
        # Elasticsearch's score of a cosine.
        vectors = {hit.piece: (1 + hit.score) / 2 for _, hit in pool}
    chunks = []
    for dataset, hit in pool:
        term, vector = terms.get(hit.piece, 0.0), vectors[hit.piece]
        similarity = (1 - query.weight) * term + query.weight * vector + dataset.page_rank
        chunks.append(Chunk(dataset, hit.passage, hit.piece, similarity, term, vector))
    return chunks


def _folded(page: list[Chunk]) -> list[Chunk]:
    families: dict[tuple[str, str], list[Chunk]] = {}
    for chunk in page:
        families.setdefault((chunk.dataset.id, chunk.passage.key), []).append(chunk)
    folded = [_parent(family) if family[0].passage.children else family[0] for family in families.values()]
    return sorted(folded, key=lambda one: one.similarity, reverse=True)


def _parent(children: list[Chunk]) -> Chunk:
    mean = fmean(child.similarity for child in children)
    first = children[0]
    return Chunk(first.dataset, first.passage, first.passage.text, mean, mean, mean, is_parent=True)
