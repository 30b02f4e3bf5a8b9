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


CASES = [
    Case(
        "dify",
        {"api_base_url": f"{HOST}/v1", "dataset_id": "00000000-0000-4000-8000-000000000051"},
        r"/datasets/[^/]+/(retrieve|hit-testing)$",
        {"search_mode": "semantic"},
        look_up="v1.14.2__get-dataset-vectors",
        good="v1.14.2__semantic",
    ),
]
