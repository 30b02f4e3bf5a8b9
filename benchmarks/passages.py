"""The answers of every service, prepared with any number of passages of three kinds."""

import copy
import json
from typing import Any, NamedTuple

from tests.contract.cases import Case
from tests.contract.stand_in import recording, rows_of

CHARACTERS = 2000
"""Characters of a passage."""


class Text(NamedTuple):
    """A kind of passage: what it repeats, and whether JSON escapes what is not ASCII."""

    sentence: str
    escaped: bool


_CHINESE = "商品寄回仓库后，退款会在十四天内原路退回，运费由卖家承担。"
TEXTS = {
    "ASCII": Text("Refunds are paid within 14 days after the parcel is back in our warehouse. ", escaped=False),
    "Chinese": Text(_CHINESE, escaped=False),
    "escaped": Text(_CHINESE, escaped=True),
}
"""Every kind by its name in the tables; escaped is Chinese in the form \\uXXXX."""


def answer(case: Case, kind: str, passages: int) -> bytes:
    """A service's answer with so many passages, made of its recording."""
    text = TEXTS[kind]
    told = recording(case.backend, case.good)["response"]
    rows = rows_of(told)
    first, rows[:] = rows[0], []
    content = (text.sentence * CHARACTERS)[:CHARACTERS]
    for number in range(passages):
        row = copy.deepcopy(first)
        _fill(row, content, number)
        rows.append(row)
    return json.dumps(told, ensure_ascii=text.escaped).encode()


def look_up(case: Case) -> bytes:
    """What a service answers to a GET."""
    return json.dumps(recording(case.backend, case.look_up)["response"]).encode() if case.look_up else b"{}"


def _fill(row: Any, content: str, number: int) -> None:
    """Its own id, a falling score, and the text."""
    for name, value in row.items():
        if isinstance(value, dict):
            _fill(value, content, number)
        elif name in ("id", "title"):
            row[name] = f"{value}-{number}"
        elif name in ("content", "q", "text"):
            row[name] = content
        elif name in ("score", "similarity") and isinstance(value, float):
            row[name] = _score(number)
        elif name == "distance":
            row[name] = 1 - _score(number)


def _score(number: int) -> float:
    return max(0.9 - number / 1000, 0.1)
