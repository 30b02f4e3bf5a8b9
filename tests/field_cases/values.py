"""Reading JSON, and comparing it with what is wanted."""

import math
from typing import Any


def dig(value: Any, path: str) -> Any:
    """What stands at a dotted path, None where nothing does."""
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def has(value: Any, path: str) -> bool:
    parent, _, last = path.rpartition(".")
    holder = dig(value, parent) if parent else value
    return isinstance(holder, dict) and last in holder


def subset(want: Any, got: Any) -> bool:
    """Whether everything wanted is there; objects may hold more, lists may not."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(name in got and subset(value, got[name]) for name, value in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(subset, want, got))
    if isinstance(want, bool) or isinstance(got, bool) or want is None:
        return want == got and type(want) is type(got)
    if isinstance(want, int | float):
        return isinstance(got, int | float) and abs(want - got) < 1e-6
    return bool(want == got)


def number(value: Any, low: float, high: float = math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
