"""What Dify says of a dataset: what it is, and which searches and filters come to nothing there."""

from typing import Any

from bridge.datasets import Dataset, told
from bridge.errors import SettingsError
from bridge.filters import Filter
from bridge.values import counted, mapping, text

BUILT_IN = {
    "document_name": "string",
    "uploader": "string",
    "upload_date": "time",
    "last_update_date": "time",
    "source": "string",
}
"""Fields that every document has while a dataset's built-in metadata is switched on, and their types."""
COMPARING = ("gt", "gte", "lt", "lte")


def dataset_of(info: dict[str, Any]) -> Dataset:
    """The dataset of a record of `GET /datasets`, or of the details of one."""
    technique, documents = info.get("indexing_technique"), info.get("document_count")
    line = told(technique, info.get("doc_form"), counted(documents, "document"), info.get("embedding_model"))
    searchable, note = True, ""
    if info.get("provider") == "external":
        searchable, note = False, "external: Dify's API can't search it; connect the server behind it instead"
    elif info.get("enable_api") is False:
        searchable, note = False, "its API access is off in Dify"
    elif not technique or documents == 0:
        note = "empty: nothing can be found yet"
    elif technique == "economy":
        note = "economy: searched by keyword only"
    elif info.get("embedding_available") is False:
        note = "its embedding model is missing: searched by full text only"
    return Dataset(text(info.get("id")), text(info.get("name")), line, note, searchable)


def refuse_unsearchable(info: dict[str, Any], method: str) -> None:
    """Refuse by name what Dify's API can't search in a dataset; `method` is blank for its own. Empty details pass."""
    if info.get("provider") == "external":
        raise SettingsError(
            "dataset_id is an external knowledge base, which Dify's API can't search",
            "Connect the server behind it with backend external_knowledge",
        )
    technique = info.get("indexing_technique")
    if technique == "high_quality" and method == "keyword_search":
        raise SettingsError(
            "search_mode keyword finds nothing in a high-quality dataset", "Set search_mode to full_text or auto"
        )
    if technique == "economy" and method not in ("", "keyword_search"):
        raise SettingsError("an economy dataset takes keyword search only", "Set search_mode to auto or keyword")


def refuse_incomparable(where: Filter, told: dict[str, Any]) -> None:
    """Refuse a filter on a field that the dataset hasn't, or that compares texts as numbers."""
    fields = {
        field["name"]: text(field.get("type"))
        for field in map(mapping, told.get("doc_metadata") or ())
        if "name" in field
    }
    if told.get("built_in_field_enabled"):
        fields |= BUILT_IN
    unknown = [c.field for c in where.conditions if c.field not in fields]
    if unknown:
        raise SettingsError(
            f"filters: the dataset has no metadata field {', '.join(unknown)}",
            f"Filter by one of: {', '.join(fields) or 'none, it has no fields'}",
        )
    texts = [c.field for c in where.conditions if c.operator in COMPARING and fields[c.field] == "string"]
    if texts:
        raise SettingsError(
            f"filters: {', '.join(texts)} holds texts, and Dify compares numbers and times only",
            "Use $eq, $ne, $in or $nin",
        )
