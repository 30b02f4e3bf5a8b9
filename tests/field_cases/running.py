"""Running one case: the plugin in an event loop of its own, the service in another thread."""

import asyncio
import contextlib
import copy
import io
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from anyio.from_thread import BlockingPortal

from tests.certificates import unknown_authority
from tests.field_cases import plugin
from tests.field_cases.facts import Facts, Outcome
from tests.field_cases.judge import problems
from tests.field_cases.server import Site

LIMIT = 60
"""Seconds that a case may take."""


class Loop(asyncio.SelectorEventLoop):
    """An event loop that notices refused connections."""

    refused = 0
    on_refused: Callable[[], Any] | None = None

    async def sock_connect(self, sock: socket.socket, address: Any) -> Any:
        try:
            return await super().sock_connect(sock, address)
        except ConnectionRefusedError:
            self.refused += 1
            if self.on_refused:
                self.on_refused()
            raise


class TooLong(BaseException):
    """A case that blocks its event loop."""


def run(case: dict[str, Any], portal: BlockingPortal) -> list[str]:
    """What is wrong with the plugin's way through a case; nothing if all is well. The service lives in the portal."""
    faults = [answer.get("fault") for answer in case["server_answers"]]
    site, other = Site(unknown_authority() if case.get("tls") else None), Site()
    case = filled(copy.deepcopy(case), {"{BASE}": site.base, "{HOST}": site.host, "{OTHER}": other.base})
    site.case = case
    portal.call(other.open)
    if faults[0] != "connect_error":
        portal.call(site.open)
    facts, outcomes = Facts(), [Outcome()]
    try:
        with (
            _log(facts),
            _alarm(),
            mock.patch.dict(os.environ, case.get("env", {})),
            asyncio.Runner(loop_factory=Loop) as runner,
        ):
            loop = runner.get_loop()
            assert isinstance(loop, Loop)
            if faults[0] == "connect_error" and len(faults) > 1:
                loop.on_refused = lambda: portal.call(site.open)
            outcomes, facts.took = runner.run(_act(case))
            facts.refused = loop.refused
    except TooLong:
        return [f"the event loop was blocked until the limit of {LIMIT} s"]
    except TimeoutError:
        return [f"no end within {LIMIT} s"]
    finally:
        portal.call(site.close)
        portal.call(other.close)
    facts.outcome, facts.requests, facts.elsewhere, facts.hang_ups = (
        outcomes[0],
        site.requests,
        other.requests,
        site.hang_ups,
    )
    return [*problems(case, facts), *_calls(case, outcomes)]


def filled(value: Any, words: dict[str, str]) -> Any:
    """A case with the addresses of this run in it."""
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, list):
        return [filled(item, words) for item in value]
    return {name: filled(item, words) for name, item in value.items()} if isinstance(value, dict) else value


async def _act(case: dict[str, Any]) -> tuple[list[Outcome], float]:
    """The ends of all calls, and how long they took together."""
    engine = await plugin.load(case.get("config", {}))
    started = time.monotonic()
    contexts = [plugin.context(case["backend"], asked) for asked in case.get("calls") or [case]]
    calls = [asyncio.ensure_future(engine.retrieve(context)) for context in contexts]
    if "cancel_after_s" in case["expect"]:
        await asyncio.sleep(case["expect"]["cancel_after_s"])
        calls[0].cancel()
    ends = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), LIMIT - 2)
    took = time.monotonic() - started
    for end in ends:
        if isinstance(end, TooLong):
            raise end
    if case["expect"].get("client_hangs_up"):
        await asyncio.sleep(0.5)
    await engine.plugin.close()
    return [Outcome(error=end) if isinstance(end, BaseException) else Outcome(end) for end in ends], took


def _calls(case: dict[str, Any], outcomes: list[Outcome]) -> Iterator[str]:
    """What is wrong with each of several calls."""
    for call, outcome in zip(case.get("calls", []), outcomes, strict=False):
        ids = [entry.id for entry in outcome.entries]
        if outcome.kind not in case["expect"]["outcome"].split("_or_"):
            yield f"call {call['query']!r}: {outcome.kind} {outcome.whole[:120]}"
        elif "ids" in call and ids != call["ids"]:
            yield f"call {call['query']!r} got {ids}, wanted {call['ids']}"


@contextlib.contextmanager
def _log(facts: Facts) -> Iterator[None]:
    """All that is logged or printed goes into the facts, and nowhere else."""
    everything, spoken = io.StringIO(), io.StringIO()
    handlers = [logging.StreamHandler(everything), logging.StreamHandler(spoken)]
    handlers[1].setLevel(logging.INFO)
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    try:
        with mock.patch.object(root, "handlers", handlers), contextlib.redirect_stdout(everything):
            yield
    finally:
        root.setLevel(level)
        facts.log, facts.spoken = everything.getvalue(), spoken.getvalue()


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    """TooLong after the limit, even where an event loop hangs."""

    def ring(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
