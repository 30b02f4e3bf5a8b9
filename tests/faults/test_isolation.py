"""Nothing crosses between calls, keys, addresses and installations, and nothing is left behind."""

import asyncio
import copy
import json
import random
import re
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse
from langbot_plugin.api.proxies.invocation import bind_invocation
from langbot_plugin.entities.io.context import InstallationBinding
from langbot_plugin.runtime.io.handler import Handler

from adapters import Access, BridgeError, Network, Pool, retrieve
from bridge.errors import UnavailableError
from bridge.http import patience
from components.knowledge_engine.engine import RemoteEngine
from main import KnowledgeBridge
from tests.contract.cases import CASES, Case
from tests.contract.stand_in import context, recording, rows_of
from tests.faults.kit import Kit, nap, quick, raw, reset, silence
from tests.service import Answer, Request, Service, reply

TEXTS = {"ragflow": "content", "fastgpt": "q", "external_knowledge": "content"}
MODES = ("semantic_search", "full_text_search")
EAGER = Network(pause_after_failures=False)
PAGES = {case.backend: recording(case.backend, case.good)["response"] for case in CASES}


def key_of(number: int) -> str:
    return f"KEY-{number:04}-{number * 7919:08}"


def query_of(number: int) -> str:
    return f"question {number:04} of somebody?"


