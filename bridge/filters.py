"""Filters on metadata: Chroma's `where` form into neutral conditions, and the check of a hit against them."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from bridge.errors import SettingsError

Operator = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
_TESTS: dict[Operator, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.eq,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "in": operator.eq,
    "nin": operator.eq,
}
_REMEDY = "Use {field: value}, $eq $ne $gt $gte $lt $lte $in $nin, and one level of $and or $or"


@dataclass(frozen=True, slots=True)
class Condition:
    """One field compared with a text, number or boolean (`in`, `nin`: with a list of them)."""

    field: str
    operator: Operator
    value: Any

    def spoken(self, words: Mapping[Operator, tuple[str, str]]) -> dict[str, Any]:
        """The condition as services take it: `words` gives each operator's word for texts and for numbers."""
        return {
            "name": self.field,
            "comparison_operator": words[self.operator][_numeric(self.value)],
            "value": [_plain(v) for v in self.value] if isinstance(self.value, list) else _plain(self.value),
        }

    def holds(self, metadata: dict[str, Any]) -> bool:
        """Whether a hit's metadata fulfils it; a field that isn't there fulfils only `ne` and `nin`."""
        found = lookup(metadata, self.field)
        values = found if isinstance(found, list) else [found]
        wanted = self.value if isinstance(self.value, list) else [self.value]
        met = any(_compare(_TESTS[self.operator], a, b) for a in values for b in wanted)
        return not met if self.operator in ("ne", "nin") else met


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions of which all or any must hold; none at all lets everything pass."""

    conditions: tuple[Condition, ...] = ()
    logic: Literal["and", "or"] = "and"

    @classmethod
    def of(cls, where: dict[str, Any]) -> Self:
        """Read Chroma's form; SettingsError for an operator, value or nesting that isn't known."""
        if not where:
            return cls()
        if "$or" in where:
            parts = [tuple(_conditions(part)) for part in _parts(where["$or"], "$or")]
            if len(where) > 1 or any(len(part) != 1 for part in parts):
                raise _refused("$or can't be mixed with other conditions")
            return cls(tuple(part[0] for part in parts), "or")
        rest = {name: value for name, value in where.items() if name != "$and"}
        nested = _parts(where["$and"], "$and") if "$and" in where else []
        return cls(tuple(c for part in [rest, *nested] for c in _conditions(part)))

    def spoken(self, words: Mapping[Operator, tuple[str, str]]) -> list[dict[str, Any]]:
        """The conditions as services take them; see `Condition.spoken`."""
        return [condition.spoken(words) for condition in self.conditions]

    def holds(self, metadata: dict[str, Any]) -> bool:
        """Whether a hit with this metadata may be shown."""
        if not self.conditions:
            return True
        every = all if self.logic == "and" else any
        return every(condition.holds(metadata) for condition in self.conditions)


DIFY_WORDS: Mapping[Operator, tuple[str, str]] = {
    "eq": ("is", "="),
    "ne": ("is not", "≠"),
    "gt": (">", ">"),
    "gte": ("≥", "≥"),
    "lt": ("<", "<"),
    "lte": ("≤", "≤"),
    "in": ("in", "in"),
    "nin": ("not in", "not in"),
}
"""Dify's words, which its external knowledge protocol and RAGFlow took over."""


def lookup(metadata: dict[str, Any], field: str) -> Any:
    """A field of a hit: the document's own metadata first, then what the bridge says about the hit."""
    own = metadata.get("document_metadata")
    if isinstance(own, dict) and field in own:
        return own[field]
    return metadata.get(field)


def _numeric(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return not any(isinstance(v, (str, bool)) for v in values)


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _refused(problem: str) -> SettingsError:
    return SettingsError(f"filters: {problem}", _REMEDY)


def _parts(value: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value or not all(isinstance(part, dict) and part for part in value):
        raise _refused(f"{name} needs a list of conditions")
    return value


def _conditions(part: dict[str, Any]) -> Iterator[Condition]:
    for field, test in part.items():
        if field.startswith("$"):
            raise _refused(f"{field} can't stand here")
        tests = test if isinstance(test, dict) else {"$eq": test}
        if not tests:
            raise _refused(f"{field} has no condition")
        for name, value in tests.items():
            known = next((known for known in _TESTS if name == f"${known}"), None)
            if known is None:
                raise _refused(f"{name} is not known")
            many = known in ("in", "nin")
            values = value if many and isinstance(value, list) else [value]
            if (
                many != isinstance(value, list)
                or not values
                or not all(isinstance(v, (str, int, float)) for v in values)
            ):
                raise _refused(f"{name} of {field} needs {'a list of' if many else 'a'} text, number or boolean")
            yield Condition(field, known, value)


def _pair(a: Any, b: Any) -> tuple[Any, Any] | None:
    """Two values in a form in which they compare: as numbers where one is a number (2024 and "2024"), else as texts."""
    if not isinstance(a, (str, int, float)) or not isinstance(b, (str, int, float)):
        return None
    if isinstance(a, bool) or isinstance(b, bool):
        return str(a).lower(), str(b).lower()
    if isinstance(a, str) and isinstance(b, str):
        return a, b
    try:
        return float(a), float(b)
    except (ValueError, OverflowError):
        return None


def _compare(test: Callable[[Any, Any], bool], a: Any, b: Any) -> bool:
    pair = _pair(a, b)
    return pair is not None and test(*pair)
