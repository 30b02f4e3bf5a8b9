"""What FastGPT 4.14.13 accepts, and zod's issue for what it doesn't; nothing is converted, null is not left out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sandbox.fastgpt.errors import invalid

EMBEDDING, FULL_TEXT, MIXED = "embedding", "fullTextRecall", "mixedRecall"

_ID = "^[0-9a-fA-F]{24}$"


@dataclass(frozen=True)
class Field:
    """One field of a body; without a default it is required."""

    kind: Literal["string", "number", "boolean"]
    default: Any = None
    required: bool = False
    is_id: bool = False
    choices: tuple[str, ...] = ()
    or_null: bool = False

    def issue(self, name: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what zod says of the field, None if it is right."""
        if name not in body and not self.required:
            return None
        if self.or_null and body.get(name) is None:
            return None
        received = _kind(body[name]) if name in body else "undefined"
        if self.choices:
            return None if body.get(name) in self.choices else _choice_issue(name, self.choices)
        if received != self.kind:
            return _type_issue(self.kind, received, name)
        if self.is_id and not re.fullmatch(_ID, body[name]):
            return _pattern_issue(name)
        return None


_DATASET_ID = Field("string", required=True, is_id=True)
DETAIL_FIELDS = {"id": _DATASET_ID}
LIST_FIELDS = {"parentId": Field("string", or_null=True)}
SEARCH_FIELDS = {
    "datasetId": _DATASET_ID,
    "text": Field("string", required=True),
    "limit": Field("number", 5000),
    "similarity": Field("number", 0),
    "searchMode": Field("string", EMBEDDING, choices=(EMBEDDING, FULL_TEXT, MIXED)),
    "embeddingWeight": Field("number", 0.5),
    "usingReRank": Field("boolean", default=False),
    "rerankModel": Field("string", ""),
    "rerankWeight": Field("number", 0.5),
    "datasetSearchUsingExtensionQuery": Field("boolean", default=False),
    "datasetSearchExtensionModel": Field("string", ""),
    "datasetSearchExtensionBg": Field("string", ""),
    "datasetDeepSearch": Field("boolean", default=False),
}


def checked(body: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the known fields with their defaults."""
    if not isinstance(body, dict):
        raise invalid(_type_issue("object", _kind(body)))
    issues = [issue for name, field in fields.items() if (issue := field.issue(name, body))]
    if issues:
        raise invalid(*issues)
    return {name: body.get(name, field.default) for name, field in fields.items()}


def _kind(value: Any) -> str:
    kinds = ((bool, "boolean"), (int | float, "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _type_issue(expected: str, received: str, *path: str) -> dict[str, Any]:
    message = f"Invalid input: expected {expected}, received {received}"
    return {"expected": expected, "code": "invalid_type", "path": list(path), "message": message}


def _choice_issue(name: str, choices: tuple[str, ...]) -> dict[str, Any]:
    listed = "|".join(f'"{choice}"' for choice in choices)
    message = f"Invalid option: expected one of {listed}"
    return {"code": "invalid_value", "values": list(choices), "path": [name], "message": message}


def _pattern_issue(name: str) -> dict[str, Any]:
    return {
        "origin": "string",
        "code": "invalid_format",
        "format": "regex",
        "pattern": f"/{_ID}/",
        "path": [name],
        "message": f"Invalid string: must match pattern /{_ID}/",
    }