def mode_of(number: int) -> str:
    """The search mode that caller `number` has saved in Dify; callers of one address differ."""
    return MODES[number // 10 % 2]


def number_in(text: str, before: str) -> int:
    found = re.findall(rf"{before}(\d{{4}})", text)
    assert len(set(found)) == 1, text
    return int(found[0])


def seeded(seed: int | str) -> random.Random:
    """The same luck in every run."""
    return random.Random(seed)  # noqa: S311


def fails(number: int) -> bool:
    return seeded(number).random() < 0.3


def asker(case: Case, number: int, base: str, timeout: float = 30, *, looks_up: bool = True) -> RetrievalContext:
    """The context of caller `number`; Dify's looks the dataset's own search mode up."""
    mode = {"search_mode": "auto"} if case.backend == "dify" and looks_up else {}
    return context(
        case,
        query_of(number),
        creation={"api_base_url": base, "api_key": key_of(number)},
        retrieval={**mode, "timeout": timeout},
    )


def found_for(backend: str, words: str) -> Any:
    """The recorded good answer, its first passage saying `words`."""
    answer = copy.deepcopy(PAGES[backend])
    record = rows_of(answer)[0]
    match backend:
        case "dify":
            record["segment"]["content"] = words
        case "jinba":
            record["chunk"]["content"] = words
        case _:
            record[TEXTS[backend]] = words
    return answer


def asked_by(request: Request) -> tuple[int, int]:
    """Whose key and whose query a search came with."""
    return number_in(request.headers["authorization"], "KEY-"), number_in(request.body.decode(), "question ")


def personal(kit: Kit, crossed: list[str]) -> tuple[Answer, Answer]:
    """A service that answers every caller something else, or fails; and a look-up that differs by key."""

    async def search(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        by_key, by_query = asked_by(request)
        if by_key != by_query or "cookie" in request.headers:
            crossed.append(f"{request.headers} {request.body!r}")
        if kit.backend == "dify" and request.json["retrieval_model"]["search_method"] != mode_of(by_key):
            crossed.append(f"look-up of {by_key}: {request.body!r}")
        await nap(seeded(by_key).random() * 0.02)
        cookie = {"Set-Cookie": f"session={by_key}; Path=/"}
        if fails(by_key):
            return await reply(418, json.loads(kit.failed(418, f"reason {by_key:04}")), cookie)(request, writer)
        return await reply(200, found_for(kit.backend, f"passage {by_key:04}"), cookie)(request, writer)

    async def look_up(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        number = number_in(request.headers["authorization"], "KEY-")
        told = copy.deepcopy(recording("dify", "v1.14.2__get-dataset-vectors")["response"])
        told["retrieval_model_dict"]["search_method"] = mode_of(number)
        return await reply(body=told, headers={"Set-Cookie": f"session={number}; Path=/"})(request, writer)

    return search, look_up


async def caught(context: RetrievalContext, pool: Pool | Access) -> RetrievalResponse | BridgeError:
    try:
        return await retrieve(context, pool)
    except BridgeError as error:
        return error


def check(number: int, outcome: RetrievalResponse | BridgeError, port: int) -> None:
    """The outcome is that of this caller and of nobody else."""
    if isinstance(outcome, BridgeError):
        assert fails(number)
        assert f"127.0.0.1:{port}:" in str(outcome)
        assert number_in(str(outcome), "reason ") == number
    else:
        assert not fails(number)
        assert number_in(outcome.model_dump_json(), "passage ") == number


async def test_200_calls_at_once_keep_everything_apart():
    crossed: list[str] = []
    async with AsyncExitStack() as stack, Pool() as pool:
        places: list[tuple[Case, Service]] = []
        for case in CASES * 2:
            search, look_up = personal(Kit(case), crossed)
            service = await stack.enter_async_context(Service([search], look_up if case.backend == "dify" else None))
            places.append((case, service))
        everybody = [(number, *places[number % len(places)]) for number in range(200)]
        for _ in range(2):  # the second time with kept connections and look-ups
            outcomes = await asyncio.gather(*(caught(asker(c, n, s.base), pool) for n, c, s in everybody))
            for (number, _, service), outcome in zip(everybody, outcomes, strict=True):
                check(number, outcome, service.port)
        assert not crossed
        for place, (case, service) in enumerate(places):
            came = Counter(asked_by(request)[0] for request in service.posts)
            assert came == {number: 2 for number in range(200) if number % len(places) == place}
            looked = Counter(r.headers["authorization"] for r in service.requests if r.method == "GET")
            assert looked == ({f"Bearer {key_of(number)}": 1 for number in came} if case.backend == "dify" else {})


# ---- two installations on one plugin object


def binding(number: int) -> InstallationBinding:
    return InstallationBinding(
        instance_uuid="instance",
        workspace_uuid=f"workspace-{number}",
        placement_generation=1,
        installation_uuid=f"installation-{number}",
        runtime_revision=1,
        artifact_digest="0" * 64,
    )


@pytest.fixture
async def plugin():
    made = KnowledgeBridge()
    made.plugin_runtime_handler = cast("Handler", object())
    await made.initialize()
    yield made
    await made.close()


async def asked(plugin: KnowledgeBridge, installation: int, context: RetrievalContext, **config: Any) -> Any:
    """One retrieval as the shared runtime calls it for an installation."""
    engine = RemoteEngine()
    engine.plugin = plugin
    handler = plugin.plugin_runtime_handler
    with bind_invocation(handler, config=config, binding=binding(installation)):
        try:
            return await engine.retrieve(context)
        except BridgeError as error:
            return error


async def test_two_installations_with_one_address_and_different_keys(plugin):
    crossed: list[str] = []
    for case in CASES:
        search, look_up = personal(Kit(case), crossed)
        async with Service([search], look_up if case.backend == "dify" else None) as service:
            calls = [
                asked(plugin, number % 2, asker(case, number, service.base), max_connections=8 + number % 2)
                for number in range(40)
            ]
            for number, outcome in enumerate(await asyncio.gather(*calls)):
                check(number, outcome, service.port)
    assert not crossed


async def test_a_kept_look_up_belongs_to_one_installation_and_goes_with_it(plugin):
    [case] = [case for case in CASES if case.backend == "dify"]
    search, look_up = personal(Kit(case), [])
    number = next(n for n in range(99) if not fails(n))
    async with Service([search], look_up) as service:

        async def look_ups(installation: int) -> int:
            before = len(service.requests) - len(service.posts)
            check(number, await asked(plugin, installation, asker(case, number, service.base)), service.port)
            return len(service.requests) - len(service.posts) - before

        assert [await look_ups(n) for n in (1, 1, 2, 2, 1)] == [1, 0, 1, 0, 0]
        await plugin.on_installation_revoked(binding(1))
        assert [await look_ups(n) for n in (2, 1, 1)] == [0, 1, 0]


async def test_failures_of_one_installation_dont_stop_another(plugin, monkeypatch):
    monkeypatch.setattr(patience, "PAUSE", 60.0)
    case = CASES[-1]
    number = next(n for n in range(99) if not fails(n))
    search, _ = personal(Kit(case), [])
    async with Service([raw(b"nonsense", close=True)]) as service:
        with quick():
            for _ in range(5):
                assert isinstance(await asked(plugin, 1, asker(case, number, service.base)), UnavailableError)
            service.answers = [search]
            came = len(service.requests)
            assert isinstance(await asked(plugin, 1, asker(case, number, service.base)), UnavailableError)
            assert len(service.requests) == came
            check(number, await asked(plugin, 2, asker(case, number, service.base)), service.port)


# ---- nothing is left behind


def open_files() -> int:
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.is_dir() else 0


def tasks_besides(*services: Service) -> set[asyncio.Task[Any]]:
    served = {task for service in services for task in service.tasks}
    return asyncio.all_tasks() - served - {asyncio.current_task()}


async def settled() -> None:
    """Time for callbacks of closed connections."""
    for _ in range(5):
        await nap(0.01)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.backend) for case in CASES])
