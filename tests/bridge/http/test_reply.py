"""Bodies: how they are packed, how large they may be, and what is no JSON."""

import gzip
import zlib

import pytest

from bridge.errors import ResponseError
from bridge.http.reply import SIZE_LIMIT
from tests.bridge.http.plain import KEY, ask, failure
from tests.service import reply


def packed(data):
    return gzip.compress(data, mtime=0)  # a name of a test that is the same in every process


def bare(data):
    made = zlib.compressobj(wbits=-15)
    return made.compress(data) + made.flush()


@pytest.mark.parametrize(
    ("packs", "encoding"),
    [
        ([], "identity"),
        ([packed], "gzip"),
        ([packed], "X-GZIP"),
        ([zlib.compress], "deflate"),
        ([bare], "deflate"),
        ([packed, packed], "gzip, gzip"),
        ([bare, packed], "deflate,gzip"),
        ([packed], "gzip, none"),
        ([packed], "aws-chunked,gzip"),
        ([], ""),
        ([], " , "),
        ([], "UTF-8"),
        ([], "none"),
        ([], "aws-chunked"),
        ([], "br"),
    ],
)
async def test_packed_answers_are_read(packs, encoding, service, pool):
    body = b'{"x": 1}'
    for pack in packs:
        body = pack(body)
    service.answers = [reply(body=body, headers={"Content-Encoding": encoding})]
    assert await ask(service, pool) == "{'x': 1}"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"no gzip", "gzip"),
        (b"no deflate", "deflate"),
        (packed(b'{"x": 1}')[:-9], "gzip"),
        (packed(packed(b'{"x": 1}')[:-9]), "gzip, gzip"),
    ],
)
async def test_packing_that_cant_be_undone_is_told(body, encoding, service, pool):
    service.answers = [reply(body=body, headers={"Content-Encoding": encoding})]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert "compression is broken" in str(error)


@pytest.mark.parametrize(
    ("body", "encoding", "told"),
    [
        (b"\x8b\x03\x80{}\x03", "br", "(Content-Encoding: br)"),
        (packed(b"\x28\xb5\x2f\xfd"), "zstd, gzip", "(Content-Encoding: zstd)"),
        (b"no JSON", "utf-8", "(Content-Encoding: utf-8)"),
        (b"no JSON", "x" * 900, f"(Content-Encoding: {'x' * 39}…)"),
        (b"no JSON", "<html>", "(Content-Encoding: unknown)"),
        (b"no JSON", f"with-{KEY.lower()}-inside", "(Content-Encoding: with-plain-…-inside)"),
    ],
)
async def test_an_encoding_that_leaves_no_json_is_named(body, encoding, told, service, pool):
    service.answers = [reply(body=body, headers={"Content-Encoding": encoding})]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert told in str(error)
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [200, 404, 502])
async def test_a_page_is_a_page_whatever_its_encoding_says(status, service, pool):
    service.answers = [reply(status, body=b" <!doctype html><p>", headers={"Content-Encoding": "UTF-8"})]
    assert "Content-Encoding" not in str(await failure(service, pool))


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_an_answer_that_never_ends_is_cut_off(times, service, pool):
    sent = b"[" + b" " * (SIZE_LIMIT + 10) + b"]"
    for _ in range(times):
        sent = packed(sent)
    service.answers = [reply(body=sent, headers={"Content-Encoding": ", ".join(["gzip"] * times)})]
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
    assert ("broken JSON" if body[:1] in (b"{", b"[") else "instead of JSON") in str(error)
