"""Recordings of Dify, asked of the sandbox's datasets."""

import copy
import re
from typing import Any

from sandbox.dify.datasets import MODEL_PROVIDER, RERANK_MODEL
from sandbox.ids import uuid_of
from tests.sandbox.dify.asking import KEY
from tests.sandbox.exchanges import Exchange

VERSION = "1.16.0"
# What a recording calls the key and the models of the sandbox.
STAND_INS = {
    "dataset-FAKEKEY": KEY,
    "local/stub/stub": MODEL_PROVIDER,
    "stub-rerank": RERANK_MODEL,
    "stub-embedding": "sandbox-embedding",
}


def dify_exchange(name: str, dataset: str, version: str = VERSION, replace: dict[str, str] | None = None) -> Exchange:
    """The recording with this dataset of the sandbox in place of the one that was asked."""
    recorded = f"v{version}__{name}"
    asked = re.findall("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", Exchange("dify", recorded).request["path"])
    own = dict.fromkeys(asked, uuid_of("dify", dataset))
    return Exchange("dify", recorded, STAND_INS | own | (replace or {}))


def of_every_form(recorded: dict[str, Any]) -> dict[str, Any]:
    """A recorded answer, with records of the forms that stood in separate datasets and the handbook mixes."""
    if not recorded.get("records"):
        return recorded
    others = [one for name in ("qa", "parent-child") for one in Exchange("dify", f"v{VERSION}__{name}").body["records"]]
    carried = [one["segment"]["document"]["doc_metadata"] for one in recorded["records"]]
    more = copy.deepcopy([(one, metadata) for one in others for metadata in carried])
    for one, metadata in more:
        one["segment"]["document"]["doc_metadata"] = metadata
    return recorded | {"records": [*recorded["records"], *(one for one, _ in more)]}
