"""Bytes over asyncio's transports, against a server that a test writes."""

import asyncio
import socket
import struct

import httpcore
import pytest

from bridge.http import stream
from bridge.http.stream import Streams


@pytest.fixture
async def connected():
    """A connection, and the other end of it."""
    ends: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def taken(reader, writer):
        await ends.put((reader, writer))

    server = await asyncio.start_server(taken, "127.0.0.1", 0)
    ours = await Streams().connect_tcp("127.0.0.1", server.sockets[0].getsockname()[1], timeout=5)
    reader, writer = await asyncio.wait_for(ends.get(), 5)
    yield ours, reader, writer
    await ours.aclose()
    writer.close()
    server.close()


async def until(condition):
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError


async def test_no_more_is_read_than_was_asked_for(connected):
    ours, _, writer = connected
    writer.write(b"abcdef")
    assert await ours.read(4) == b"abcd"
    assert await ours.read(4) == b"ef"
    writer.close()
    assert await ours.read(4) == b""


async def test_what_nobody_reads_is_not_taken_for_ever(connected):
    ours, _, writer = connected
    whole = b"x" * (64 * stream.BUFFER_LIMIT)
    writer.write(whole)
    await until(lambda: ours._paused)
    held = sum(map(len, ours._chunks))
    assert held < 2 * stream.BUFFER_LIMIT
    await asyncio.sleep(0.05)
    assert sum(map(len, ours._chunks)) == held
    read = 0
    while read < len(whole):
        read += len(await ours.read(2**20))
    assert read == len(whole)


async def test_writing_waits_while_the_other_end_takes_nothing(connected):
    ours, reader, _writer = connected
    writing = asyncio.create_task(ours.write(b"x" * (64 * stream.BUFFER_LIMIT)))
    await until(lambda: not ours._writable.is_set())
    assert not writing.done()
    while not writing.done():
        await reader.read(2**20)
    await writing


async def test_a_reset_is_an_error_of_reading_and_of_writing(connected):
    ours, _, writer = connected
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    with pytest.raises(httpcore.ReadError):
        await asyncio.wait_for(ours.read(1), 5)
    with pytest.raises(httpcore.WriteError):
        await ours.write(b"x")


async def test_what_came_unasked_or_the_end_makes_a_connection_readable(connected):
    ours, _, writer = connected
    assert not ours.get_extra_info("is_readable")
    writer.write(b"unasked")
    await until(lambda: ours.get_extra_info("is_readable"))
    await ours.read(100)
    assert not ours.get_extra_info("is_readable")
    writer.close()
    await until(lambda: ours.get_extra_info("is_readable"))
    assert ours.get_extra_info("peername")[0] == "127.0.0.1"


async def test_names_that_can_be_none_are_not_known():
    with pytest.raises(httpcore.ConnectError):
        await Streams().connect_tcp("a" * 70 + ".test", 80, timeout=5)