async def test_cancelled_calls_leave_no_connection_checked_out(case):
    kit, luck = Kit(case), seeded(case.backend)
    good = kit.whole()

    async def half(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        writer.write(good[:-50])
        return await silence(request, writer)

    async def any_of_them(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        return await luck.choice([silence, half, raw(good), reset(), reset(good[:99])])(request, writer)

    limit = Network().max_connections
    async with Service([any_of_them]) as service, Pool() as pool:
        access = Access(pool, EAGER)
        before = tasks_besides(service)
        calls = [asyncio.create_task(caught(asker(case, n, service.base), access)) for n in range(6 * limit)]
        for call in luck.sample(calls, len(calls)):
            await nap(luck.random() * 0.002)
            call.cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        strange = [
            end for end in ended if not isinstance(end, (RetrievalResponse, BridgeError, asyncio.CancelledError))
        ]
        assert not strange
        assert any(isinstance(end, asyncio.CancelledError) for end in ended)

        everybody_there = asyncio.Barrier(limit)

        async def together(request: Request, writer: asyncio.StreamWriter) -> bool | None:
            await everybody_there.wait()
            return await raw(good)(request, writer)

        service.answers, service.looked_up = [together], raw(good)
        outcomes = await asyncio.gather(*(caught(asker(case, n, service.base, 5), access) for n in range(limit)))
        assert [type(outcome) for outcome in outcomes] == [RetrievalResponse] * limit
        await settled()
        assert tasks_besides(service) == before


def unlucky(kit: Kit, luck: random.Random) -> Answer:
    """Good answers; every third time, at random, one of the failures."""
    good = raw(kit.whole())
    failures = [
        reset(),
        reset(kit.whole()[:-30]),
        raw(kit.whole()[:99], close=True),
        raw(kit.whole(503, kit.page)),
        raw(kit.whole(500, kit.failed(500))),
        raw(kit.whole(429, kit.failed(429))),
        raw(kit.whole(401, kit.failed(401))),
        raw(kit.whole(body=kit.good[:-9])),
        raw(kit.whole(), close=True),
        raw(b"nonsense\r\n\r\n", close=True),
    ]

    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        chosen = luck.choice(failures) if luck.random() < 1 / 3 else good
        return await chosen(request, writer)

    return answer


@pytest.mark.parametrize("patient", [False, True])
async def test_1000_calls_of_services_that_fail_every_third_time(patient):
    luck, rounds = seeded(4711), 8 if patient else 20
    files = open_files()
    before = tasks_besides()
    kinds: Counter[str] = Counter()
    with quick():
        async with AsyncExitStack() as stack:
            services = [await stack.enter_async_context(Service([unlucky(Kit(case), luck)])) for case in CASES]
            pool = await stack.enter_async_context(Pool())
            access = Access(pool, Network(pause_after_failures=patient))
            held = []
            for round_ in range(rounds):
                numbers = [50 * round_ + n for n in range(50)]
                calls = [
                    caught(asker(CASES[n % 5], number, services[n % 5].base, looks_up=False), access)
                    for n, number in enumerate(numbers)
                ]
                for outcome in await asyncio.gather(*calls):
                    if isinstance(outcome, RetrievalResponse):
                        assert outcome.results
                        kinds["entries"] += 1
                    else:
                        kinds[type(outcome).__name__] += 1
                await settled()
                held.append(open_files() - files)
                assert tasks_besides(*services) == before
            assert max(held[rounds // 2 :]) <= max(
                *held[: rounds // 2], len(CASES) * (1 + 2 * Network().max_connections)
            )
    await settled()
    assert kinds.total() == 50 * rounds
    assert kinds["entries"] > (0 if patient else 600)
    assert set(kinds) <= {"entries", "UnavailableError", "ResponseError", "AuthError", "RateLimitedError"}
    assert len(kinds) >= 4
    assert open_files() <= files + 2
    assert tasks_besides() == before
