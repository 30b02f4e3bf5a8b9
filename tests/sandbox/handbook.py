"""The handbook that every imitated service holds."""

from sandbox.corpus import Document, handbook

PASSAGES = {passage.key: passage for passage in handbook()}


def is_2025(document: Document) -> bool:
    return document.year == 2025
