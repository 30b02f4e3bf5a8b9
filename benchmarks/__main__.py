"""Measure and print the table of docs/performance.md.

Ours, a bare pooled httpx client and a client per call take turns in one process against a service in another, so a
figure holds only beside the others of its run. `--quick` is a short run that shows that everything works.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import resource
import ssl
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from adapters import BACKENDS, Access, Network, Pool, retrieve
from benchmarks.service import serve

IDS = {"dify": "00000000-0000-4000-8000-000000000001", "ragflow": "a" * 32, "fastgpt": "a" * 24}
MANY = 50
Call = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class Bench:
    """One service at one address, with so many passages an answer."""

    backend: str
    base: str
    entries: int
    pem: str

    def context(self) -> RetrievalContext:
        creation = {
            "backend": self.backend,
            "api_base_url": f"{self.base}/{self.backend}/{self.entries}",
            "api_key": "k",
        }
        creation |= {"dataset_id": IDS.get(self.backend, "kb"), "flow_id": "flow"}
        mode = {"search_mode": "semantic"} if "semantic" in _options(self.backend).modes else {}
        return RetrievalContext(
            query="refund parcel days",
            creation_settings=creation,
            retrieval_settings={"top_k": 100, "timeout": 60, **mode},
        )

    def tls(self) -> ssl.SSLContext | bool:
        return ssl.create_default_context(cadata=self.pem) if self.base.startswith("https") else True


def _options(backend: str) -> Any:
    return type(BACKENDS[backend].model_fields["options"].default)


async def contenders(bench: Bench, pool: Pool, pooled: httpx.AsyncClient) -> dict[str, Call]:
    """Three ways to the same answer; each checks that it has the passages."""
    access = Access(pool, Network(ca_certificates=bench.pem if bench.base.startswith("https") else ""))
    context = bench.context()
    url, payload = f"{bench.base}/{bench.backend}/{bench.entries}/x", {"query": context.query, "top_k": bench.entries}
    wanted = min(bench.entries, 100)

    async def ours() -> None:
        found = len((await retrieve(context, access)).results)
        if found != wanted:
            raise RuntimeError(f"{found} entries")

    async def bare() -> None:
        json.loads((await pooled.post(url, json=payload)).content)

    async def fresh() -> None:
        async with httpx.AsyncClient(verify=bench.tls(), trust_env=False) as client:
            json.loads((await client.post(url, json=payload)).content)

    return {"ours": ours, "bare": bare, "fresh": fresh}


async def measured(call: Call, at_once: int, calls: int) -> tuple[float, float]:
    """Milliseconds of wall time and of CPU for one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls // at_once):
        await asyncio.gather(*(call() for _ in range(at_once)))
    done = calls // at_once * at_once
    return (time.perf_counter() - wall) * 1000 / done, (time.process_time() - cpu) * 1000 / done


async def compare(bench: Bench, at_once: int, rounds: int, calls: int, pipe: Connection) -> str:
    """A row: milliseconds of each, ratios as medians over rounds, and the connections ours opened for 100 calls."""
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    async with (
        Pool() as pool,
        httpx.AsyncClient(verify=bench.tls(), limits=limits, timeout=60, trust_env=False) as pooled,
    ):
        calling = await contenders(bench, pool, pooled)
        for call in calling.values():
            await asyncio.gather(*(call() for _ in range(at_once)))
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in calling}
        opened = 0
        for turn in range(rounds):
            order = list(calling)
            for name in order[turn % 3 :] + order[: turn % 3]:
                before = _ask(pipe)
                if name == "fresh" and at_once > 1 and turn > 1:
                    continue  # two rounds of it take longer than all the rest
                size = max(at_once, 5) if name == "fresh" else calls
                figures[name].append(await measured(calling[name], at_once, size))
                opened += _ask(pipe) - before if name == "ours" else 0
    wall = {name: statistics.median(w for w, _ in found) for name, found in figures.items()}
    ratio, cpu = (
        statistics.median(o[part] / b[part] for o, b in zip(figures["ours"], figures["bare"], strict=True))
        for part in (0, 1)
    )
    scheme = bench.base.partition(":")[0].upper()
    return (
        f"| {BACKENDS[bench.backend].product} | {scheme} | {bench.entries} | {at_once} | {wall['ours']:.2f} | {wall['bare']:.2f} "
        f"| {wall['fresh']:.2f} | **{ratio:.2f}** | {cpu:.2f} | {100 * opened / (rounds * calls):.1f} |"
    )


def _ask(pipe: Connection) -> int:
    pipe.send("connections")
    return int(pipe.recv())


def _open_files() -> int:
    """How many files and sockets this process has open (Linux)."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def growth(bench: Bench, calls: int) -> str:
    """Memory and open files before and after so many calls."""
    async with Pool() as pool, httpx.AsyncClient(trust_env=False) as pooled:
        ours = (await contenders(bench, pool, pooled))["ours"]
        for _ in range(max(calls // 10, 50)):
            await ours()
        before, files = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, _open_files()
        for _ in range(calls):
            await ours()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        return f"{calls} calls: peak memory +{grown} KB, open files +{_open_files() - files}"


async def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few calls each")
    parser.add_argument("--backend", choices=list(BACKENDS), help="one service only")
    given = parser.parse_args()
    rounds, calls = (2, 10) if given.quick else (9, 60)
    spawn = multiprocessing.get_context("spawn")
    pipe, other = spawn.Pipe()
    service = spawn.Process(target=serve, args=(other,), daemon=True)
    service.start()
    try:
        plain, secure, pem = pipe.recv()
        bases = [f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{secure}"]
        chosen = [given.backend] if given.backend else list(BACKENDS)
        print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
        print(
            "| service | | passages | at once | ours ms | bare ms | client a call ms | ours/bare | CPU | connections/100 |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for backend in chosen:
            for base in bases:
                for entries, at_once in ((5, 1), (5, MANY), (50, 1), (500, 1)):
                    share = {5: 1, 50: 2, 500: 10}[entries]
                    number = max(calls // share, at_once, 5)
                    print(await compare(Bench(backend, base, entries, pem), at_once, rounds, number, pipe), flush=True)
        print(f"\n{await growth(Bench(chosen[0], bases[0], 5, pem), 200 if given.quick else 5000)}")
    finally:
        pipe.send("stop")
        service.join(5)
        service.kill()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
