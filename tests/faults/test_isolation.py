"""Nothing crosses between calls, keys, addresses and installations."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext
from langbot_plugin.api.proxies.invocation import bind_invocation
from langbot_plugin.entities.io.context import InstallationBinding
from langbot_plugin.runtime.io.handler import Handler

from adapters import BridgeError, Pool
from bridge.errors import UnavailableError
from bridge.http import patience
from components.knowledge_engine.engine import RemoteEngine
from main import KnowledgeBridge
from tests.contract.cases import CASES, Case, case_of
from tests.faults.callers import asked_by, asker, caught, check, fails, key_of, personal
from tests.faults.kit import Kit
from tests.faults.wire import raw
from tests.pauses import quick
from tests.service import Service


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
    case = case_of("dify")
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
