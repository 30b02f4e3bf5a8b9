"""Connections that are refused, break off or never say anything."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.faults.answers import answering, failing, good, page
from tests.faults.fault import AWAY, ONCE, WORKS, Expected, Fault
from tests.faults.kit import Kit
from tests.faults.places import closing, no_handshake, nobody, nowhere, soon, unknown_names
from tests.faults.wire import dribble, raw
from tests.service import Answer, reset, silence

CONNECTIONS = [
    Fault("connection refused", nobody, AWAY, 0, patient=True, says="refused"),
    Fault("connection refused for half a second, then a good answer", soon, WORKS, 1, timeout=6.0, patient=True),
    Fault("name not known", nowhere, AWAY, 0, around=unknown_names, says="host name is not known"),
    Fault("reset before the headers", answering(lambda _: reset()), AWAY, 3, ONCE, says="broke off"),
    Fault("reset inside the status line", answering(lambda _: reset(b"HTTP/1.1 20")), AWAY, 3, ONCE),
    Fault("reset inside the headers", answering(lambda kit: reset(kit.whole()[:150])), AWAY, 3, ONCE),
    Fault("reset inside the body", answering(lambda kit: reset(kit.whole()[:-40])), AWAY, 3, ONCE),
    Fault("closed before the headers", answering(lambda _: raw(b"", close=True)), AWAY, 3, ONCE),
    Fault("closed inside the headers", answering(lambda kit: raw(kit.whole()[:150], close=True)), AWAY, 3, ONCE),
    Fault("a reset, then a good answer", answering(lambda _: reset(), good), WORKS, 2, ONCE),
    Fault(
        "kept connection closed between calls",
        answering(lambda kit: raw(kit.whole(), close=True), good),
        WORKS,
        2,
        warm=True,
    ),
    Fault(
        "kept connection reset as the next request arrives",
        answering(good, lambda _: reset(), good),
        WORKS,
        3,
        {"jinba": Expected(AWAY, 2)},
        warm=True,
    ),
    Fault("no HTTP at all", answering(lambda _: raw(b"SSH-2.0-OpenSSH_9.7\r\n", close=True)), AWAY, 3, ONCE),
]


def _slow(name: str, answer: Callable[[Kit], Answer]) -> Fault:
    return Fault(name, answering(answer), AWAY, 1, timeout=1.0, patient=True, says="no answer within 1 s")


def _then_silence(before: bytes) -> Answer:
    async def answer(request: Any, writer: asyncio.StreamWriter) -> bool:
        writer.write(before)
        return bool(await silence(request, writer))

    return answer


PATIENCE = [
    _slow("accepted, then silence", lambda _: silence),
    _slow("headers, then silence", lambda kit: _then_silence(kit.head(200, {"Content-Length": "99"}))),
    _slow("one byte of the headers a second", lambda kit: dribble(b"", kit.whole())),
    _slow("one byte of the body a second", lambda kit: dribble(kit.head(200, {"Content-Length": "999"}), kit.good)),
    Fault("a TLS handshake that never ends", no_handshake, AWAY, 0, timeout=1.0, patient=True, around=closing),
]
LEFT_ALONE = "left alone after 3 failures in a row"
EARLIER = [
    Fault("after three 500 in the service's own words", answering(good), WORKS, 1, before=failing(500)),
    Fault("after three refusals of the key", answering(good), WORKS, 1, before=failing(401)),
    Fault("after three unknown datasets", answering(good), WORKS, 1, before=failing(404)),
    Fault("after three rate limits", answering(good), WORKS, 1, before=failing(429, Retry_After="30")),
    Fault("after three resets", answering(good), AWAY, 0, before=lambda _: reset(), says=LEFT_ALONE),
    Fault("after three 502 with a page", answering(good), AWAY, 0, before=page(502), says=LEFT_ALONE),
    Fault("after three resets and a second", answering(good), WORKS, 1, before=lambda _: reset(), later=1.0),
    Fault(
        "after three resets and a second, another reset",
        answering(lambda _: reset()),
        AWAY,
        1,
        before=lambda _: reset(),
        later=1.0,
        says="broke off",
    ),
]
"""Three calls of the same address and key came before."""
