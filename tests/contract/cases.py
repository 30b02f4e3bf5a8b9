"""The services under the contract suite: a line each. What their recordings mean stands in expected/<backend>.json."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[1] / "recordings"
EXPECTED = Path(__file__).parent / "expected"
HOST = "http://service.test"
KEY = "made-up-KEYabcdef0123456789KEYabcdef0123456789"


@dataclass(frozen=True)
class Case:
    """One service: how to reach the stand-in, which recordings are searches, what else it is asked."""

    backend: str
    creation: dict[str, Any]
    search: str
    """Regular expression of the search route's path."""
    retrieval: dict[str, Any] = field(default_factory=dict)
    look_up: str = ""
    """A recording that answers every GET."""
    good: str = ""
    """A recording of a plain search with at least two hits."""
    listing: str = ""
    """A recording of the list of datasets; blank where the service has none."""
    refused: str = ""
    """A recording of a wrong key."""
    passages: tuple[tuple[str, ...], ...] = ()
    """Where a record's passage may stand."""


CASES = [
    Case(
        "dify",
        {"api_base_url": f"{HOST}/v1", "dataset_id": "00000000-0000-4000-8000-000000000051"},
        r"/datasets/[^/]+/(retrieve|hit-testing)$",
        {"search_mode": "semantic"},
        look_up="v1.14.2__get-dataset-vectors",
        good="v1.14.2__semantic",
        listing="v1.14.2__list-datasets",
        refused="v1.14.2__key-wrong",
        passages=(("segment", "content"), ("segment", "answer")),
    ),
    Case(
        "ragflow",
        {"api_base_url": HOST, "dataset_id": "1d5a00bded1a11f1a000020000000001"},
        r"^/api/v1/retrieval$",
        good="retrieval_basic",
        listing="datasets_page_size_100",
        refused="datasets_no_key",
        passages=(("content",), ("content_with_weight",)),
    ),
    Case(
        "fastgpt",
        {"api_base_url": HOST, "dataset_id": "66a1b2c3d4e5f60718293a01"},
        r"/searchTest$",
        {"search_mode": "semantic"},
        good="v4.14.13__embedding",
        listing="v4.14.13__list_ok",
        refused="v4.14.13__err_bad_key",
        passages=(("q",), ("a",)),
    ),
    Case(
        "jinba",
        {"api_base_url": HOST, "flow_id": "flow_demo_1", "dataset_id": "kb_demo"},
        r"/published-run$",
        good="01_flow_sync_object",
        passages=(("chunk", "content"),),
    ),
    Case(
        "external_knowledge",
        {"api_base_url": HOST, "dataset_id": "kb-1"},
        r"/retrieval$",
        good="01_success",
        passages=(("content",),),
    ),
    Case(
        "anything_llm",
        {"api_base_url": HOST, "dataset_id": "support"},
        r"/vector-search$",
        look_up="workspace",
        good="search_basic",
        listing="workspaces",
        refused="key_wrong",
        passages=(("text",),),
    ),
    Case(
        "weknora",
        {"api_base_url": HOST, "dataset_id": "3f1c9a52-7d0e-4b86-9c1d-5a2e8f604b17"},
        r"/hybrid-search$",
        good="source__01_semantic",
        listing="source__26_base_list",
        refused="source__07_bad_key",
        passages=(("content",),),
    ),
]


def case_of(backend: str) -> Case:
    """The case of one service."""
    return next(case for case in CASES if case.backend == backend)
