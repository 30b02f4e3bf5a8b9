"""Write docs/fault-matrix.md: `python -m tests.faults.write_matrix`."""

import asyncio

from tests.faults.kit import Outcome
from tests.faults.matrix import DOCUMENT, FAULTS, run, table


async def _all() -> dict[str, dict[str, Outcome]]:
    return {fault.name: await run(fault) for fault in FAULTS}


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(table(asyncio.run(_all())), "utf-8")
