"""What Dify passes on of PostgreSQL's own errors."""

from typing import Any

from sandbox.dify.errors import DifyError
from sandbox.dify.payload import Condition

_COLUMNS = (
    "id", "tenant_id", "dataset_id", "position", "data_source_type", "data_source_info", "dataset_process_rule_id",
    "batch", "name", "created_from", "created_by", "created_api_request_id", "created_at", "processing_started_at",
    "file_id", "word_count", "parsing_completed_at", "cleaning_completed_at", "splitting_completed_at", "tokens",
    "indexing_latency", "completed_at", "is_paused", "paused_by", "paused_at", "error", "stopped_at",
    "indexing_status", "enabled", "disabled_at", "disabled_by", "archived", "archived_reason", "archived_by",
    "archived_at", "updated_at", "doc_type", "doc_metadata", "doc_form", "doc_language", "need_summary",
)  # fmt: skip
# How much of a long line PostgreSQL's client quotes, and how much of that follows the place of the error.
_QUOTED, _AFTER = 60, 10


def no_number(text: Any, condition: Condition, sign: str, dataset_id: str) -> DifyError:
    """Return the 500 for a text compared as a number; the statement quoted has this condition alone."""
    quoted = _quoted(condition, sign) if text is condition.value else ""
    columns = ", ".join(f"documents.{column}" for column in _COLUMNS)
    parameters = {
        "indexing_status_1": "completed",
        "doc_metadata_1": condition.name,
        "param_1": condition.value,
        "dataset_id_1_1": dataset_id,
    }
    message = (
        "(psycopg2.errors.InvalidTextRepresentation) "
        f'invalid input syntax for type double precision: "{text}"\n{quoted}\n'
        f"[SQL: SELECT {columns} \nFROM documents \nWHERE documents.dataset_id IN (%(dataset_id_1_1)s::UUID) "
        "AND documents.indexing_status = %(indexing_status_1)s AND documents.enabled = true "
        "AND documents.archived = false "
        f"AND CAST((documents.doc_metadata ->> %(doc_metadata_1)s) AS FLOAT) {sign} %(param_1)s]\n"
        f"[parameters: {parameters}]\n(Background on this error at: https://sqlalche.me/e/20/9h9h)"
    )
    return DifyError(500, "internal_server_error", message)


def _quoted(condition: Condition, sign: str) -> str:
    """The end of the line that holds the value, and a mark under it."""
    before = (
        f"AND documents.archived = false AND CAST((documents.doc_metadata ->> '{condition.name}') AS FLOAT) {sign} "
    )
    line = f"{before}'{condition.value}'"
    end = min(len(line), len(before) + _AFTER)
    start = max(0, end - _QUOTED)
    shown = f"LINE 3: ...{line[start:end]}{'...' if end < len(line) else ''}"
    return f"{shown}\n{' ' * (len('LINE 3: ...') + len(before) - start)}^\n"
