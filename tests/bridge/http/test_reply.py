"""Bodies: how they are packed, how large they may be, and what is no JSON."""

import gzip
import zlib

import pytest

from bridge.errors import ResponseError
from bridge.http.reply import SIZE_LIMIT
from tests.bridge.http.plain import ask, failure
from tests.service import reply


@pytest.mark.parametrize(
    "pack",
    [
        (lambda data: data, "identity"),
        (gzip.compress, "gzip"),
        (gzip.compress, "GZIP"),
        (zlib.compress, "deflate"),
    ],
    ids=["identity", "gzip", "upper", "deflate"],
)
async def test_packed_answers_are_read(pack, service, pool):
    service.answers = [reply(body=pack[0](b'{"x": 1}'), headers={"Content-Encoding": pack[1]})]
    assert await ask(service, pool) == "{'x': 1}"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"no gzip", "gzip"),
        (gzip.compress(b'{"x": 1}')[:-9], "gzip"),
        (b"{}", "br"),
        (gzip.compress(gzip.compress(b"{}")), "gzip, gzip"),
    ],
    ids=["broken", "cut", "unknown", "twice"],
)
async def test_packing_that_cant_be_read_is_told(body, encoding, service, pool):
    service.answers = [reply(body=body, headers={"Content-Encoding": encoding})]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert "pack" in str(error) or "compression" in str(error)


@pytest.mark.parametrize("packed", [True, False])
async def test_an_answer_that_never_ends_is_cut_off(packed, service, pool):
    body = b"[" + b" " * (SIZE_LIMIT + 10) + b"]"
    sent = gzip.compress(body) if packed else body
    service.answers = [reply(body=sent, headers={"Content-Encoding": "gzip"} if packed else {})]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert "larger than 8 MB" in str(error)


async def test_an_answer_just_below_the_limit_is_read(service, pool):
    service.answers = [reply(body=b"1" + b" " * (SIZE_LIMIT - 1))]
    assert await ask(service, pool, timeout=20) == "1"


async def test_a_byte_order_mark_does_no_harm(service, pool):
    service.answers = [reply(body=b'\xef\xbb\xbf{"x": 1}')]
    assert await ask(service, pool) == "{'x': 1}"


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe\xfa", b"[" * 100_000, b"1" * 5000, '{"x": "ключ"}'.encode("cp1251"), b"plain words"]
)
async def test_what_is_no_json_is_told(body, service, pool):
    service.answers = [reply(body=body)]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert "instead of JSON" in str(error)
