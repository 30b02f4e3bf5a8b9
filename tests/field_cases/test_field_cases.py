"""What went wrong for people who did this job: the whole plugin as a black box over real sockets."""

import json
import sys
from pathlib import Path

import pytest

from adapters import BACKENDS
from tests.field_cases import harness

ROOT = Path(__file__).parents[2]
CASES = [
    pytest.param(case, id=f"{case['backend']}-{case['id']}")
    for case in json.loads((Path(__file__).parent / "cases.json").read_text("utf-8"))
    if case["backend"] in BACKENDS
]


@pytest.fixture(scope="module")
def classes():
    sys.path.insert(0, str(ROOT))
    return harness.load_plugin(ROOT)


@pytest.fixture(scope="module")
def thread():
    thread = harness.ServerThread()
    yield thread
    thread.loop.call_soon_threadsafe(thread.loop.stop)
    thread.thread.join(5)
    thread.loop.close()


@pytest.mark.parametrize("case", CASES)
def test_field_case(case, classes, thread):
    assert harness.run_case(case, classes, thread) == []
