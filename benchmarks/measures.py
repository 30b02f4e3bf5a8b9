"""What the comparison doesn't show: named connections, the first call, a query after idle minutes, memory."""

import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from adapters import Pool, retrieve
from benchmarks.comparing import in_turns
from benchmarks.service import Running
from components.knowledge_engine.engine import RemoteEngine
from console.connections import FRESH, PREFIX, Connections
from console.run import CONNECTION
from main import KnowledgeBridge

STORAGE = 12
"""Milliseconds of a call to LangBot's storage."""
ROUND_TRIP = 20
"""Milliseconds until a service behind a network answers."""
IDLE = {"the first ever": 0, "the next": 1, "after five idle minutes": 300}
"""Queries one after another, and the seconds before each."""
ROOT = Path(__file__).parents[1]


class ByName(NamedTuple):
    """A query with settings of its own beside one over a named connection: milliseconds a call."""

    query: str
    own: float
    named: float
    more: float
    """The median of the rounds' differences."""


class First(NamedTuple):
    """A process's begin, in milliseconds."""

    loading: float
    first: float
    second: float


class Query(NamedTuple):
    """A query behind a network: its requests, those of them that it waited for, and its milliseconds."""

    query: str
    requests: int
    waited_for: int
    milliseconds: float


class Growth(NamedTuple):
    """By how much so many calls let the process grow."""

    calls: int
    kilobytes: int
    files: int


class Hosted(KnowledgeBridge):
    """The plugin with one connection in a storage that takes its time, and a clock to turn."""

    def __init__(self, settings: dict[str, object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.config, self.now = {}, 0.0
        self.stored = {f"{PREFIX}it": json.dumps({"settings": settings, "revision": "1"}).encode()}

    async def initialize(self) -> None:
        await super().initialize()
        self.connections = Connections(lambda: self.now)

    async def get_plugin_storage(self, key: str) -> bytes:
        await asyncio.sleep(STORAGE / 1000)
        return self.stored[key]


async def by_name(service: Running, backend: str, rounds: int, calls: int) -> list[ByName]:
    """The first query over a connection; then queries whose copy of it is too old each time, so that it is renewed."""
    context = service.context(backend, "ASCII", 5)
    named = context.model_copy(update={"creation_settings": {"backend": CONNECTION, "connection": "it"}})
    plugin = Hosted(context.creation_settings)
    engine = RemoteEngine()  # type: ignore[no-untyped-call]
    engine.plugin = plugin
    await plugin.initialize()

    async def own() -> None:
        await engine.retrieve(context)

    async def over() -> None:
        plugin.now += FRESH + 1
        await engine.retrieve(named)

    async def first() -> None:
        plugin.connections.forget(plugin.tenant)
        await engine.retrieve(named)

    rows = []
    for query, call, at_once in (("the first", first, 1), ("alone", over, 1), ("8 at once", over, 8)):
        spent = await in_turns(service, {"own": own, "named": call}, at_once, rounds, calls)
        mine, others = ([one.wall for one in spent[name]] for name in ("own", "named"))
        more = median(other - one for one, other in zip(mine, others, strict=True))
        rows.append(ByName(query, median(mine), median(others), more))
    await plugin.close()
    return rows


def first_calls(service: Running, backend: str, times: int) -> First:
    """The medians over so many processes."""
    context = service.context(backend, "ASCII", 5).model_dump_json()
    command = [sys.executable, "-m", "benchmarks.first_call", context]
    told = [subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout for _ in range(times)]
    return First(*map(median, zip(*map(json.loads, told), strict=True)))


async def after_idle(service: Running, rounds: int, milliseconds: int = ROUND_TRIP) -> list[Query]:
    """Queries to Dify with search_mode auto, which goes by the dataset's own settings; nobody waits, the clock is set."""
    context = service.context("dify", "ASCII", 5, milliseconds=milliseconds)
    context.retrieval_settings["search_mode"] = "auto"
    found: dict[str, list[Query]] = {query: [] for query in IDLE}
    for _ in range(rounds):
        now = 0.0
        async with Pool(lambda: now) as pool:  # noqa: B023 - used in this round alone
            for query, pause in IDLE.items():
                now += pause
                before, started = service.told(), time.perf_counter()
                await retrieve(context, pool)
                took = 1000 * (time.perf_counter() - started)
                await asyncio.sleep(3 * milliseconds / 1000)  # what goes on beside comes to its end
                after = service.told()
                requests, waited_for = after.requests - before.requests, after.waited_for - before.waited_for
                found[query].append(Query(query, requests, waited_for, took))
    return [max(same)._replace(milliseconds=median(one.milliseconds for one in same)) for same in found.values()]


async def growth(service: Running, backend: str, calls: int) -> Growth:
    """The process's peak memory and open files (Linux) before and after so many calls."""
    context = service.context(backend, "ASCII", 5)
    async with Pool() as pool:

        async def taken(times: int) -> tuple[int, int]:
            for _ in range(times):
                await retrieve(context, pool)
            return _size()

        memory, files = await taken(max(calls // 10, 50))
        grown, opened = await taken(calls)
    return Growth(calls, grown - memory, opened - files)


def _size() -> tuple[int, int]:
    """Kilobytes of peak memory, and open files."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(list(Path("/proc/self/fd").iterdir()))
