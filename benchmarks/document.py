"""The tables, and docs/performance.md whole."""

import os
import platform
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from string import Template

from adapters import BACKENDS, Network
from benchmarks.comparing import Row
from benchmarks.measures import ROUND_TRIP, STORAGE, ByName, First, Growth, Query
from benchmarks.passages import CHARACTERS
from console.connections import FRESH

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "performance.md"
TEMPLATE = Path(__file__).parent / "template.md"
HEAD = (
    "service",
    "",
    "text",
    "passages",
    "at once",
    "ours ms",
    "bare ms",
    "client a call ms",
    "ours/bare",
    "CPU",
    "connections/100",
)


@dataclass(frozen=True)
class Run:
    """All that one run found, and how: for the document."""

    backend: str
    """The service of the measures that need only one."""
    rounds: int
    starts: int
    rows: Sequence[Row]
    by_name: Sequence[ByName]
    first: First
    idle: Sequence[Query]
    growth: Growth


def machine() -> str:
    """What the run ran on."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def line(cells: Iterable[object]) -> str:
    """A row of a table; fractions with two digits."""
    return f"| {' | '.join(f'{cell:.2f}' if isinstance(cell, float) else str(cell) for cell in cells)} |"


def table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A whole table."""
    return "\n".join([line(head), "|---" * len(head) + "|", *map(line, rows)])


def cells(row: Row) -> tuple[object, ...]:
    """A row of the comparison, under HEAD."""
    backend, *load = row.load
    return (
        BACKENDS[backend].product,
        *load,
        row.ours,
        row.bare,
        row.fresh,
        f"**{row.ratio:.2f}**",
        row.cpu,
        f"{row.opened:.1f}",
    )


def medians(rows: Iterable[Row]) -> str:
    """The ratio over the services for each load, as lines that the README can take as they are."""
    ratios: dict[tuple[str, str], dict[tuple[int, int], list[float]]] = {}
    for row in rows:
        _, scheme, text, passages, at_once = row.load
        ratios.setdefault((scheme, text), {}).setdefault((passages, at_once), []).append(row.ratio)
    lines = []
    for (scheme, text), loads in ratios.items():
        told = [
            f"**{median(found):.2f}** with {passages} passages" + (f" and {at_once} calls at once" * (at_once > 1))
            for (passages, at_once), found in loads.items()
        ]
        lines.append(f"- {scheme}, {text}: {', '.join(told)}.")
    return "\n".join(lines)


def measures(run: Run) -> dict[str, str]:
    """The tables of the other measures by their names in the template."""
    begin = (round(run.first.loading), run.first.first, run.first.second)
    queries = ((one.query, one.requests, one.waited_for, one.milliseconds) for one in run.idle)
    grown = run.growth
    return {
        "by_name": table(("query", "own settings", "named connection", "difference"), run.by_name),
        "first": table(("import and initialize", "first call", "second call"), [begin]),
        "idle": table(("query", "requests", "waited for", "ms"), queries),
        "growth": f"{grown.calls} calls: peak memory {grown.kilobytes:+d} KB, open files {grown.files:+d}.",
    }


def document(run: Run) -> str:
    """The text of docs/performance.md."""
    return Template(TEMPLATE.read_text("utf-8")).substitute(
        measures(run),
        version=tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"],
        machine=machine(),
        connections=Network().max_connections,
        rounds=run.rounds,
        characters=f"{CHARACTERS:,}",
        medians=medians(run.rows),
        rows=table(HEAD, map(cells, run.rows)),
        product=BACKENDS[run.backend].product,
        storage=STORAGE,
        fresh=f"{FRESH:g}",
        starts=run.starts,
        round_trip=ROUND_TRIP,
    )
