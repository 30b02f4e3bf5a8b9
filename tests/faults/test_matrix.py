"""Every fault on real sockets over every service: the class, the text, the requests, the time, and no secret anywhere."""

import re

import pytest

from adapters import BridgeError
from tests.faults.fault import WORKS, Fault
from tests.faults.kit import KITS, Kit
from tests.faults.matrix import DOCUMENT, FAULTS, HEAD, row, run
from tests.faults.outcome import Outcome

LINES = DOCUMENT.read_text("utf-8").split("\n")[:-1]
ROWS = LINES[len(HEAD) :]


def wrong(fault: Fault, kit: Kit, outcome: Outcome) -> list[str]:
    """What a cell of the matrix has against it."""
    kind, requests = fault.expected(kit)
    problems = []
    if kind == WORKS and not (outcome.response and outcome.response.results):
        problems.append(f"{outcome.kind} instead of entries: {outcome.error!r}")
    if kind != WORKS:
        if not isinstance(outcome.error, BridgeError) or type(outcome.error).__name__ != kind:
            problems.append(f"{outcome.kind} instead of {kind}: {outcome.error!r}")
        said = str(outcome.error)
        if not re.match(rf"{kit.product}( \d+(\.\d+)*)? at (127\.0\.0\.1:\d+|nowhere\.invalid)(: | \(dataset)", said):
            problems.append(f"doesn't say which service: {said}")
        if len(said) >= 300:
            problems.append(f"{len(said)} characters: {said}")
        if not re.search(fault.says, said):
            problems.append(f"doesn't say {fault.says!r}: {said}")
    if outcome.requests != requests:
        problems.append(f"{outcome.requests} requests instead of {requests}")
    if outcome.astray:
        problems.append("somebody else was asked")
    if outcome.elapsed >= fault.timeout + 3:  # a busy machine is late
        problems.append(f"took {outcome.elapsed:.1f} s")
    problems += [
        f"secret in {place}: {secret}" for place, told in outcome.told().items() for secret in kit.secrets_in(told)
    ]
    return [f"{kit.backend}: {problem}" for problem in problems]


def test_every_fault_has_a_name_of_its_own():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in FAULTS])
async def test_fault(fault):
    found = await run(fault)
    problems = [problem for kit in KITS for problem in wrong(fault, kit, found[kit.backend])]
    assert not problems, "\n".join(problems)
    assert row(fault, found) in ROWS


def test_the_document_has_a_row_for_every_fault_in_their_order():
    assert LINES[: len(HEAD)] == HEAD
    assert [line.split(" | ")[0] for line in ROWS] == [f"| {fault.name}" for fault in FAULTS]
