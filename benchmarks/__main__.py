"""Measure, print the figures, and write docs/performance.md. Figures hold only beside the others of their run."""

import argparse
import asyncio
from typing import NamedTuple

from adapters import BACKENDS
from benchmarks.comparing import Load, compare
from benchmarks.document import DOCUMENT, HEAD, Run, cells, document, line, machine, measures, medians
from benchmarks.measures import after_idle, by_name, first_calls, growth
from benchmarks.service import Running, running


class Effort(NamedTuple):
    """How much is measured: rounds, calls a round (of 5 passages), calls at once, processes, calls for the memory."""

    rounds: int
    calls: int
    at_once: int
    starts: int
    many: int


FULL = Effort(rounds=25, calls=60, at_once=50, starts=5, many=5000)
QUICK = Effort(rounds=2, calls=10, at_once=8, starts=1, many=200)
SHARE = {5: 1, 50: 3, 500: 12}
"""By what the calls of a round are divided with so many passages."""


def loads(backend: str, at_once: int) -> list[Load]:
    """What one service is asked for, in the table's order."""
    http, https = [
        [Load(backend, scheme, "ASCII", *asked) for asked in ((5, 1), (5, at_once), (50, 1), (500, 1))]
        for scheme in ("HTTP", "HTTPS")
    ]
    return [*http, *(Load(backend, "HTTP", text, 50, 1) for text in ("Chinese", "escaped")), *https]


async def measure(service: Running, backends: list[str], effort: Effort) -> Run:
    """Everything, one after another; the rows are printed as they come."""
    print(f"{machine()}\n\n{line(HEAD)}\n{'|---' * len(HEAD)}|")
    rows = []
    for backend in backends:
        for load in loads(backend, effort.at_once):
            rows.append(await compare(service, load, effort.rounds, max(effort.calls // SHARE[load.passages], 2)))
            print(line(cells(rows[-1])), flush=True)
    return Run(
        backend=(one := backends[0]),
        rounds=effort.rounds,
        starts=effort.starts,
        rows=rows,
        by_name=await by_name(service, one, effort.rounds, effort.calls // 2),
        first=first_calls(service, one, effort.starts),
        idle=await after_idle(service, effort.starts),
        growth=await growth(service, one, effort.many),
    )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few calls each; nothing is written")
    parser.add_argument("--backend", choices=list(BACKENDS), help="one service only; nothing is written")
    given = parser.parse_args()
    backends = [given.backend] if given.backend else list(BACKENDS)
    with running() as service:
        run = asyncio.run(measure(service, backends, QUICK if given.quick else FULL))
    print("", *measures(run).values(), medians(run.rows), sep="\n\n")
    if not given.quick and not given.backend:
        DOCUMENT.write_text(document(run), "utf-8")
        print(f"\nwritten: {DOCUMENT}")


if __name__ == "__main__":
    main()
