"""Recorded answers, damaged: what a hostile or broken service may send."""

import copy
import json
import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Path = tuple[Any, ...]

RAW = {
    "<1e999>": "1e999",
    "<-1e999>": "-1e999",
    "<0.1 with 400 digits>": "0." + "1" * 400,
    "<5000 digits>": "9" * 5000,
    "<lists 250>": "[" * 250 + "]" * 250,
    "<lists 900>": "[" * 900 + "]" * 900,
    "<lists 100000>": "[" * 100_000 + "]" * 100_000,
    "<objects 120>": '{"a":' * 120 + "1" + "}" * 120,
    "<objects 300>": '{"a":' * 300 + "1" + "}" * 300,
    "<objects 950>": '{"a":' * 950 + '"\\ud800"' + "}" * 950,
    "<twice the same name>": '{"id": 1, "id": "x", "content": "a", "content": "b"}',
}
"""Tokens that json.dumps would not write."""

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2.5,
    -0.0,
    5e-324,
    1.7e308,
    -1.7e308,
    2**53 + 1,
    2**63,
    -(2**64),
    10**400,
    -(10**400),
    math.nan,
    math.inf,
    -math.inf,
    "",
    " \n\u3000",
    "\x00",
    "\ud800",
    "x\udc00y",
    "\udfff\ud800",
    "\u200b\u202e",
    "NaN",
    "1e999",
    "0.5",
    "-7",
    "x" * 20_000,
    "<html><body>page</body></html>",
    "https://a.test/x",
    "[[[",
    '{"results": [{"chunk": {"content": "x"}, "score": NaN}]}',
    [],
    {},
    [[]],
    [{}],
    [None],
    ["a", 1],
    {"a": 1},
    {"": ""},
    {"\ud800": "\ud800"},
    {"content": "x", "id": "x"},
    *RAW,
)
NAMES = ("", "id", "content", "score", "records", "results", "data", "error", "\ud800", "code", "status", "x" * 300)


def places(value: Any, path: Path = ()) -> list[Path]:
    """Every place in a JSON value, the whole first."""
    found = [path]
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        found += places(child, (*path, name))
    return found


def at(value: Any, path: Path) -> Any:
    for name in path:
        value = value[name]
    return value


@dataclass(frozen=True)
class Harm:
    """One damage: its kind, where (modulo the number of places), and what with."""

    kind: str
    where: int
    what: int

    def do(self, answer: Any) -> Any:
        every = places(answer)
        path = every[self.where % len(every)]
        new = copy.deepcopy(VALUES[self.what % len(VALUES)])
        if not path:
            return self._whole(answer, new)
        parent, name = at(answer, path[:-1]), path[-1]
        if self.kind == "remove":
            del parent[name]
        elif self.kind in ("rename", "add", "double"):
            self._beside(parent, name, new)
        elif self.kind == "copy":
            parent[name] = copy.deepcopy(at(answer, every[self.what % len(every)]))
        else:
            parent[name] = self._whole(parent[name], new)
        return answer

    @property
    def name(self) -> str:
        return NAMES[self.what % len(NAMES)]

    def _beside(self, parent: Any, name: Any, new: Any) -> None:
        """What changes the object or list that a value stands in."""
        if isinstance(parent, list):
            parent.insert(name, new if self.kind == "add" else copy.deepcopy(parent[name]))
        else:
            parent[self.name] = new if self.kind == "add" else parent.pop(name)

    def _whole(self, value: Any, new: Any) -> Any:
        """What takes a value's place."""
        match self.kind:
            case "list":
                return [value]
            case "object":
                return {self.name: value}
            case "text":
                return json.dumps(value)
            case "retype":
                return new
        return value


KINDS = ("retype", "retype", "retype", "remove", "rename", "list", "object", "text", "copy", "double", "add")


def _harm(number: int) -> Harm:
    number, kind = divmod(number, len(KINDS))
    where, what = divmod(number, 1000)
    return Harm(KINDS[kind], where, what)


HARMS = st.lists(st.integers(0, 2**28).map(_harm), min_size=1, max_size=8)
"""One number a damage: hypothesis spends more on drawing than a call costs."""


def written(answer: Any) -> bytes:
    """As JSON, with the tokens that Python would not write."""
    text = json.dumps(answer)
    for name, token in RAW.items():
        text = text.replace(json.dumps(name), token)
    return text.encode()


def harmed(answer: Any, harms: list[Harm]) -> bytes:
    answer = copy.deepcopy(answer)
    for harm in harms:
        answer = harm.do(answer)
    return written(answer)


@dataclass(frozen=True)
class Scratch:
    """Damage below JSON: bytes cut off, taken out or written over."""

    kind: str
    where: int
    what: bytes

    def do(self, body: bytes) -> bytes:
        place = self.where % (len(body) + 1)
        match self.kind:
            case "cut":
                return body[:place]
            case "put":
                return body[:place] + self.what + body[place:]
        return body[:place] + self.what + body[place + len(self.what) :]


def _scratch(number: int) -> Scratch:
    number, kind = divmod(number, 3)
    where, what = divmod(number, 2**16)
    return Scratch(("cut", "put", "over")[kind], where, what.to_bytes(2, "big"))


SCRATCHES = st.lists(st.integers(0, 2**34).map(_scratch), min_size=1, max_size=3)
