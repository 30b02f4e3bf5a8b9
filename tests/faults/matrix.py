"""Every fault, its run over all services, and the table that a run of them makes."""

import asyncio
import contextlib
import time
from pathlib import Path

from adapters import Access, BridgeError, Pool, retrieve
from tests.faults.fault import Fault
from tests.faults.kinds.bodies import BODIES
from tests.faults.kinds.connections import CONNECTIONS, EARLIER, PATIENCE
from tests.faults.kinds.echoes import ECHOES
from tests.faults.kinds.secured import PROXIES, TLS
from tests.faults.kinds.statuses import FAILED, LIMITS, STATUSES
from tests.faults.kinds.strangers import IN_ITS_PLACE
from tests.faults.kit import KITS, Kit
from tests.faults.outcome import Outcome, listening
from tests.pauses import nap, quick

DOCUMENT = Path(__file__).parents[2] / "docs" / "fault-matrix.md"
FAULTS = [
    *CONNECTIONS,
    *EARLIER,
    *PATIENCE,
    *BODIES,
    *ECHOES,
    *STATUSES,
    *LIMITS,
    *FAILED,
    *IN_ITS_PLACE,
    *TLS,
    *PROXIES,
]


async def run(fault: Fault) -> dict[str, Outcome]:
    """Each service's outcome of one fault, all at once."""
    pauses = contextlib.nullcontext() if fault.patient else quick()
    with listening() as lines, pauses, fault.around():
        outcomes = await asyncio.gather(*(cell(fault, kit) for kit in KITS))
    for outcome in outcomes:
        outcome.lines = lines
    return {kit.backend: outcome for kit, outcome in zip(KITS, outcomes, strict=True)}


async def cell(fault: Fault, kit: Kit) -> Outcome:
    """One call of one service."""
    later = 0.0
    async with fault.place(kit) as place, Pool((lambda: later) if fault.before else time.monotonic) as pool:
        context = kit.context(place.base, fault.timeout)
        access = Access(pool, place.network)
        if fault.before:
            answers, place.service.answers = place.service.answers, [fault.before(kit)]
            for _ in range(3):
                with contextlib.suppress(BridgeError):
                    await retrieve(context, access)
            place.service.answers, place.service.turn = answers, 0
            place.service.requests.clear()
            later = fault.later
        if fault.warm:
            await retrieve(context, access)
            await nap(0.05)
        outcome = Outcome()
        started = time.monotonic()
        try:
            outcome.response = await retrieve(context, access)
        except BaseException as error:  # noqa: BLE001 - what leaves is the finding
            outcome.error = error
        outcome.elapsed = time.monotonic() - started
        outcome.requests = len(place.service.requests)
        outcome.connections = place.service.connections
        outcome.astray = sum(other.connections for other in place.others)
    return outcome


HEAD = [
    "# What a fault comes to",
    "",
    "Made by `python -m tests.faults.write_matrix` from a run of `tests/faults/test_matrix.py` on real sockets;",
    "a test compares it with what happens. A cell says the error's class, or how many entries came, and how many",
    "requests the service saw. Every error comes within the call's timeout.",
    "",
    "| Fault | " + " | ".join(kit.product for kit in KITS) + " | Text for Dify |",
    "|---" * (len(KITS) + 2) + "|",
]
"""The document up to its first row."""


def row(fault: Fault, outcomes: dict[str, Outcome]) -> str:
    """The document's line on a fault: a column a service."""
    cells = [f"{outcome.kind} / {outcome.requests}" for outcome in outcomes.values()]
    text = outcomes["dify"].text.replace("|", "\\|").replace("<", "&lt;")
    return f"| {fault.name} | {' | '.join(cells)} | {text} |"
