"""RAGFlow's answer to a search."""

import re
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from sandbox.corpus import Passage
from sandbox.ids import hex32_of
from sandbox.ragflow.datasets import Dataset
from sandbox.ragflow.payload import Query
from sandbox.ragflow.search import Chunk, Found
from sandbox.ranking import terms

_GRAPH_TEXT = """
---- Community Report ----
# 1. After the sale
## Content
Refunds, warranty repairs and deliveries are handled by the Example Lamp Shop in Sampletown.
## Evidences
refund-policy.md, warranty.md, shipping.md
"""


def answer(found: Found, query: Query, wants: Callable[[str], bool]) -> dict[str, Any]:
    """Return the chunks; `wants` picks the fields of `document_metadata`."""
    return {
        "chunks": [_with_extras(chunk, query, wants) for chunk in found.chunks],
        "doc_aggs": [
            {"count": count, "doc_id": document_id, "doc_name": name}
            for (name, document_id), count in found.by_document.most_common()
        ],
        "total": found.total,
    }


def graph_entry(datasets: Iterable[Dataset]) -> dict[str, Any]:
    """Return the entry of a knowledge graph: a new id at each call, no document, and a list as dataset."""
    return {
        "content": _GRAPH_TEXT,
        "content_ltks": "",
        "dataset_id": [dataset.id for dataset in datasets],
        "document_id": "",
        "document_keyword": "Related content in Knowledge Graph",
        "id": uuid.uuid4().hex,
        "image_id": "",
        "important_keywords": [],
        "positions": [],
        "similarity": 1.0,
        "term_similarity": 0,
        "vector_similarity": 1.0,
    }


def _with_extras(chunk: Chunk, query: Query, wants: Callable[[str], bool]) -> dict[str, Any]:
    record = _record(chunk)
    if query.highlight:
        record["highlight"] = _highlighted(record["content"], query.question)
    if metadata := {name: value for name, value in chunk.passage.document.metadata.items() if wants(name)}:
        record["document_metadata"] = metadata
    return record


def _record(chunk: Chunk) -> dict[str, Any]:
    dataset, passage = chunk.dataset, chunk.passage
    content = _content(passage)
    record = {
        "content": content,
        "content_ltks": " ".join(terms(content)),
        "dataset_id": dataset.id,
        "doc_type_kwd": "text",
        "document_id": dataset.document_id(passage.document),
        "document_keyword": passage.document.name,
        "id": hex32_of("ragflow", dataset.name, passage.key)[:16],
        "image_id": "",
        "important_keywords": [],
        "positions": [],
        "similarity": chunk.similarity,
        "term_similarity": chunk.term,
        "vector_similarity": chunk.vector,
    }
    return record if chunk.is_parent else record | {"mom_id": "", "row_id": None, "tag_kwd": []}


def _content(passage: Passage) -> str:
    if passage.answer is None:
        return passage.text
    # As RAGFlow's chunk method "Q&A" writes a pair.
    return f"Question: {passage.text}\tAnswer: {passage.answer}"


def _highlighted(text: str, question: str) -> str:
    words = "|".join(sorted(map(re.escape, terms(question)), key=len, reverse=True))
    return re.sub(f"({words})", r"<em>\1</em>", text, flags=re.IGNORECASE) if words else text
