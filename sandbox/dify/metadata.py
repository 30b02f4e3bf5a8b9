"""What Dify's documents carry: the owner's fields and, where they are switched on, Dify's own."""

from collections.abc import Mapping
from typing import Any

from sandbox.corpus import Document

Metadata = Mapping[str, Any]

# Field and type of what the handbook's documents carry.
FIELDS = {"category": "string", "year": "number", "published": "time", "link": "string"}
MORE_FIELDS = {
    "lang": "string",
    "rank": "number",
    "price": "number",
    "published": "time",
    "文档 类型": "string",
    "flag": "string",
}
BUILT_IN_FIELDS = {
    "document_name": "string",
    "uploader": "string",
    "upload_date": "time",
    "last_update_date": "time",
    "source": "string",
}
# The one document that was given none of `MORE_FIELDS`.
BARE = "opening-hours.md"
UPLOADER = "owner"

_KINDS = {"policy": "政策", "logistics": "物流"}
_UPLOADED_AT = 1796221119.0


def more_metadata(document: Document) -> Metadata:
    """Return the values of `MORE_FIELDS`, from 2024 with rank 1 to 2026 with rank 3."""
    if document.name == BARE:
        return {}
    rank = document.year - 2023
    return {
        "lang": "en" if document.name.isascii() else "zh",
        "rank": rank,
        "price": rank + 0.5,
        "published": document.published,
        "文档 类型": _KINDS.get(document.category, "其他"),
        "flag": "true" if rank > 1 else "false",
    }


def built_in_metadata(document: Document) -> Metadata:
    """Return what Dify writes into every document once its own fields are switched on."""
    return {
        "document_name": document.name,
        "uploader": UPLOADER,
        "upload_date": _UPLOADED_AT,
        "last_update_date": _UPLOADED_AT + 10.25,
        "source": "file_upload",
    }
