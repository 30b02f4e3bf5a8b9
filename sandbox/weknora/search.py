"""WeKnora's search: vectors, words, reciprocal rank fusion where both found something, and what stands around a hit."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sandbox.corpus import Passage
from sandbox.ids import uuid_of
from sandbox.ranking import Hit, Index, best_pieces
from sandbox.weknora.bases import Base
from sandbox.weknora.errors import panic

BY_VECTOR, BY_WORDS, NEIGHBOUR = 0, 1, 2
_K, _VECTOR_WEIGHT, _WORD_WEIGHT = 60, 0.7, 0.3


class Found(NamedTuple):
    """A passage, its score on whatever scale, and what found it."""

    passage: Passage
    piece: str
    score: float
    match_type: int


def search(index: Index, base: Base, asked: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records, None where there are none."""
    documents = asked["knowledge_ids"]

    def keep(passage: Passage) -> bool:
        return base.holds(passage) and (not documents or document_id(passage) in documents)

    vectors, words = [], []
    if base.has_vectors and not asked["disable_vector_match"]:
        vectors = _list(index.meaning(asked["query_text"], keep), BY_VECTOR, asked["vector_threshold"])
    if base.has_words and not asked["disable_keywords_match"]:
        words = _list(_unbounded(index.words(asked["query_text"], keep)), BY_WORDS, asked["keyword_threshold"])
    found = _fused(vectors, words) if vectors and words else vectors or words
    count = asked["match_count"]
    if found and count < 0:
        raise panic(f"slice bounds out of range [:{count}]")
    found = found[:count]
    if not asked["skip_context_enrichment"]:
        found += _around(found, [passage for passage in index.passages if base.holds(passage)])
    return [_record(one, base) for one in found] or None


def document_id(passage: Passage) -> str:
    """Return the id of the passage's document."""
    return uuid_of("weknora", passage.document.name)


def _list(hits: Iterable[Hit], match_type: int, floor: float) -> list[Found]:
    return [Found(*hit, match_type) for hit in best_pieces(hits) if hit.score >= floor]


def _unbounded(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits with a score that has no upper end, as bm25's."""
    return [hit._replace(score=2 * hit.score / (1 - hit.score)) for hit in hits]


def _fused(vectors: list[Found], words: list[Found]) -> list[Found]:
    """Merge by weight/(60 + rank), ranks from 1; what both found is the vectors' hit."""
    merged: dict[str, Found] = {}
    for weight, found in ((_VECTOR_WEIGHT, vectors), (_WORD_WEIGHT, words)):
        for rank, one in enumerate(found, 1):
            known = merged.get(one.passage.key, one._replace(score=0.0))
            merged[one.passage.key] = known._replace(score=known.score + weight / (_K + rank))
    return sorted(merged.values(), key=lambda one: one.score, reverse=True)


def _around(found: list[Found], passages: list[Passage]) -> list[Found]:
    """Return the passages before and behind the hits in their documents, without a score."""
    known = {one.passage.key for one in found}
    places = {(one.passage.document.name, one.passage.position + step) for one in found for step in (-1, 1)}
    return [
        Found(passage, "", 0.0, NEIGHBOUR)
        for passage in passages
        if (passage.document.name, passage.position) in places and passage.key not in known
    ]


def _record(found: Found, base: Base) -> dict[str, Any]:
    passage, document = found.passage, found.passage.document
    place = passage.position - 1
    return {
        "id": uuid_of("weknora", base.name, passage.key),
        "content": passage.full_text,
        "knowledge_id": document_id(passage),
        "chunk_index": place,
        "knowledge_title": document.name,
        "start_at": place * 200,
        "end_at": place * 200 + len(passage.full_text),
        "seq": place,
        "score": found.score,
        "match_type": found.match_type,
        "sub_chunk_id": None,
        "metadata": {},
        "chunk_type": "text",
        "parent_chunk_id": "",
        "image_info": "",
        "knowledge_filename": document.name,
        "knowledge_source": "file",
        "knowledge_channel": "web",
        **({"matched_content": found.piece} if found.piece else {}),
        "knowledge_custom_metadata": "\n".join(f"{name}: {value}" for name, value in sorted(document.metadata.items())),
        "knowledge_base_id": base.id,
    }
