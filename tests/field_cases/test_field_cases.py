"""What went wrong for people who did this job: the whole plugin as a black box over real sockets.

Each case is a failure of somebody who bridged one of these services to a chat bot; `right` says in words what must come
out, `expect` in words of wishes.py.
"""

import asyncio
import json
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from adapters import BACKENDS
from tests.field_cases.running import run
from tests.field_cases.wishes import ALWAYS, ENTRIES, ERRORS, OTHERS, RESULTS, SEARCHES

CASES = [
    case
    for case in json.loads((Path(__file__).parent / "cases.json").read_text("utf-8"))
    if case["backend"] in BACKENDS
]


@pytest.fixture(scope="module")
def portal():
    """A thread with an event loop of its own, so that a plugin that blocks can't block the service."""
    with start_blocking_portal() as portal:
        portal.call(_quiet)
        yield portal


async def _quiet() -> None:
    """A service that is left in the middle of a sentence has nothing to say about it."""
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case['backend']}-{case['id']}") for case in CASES])
def test_field_case(case, portal):
    assert run(case, portal) == []


def test_every_wish_is_understood():
    known = {*ALWAYS, *ERRORS, *SEARCHES, *RESULTS, *ENTRIES, *OTHERS}
    said = {name for case in CASES for name in {**case["expect"], **case["expect"].get("if_error", {})}}
    assert said <= known
