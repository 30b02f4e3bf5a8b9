import json
import math

import pytest

from bridge.values import digest, from_json, to_json


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (b'{"x": NaN, "y": -Infinity}', {"x": None, "y": None}),
        (b"[1e400]", [None]),
        (b'"a\\ud83d\\ude00\\ud800b"', "a\U0001f600\ufffdb"),
        (b'{"\\udc00": ["\\udfff", Infinity, {"x": 1.5}]}', {"\ufffd": ["\ufffd", None, {"x": 1.5}]}),
        ("\ufeff{}".encode(), {}),
        ('{"x": "é退"}'.encode("utf-16"), {"x": "é退"}),
        ('[["é"]]'.encode("utf-32"), [["é"]]),
        (b'{"x": 1, "x": 2}', {"x": 2}),
        (b'{"x": "one\r\ntwo\tthree\x00\x1b", "y": NaN}', {"x": "one\r\ntwo\tthree\x00\x1b", "y": None}),
        (b"[123456789012345678901]", [1.2345678901234568e20]),
    ],
)
def test_what_comes_is_strict(sent, read):
    value, is_json = from_json(sent)
    assert (value, is_json) == (read, True)
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("sent", [b"", b"{", b"<html>", b'"\xff"', b"[" * 100_000, b"{'x': 1}"])
def test_what_is_no_json(sent):
    assert from_json(sent) == (None, False)


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ({"x": "é", "y": [1, None]}, '{"x":"é","y":[1,null]}'),
        (["\ud800"], '["?"]'),
        ([2**70], "[1180591620717411303424]"),
        ([math.nan], "[null]"),
    ],
)
def test_what_goes_is_utf_8(value, sent):
    assert to_json(value) == sent.encode()


def test_a_digest_tells_long_texts_apart_by_start_end_and_length():
    text = "".join(f"line {number}\n" for number in range(500))
    others = [text[:-1] + "x", "x" + text[1:], text + "x", text[:2000] + text[2001:]]
    assert len({digest("kb", each) for each in (text, *others)}) == 5
    assert digest("kb", text) == digest("kb", text)
