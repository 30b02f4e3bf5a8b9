"""Dify's answer to a search."""

import hashlib
from collections.abc import Iterable
from typing import Any

from sandbox.corpus import Passage
from sandbox.dify.datasets import ACCOUNT, CREATED_AT, Dataset
from sandbox.ids import uuid_of
from sandbox.ranking import Hit, terms


def answer(dataset: Dataset, query: str, hits: Iterable[Hit]) -> dict[str, Any]:
    """Return the records; the pieces of one passage are gathered in one record, where its best piece stood."""
    by_passage: dict[str, list[Hit]] = {}
    for hit in hits:
        by_passage.setdefault(hit.passage.key, []).append(hit)
    return {"query": {"content": query}, "records": [_record(dataset, pieces) for pieces in by_passage.values()]}


def _record(dataset: Dataset, hits: list[Hit]) -> dict[str, Any]:
    return {
        "segment": _segment(dataset, hits[0].passage),
        "child_chunks": [_child(dataset, hit) for hit in hits if hit.passage.children],
        "score": hits[0].score,
        "tsne_position": None,
        "files": [],
        "summary": None,
    }


def _child(dataset: Dataset, hit: Hit) -> dict[str, Any]:
    position = hit.passage.children.index(hit.piece) + 1
    return {
        "id": uuid_of("dify", dataset.name, hit.passage.key, "child", str(position)),
        "content": hit.piece,
        "position": position,
        "score": hit.score,
    }


def _segment(dataset: Dataset, passage: Passage) -> dict[str, Any]:
    words = list(dict.fromkeys(terms(passage.text)))
    return {
        "id": uuid_of("dify", dataset.name, passage.key),
        "position": passage.position,
        "document_id": uuid_of("dify", dataset.name, passage.document.name),
        "content": passage.text,
        "sign_content": None,
        "answer": passage.answer,
        "word_count": len(passage.text),
        "tokens": len(words) if dataset.has_vectors else 0,
        "keywords": [] if dataset.has_vectors else words,
        "index_node_id": uuid_of("dify", dataset.name, passage.key, "node"),
        "index_node_hash": hashlib.sha256(passage.text.encode()).hexdigest(),
        "hit_count": 0,
        "enabled": True,
        "disabled_at": None,
        "disabled_by": None,
        "status": "completed",
        "created_by": ACCOUNT,
        "created_at": CREATED_AT,
        "indexing_at": CREATED_AT,
        "completed_at": CREATED_AT,
        "error": None,
        "stopped_at": None,
        "document": {
            "id": uuid_of("dify", dataset.name, passage.document.name),
            "data_source_type": "upload_file",
            "name": passage.document.name,
            "doc_type": None,
            "doc_metadata": dataset.metadata(passage.document),
        },
    }
