"""What a connection can do besides what tests/service.py has."""

import asyncio
from functools import partial

from tests import service
from tests.pauses import nap
from tests.service import Answer, Request

raw = partial(service.raw, close=False)
"""Exactly these bytes; the connection stays unless `close` says otherwise."""


def dribble(head: bytes, body: bytes) -> Answer:
    """The head at once, then a byte a second."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        for place in range(len(body)):
            writer.write(body[place : place + 1])
            await writer.drain()
            await nap(1)
        return True

    return answer


def endless(head: bytes, piece: bytes, times: int | None = None) -> Answer:
    """The head, then the same piece so many times or for ever."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        sent = 0
        while times is None or sent < times:
            writer.write(piece)
            await writer.drain()
            sent += 1
        return True

    return answer
