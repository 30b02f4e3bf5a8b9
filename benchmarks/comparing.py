"""Ours against a bare client, for one load: they take turns, so that a ratio is one of figures of the same moment."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import httpx

from adapters import Access, Network, Pool, retrieve
from benchmarks.service import Running
from tests.contract.cases import KEY

Call = Callable[[], Awaitable[Any]]


class Load(NamedTuple):
    """What a service is asked for: so many passages of one kind, so many calls at once."""

    backend: str
    scheme: str
    text: str
    passages: int
    at_once: int


@dataclass(frozen=True)
class Row:
    """What a load costs: milliseconds a call, medians of the rounds' ratios, and connections opened."""

    load: Load
    ours: float
    bare: float
    fresh: float
    ratio: float
    cpu: float
    opened: float
    """By ours, for 100 calls."""


class Spent(NamedTuple):
    """What a call took in one round: milliseconds, those of CPU time, and connections opened."""

    wall: float
    cpu: float
    opened: float


async def measured(service: Running, call: Call, at_once: int, calls: int) -> Spent:
    """The mean over so many calls."""
    batches = max(calls // at_once, 1)
    done = batches * at_once
    opened = service.told().connections
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(batches):
        await asyncio.gather(*(call() for _ in range(at_once)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Spent(1000 * wall / done, 1000 * cpu / done, (service.told().connections - opened) / done)


async def in_turns(
    service: Running, calling: Mapping[str, Call], at_once: int, rounds: int, calls: int
) -> dict[str, list[Spent]]:
    """The rounds of each, after one that doesn't count; the order changes from round to round."""
    for call in calling.values():
        await measured(service, call, at_once, calls)
    spent: dict[str, list[Spent]] = {name: [] for name in calling}
    for turn in range(rounds):
        for name in list(calling)[:: -1 if turn % 2 else 1]:
            spent[name].append(await measured(service, calling[name], at_once, calls))
    return spent


async def compare(service: Running, load: Load, rounds: int, calls: int) -> Row:
    """The row of one load. What ours sends is sent by the bare clients too, over as many connections."""
    context = service.context(load.backend, load.text, load.passages, load.scheme)
    network = Network(ca_certificates=service.pem if load.scheme == "HTTPS" else "")
    wanted = min(load.passages, 100)

    def client() -> httpx.AsyncClient:
        trusted = httpx.create_ssl_context()
        trusted.load_verify_locations(cadata=service.pem)
        limits = httpx.Limits(max_connections=network.max_connections)
        headers = {"Authorization": f"Bearer {KEY}"}
        return httpx.AsyncClient(verify=trusted, limits=limits, headers=headers, timeout=60, trust_env=False)

    async with Pool() as pool, client() as pooled:
        access = Access(pool, network)

        async def ours() -> None:
            found = len((await retrieve(context, access)).results)
            if found != wanted:
                raise RuntimeError(f"{load}: {found} entries")

        await ours()
        told = service.told()
        url, payload = f"{service.bases[load.scheme]}{told.path}", json.loads(told.content)

        async def bare() -> None:
            json.loads((await pooled.post(url, json=payload)).content)

        async def fresh() -> None:
            async with client() as alone:
                json.loads((await alone.post(url, json=payload)).content)

        spent = await in_turns(service, {"ours": ours, "bare": bare}, load.at_once, rounds, calls)
        once = await measured(service, fresh, load.at_once, min(calls, 5))
    both = list(zip(spent["ours"], spent["bare"], strict=True))
    return Row(
        load,
        ours=median(one.wall for one, _ in both),
        bare=median(other.wall for _, other in both),
        fresh=once.wall,
        ratio=median(one.wall / other.wall for one, other in both),
        cpu=median(one.cpu / other.cpu for one, other in both),
        opened=100 * sum(one.opened for one, _ in both) / rounds,
    )
