"""The datasets of the imitated team and what FastGPT tells about them."""

from dataclasses import dataclass
from typing import Any, Literal

from sandbox.corpus import Form, Passage
from sandbox.ids import hex24_of

CHAT_MODEL = "sandbox-chat"

_UPDATED_AT = "2026-12-01T00:08:46.161Z"
_MEMBER = hex24_of("fastgpt", "member")


@dataclass(frozen=True)
class Dataset:
    """One dataset or folder; `forms` names the documents of the handbook that are in it, `parent` the folder around it."""

    name: str
    forms: frozenset[Form] = frozenset(Form)
    kind: Literal["dataset", "folder"] = "dataset"
    is_readable: bool = True
    parent: str | None = None

    @property
    def id(self) -> str:
        return hex24_of("fastgpt", self.name)

    @property
    def parent_id(self) -> str | None:
        return hex24_of("fastgpt", self.parent) if self.parent else None

    def holds(self, passage: Passage) -> bool:
        return passage.document.form in self.forms


def team() -> dict[str, Dataset]:
    """Return every dataset by id, one of another team included."""
    datasets = (
        Dataset("handbook"),
        Dataset("empty", forms=frozenset()),
        Dataset("folder", forms=frozenset(), kind="folder"),
        Dataset("questions-and-answers", forms=frozenset({Form.QUESTION_ANSWER}), parent="folder"),
        Dataset("folder-inside", forms=frozenset(), kind="folder", parent="folder"),
        Dataset("parents-and-children", forms=frozenset({Form.PARENT_CHILD}), parent="folder-inside"),
        Dataset("other-team", is_readable=False),
    )
    return {dataset.id: dataset for dataset in datasets}


def details(dataset: Dataset) -> dict[str, Any]:
    """Return `data` of `GET /api/core/dataset/detail`."""
    return _common(dataset) | {
        "parentId": dataset.parent_id,
        "teamId": hex24_of("fastgpt", "team"),
        "agentModel": {
            "model": CHAT_MODEL,
            "name": CHAT_MODEL,
            "provider": "Other",
            "type": "llm",
            "maxContext": 16000,
            "maxResponse": 4000,
            "quoteMaxToken": 8000,
            "maxTemperature": 1,
            "functionCall": False,
            "toolChoice": False,
            "datasetProcess": True,
            "charsPointsPrice": 0,
        },
        "deleteTime": None,
        "__v": 0,
        "status": "active",
    }


def listed(dataset: Dataset) -> dict[str, Any]:
    """Return the dataset's entry in `POST /api/core/dataset/list`."""
    owner = {"name": "Owner", "avatar": "/imgs/avatar/RedAvatar.svg", "status": "active"}
    return _common(dataset) | {"private": True, "sourceMember": owner}


def _common(dataset: Dataset) -> dict[str, Any]:
    return {
        "_id": dataset.id,
        "tmbId": _MEMBER,
        "type": dataset.kind,
        "avatar": "/icon/logo.svg",
        "name": dataset.name,
        "intro": "",
        "vectorModel": {
            "model": "sandbox-embedding",
            "name": "sandbox-embedding",
            "provider": "Other",
            "type": "embedding",
            "defaultToken": 512,
            "maxToken": 3000,
            "weight": 100,
            "charsPointsPrice": 0,
        },
        "inheritPermission": True,
        "updateTime": _UPDATED_AT,
        "permission": _owner_permission(),
    }


def _owner_permission() -> dict[str, Any]:
    everything = 4294967295
    roles = {"read": ("read", 4), "write": ("write", 2), "manage": ("manager", 1)}
    return {
        "role": everything,
        "permission": everything,
        **dict.fromkeys(
            ("isOwner", "hasManagePer", "hasWritePer", "hasReadPer", "hasManageRole", "hasWriteRole", "hasReadRole"),
            True,
        ),
        "roleList": {
            role: {
                "name": f"common:permission.{name}",
                "description": f"dataset:permission.des.{role}",
                "value": value,
                "checkBoxType": "single",
            }
            for role, (name, value) in roles.items()
        },
        "perList": {"owner": everything, **{role: value for role, (_, value) in roles.items()}},
        "rolePerMap": {},
    }
