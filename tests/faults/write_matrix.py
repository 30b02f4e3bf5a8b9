"""Write docs/fault-matrix.md: `python -m tests.faults.write_matrix`."""

import asyncio

from tests.faults.matrix import DOCUMENT, FAULTS, HEAD, row, run


async def _lines() -> list[str]:
    return [*HEAD, *[row(fault, await run(fault)) for fault in FAULTS]]


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text("\n".join([*asyncio.run(_lines()), ""]), "utf-8")
