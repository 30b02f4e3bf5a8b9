"""What a failure says: its code and its words, wherever an answer keeps them."""

from typing import Any

from bridge.values import first, mapping, text

DEPTH = 3
"""Objects inside one another that are looked into."""
FINDINGS = 3
"""Findings of a list that are told."""


def told_in(data: Any) -> list[dict[str, Any]]:
    """The objects that tell of a failure, the innermost first: what stands under `detail` or `error`, then the answer."""
    levels = [mapping(data)]
    while len(levels) < DEPTH and (inner := mapping(levels[-1].get("detail")) or mapping(levels[-1].get("error"))):
        levels.append(inner)
    return levels[::-1]


def words_in(data: Any) -> str:
    """The first text that says something, or the findings of a validation by their fields."""
    for told in told_in(data):
        said = first(told, "message", "error_msg", "msg", "error", "detail", "value", "title")
        if said := said or _findings(told.get("detail")):
            return said
    return ""


def code_in(data: Any) -> str:
    """The failure's own code, empty where it has none."""
    codes = (told.get(name) for told in told_in(data) for name in ("error_code", "code"))
    return next((str(code) for code in codes if isinstance(code, (str, int))), "")


def _findings(found: Any) -> str:
    """FastAPI's list of what is wrong with a request: each field and what it should be, never what was sent."""
    if not isinstance(found, list):
        return ""
    said = []
    for finding in found[:FINDINGS]:
        path = mapping(finding).get("loc")
        field = str(path[-1]) if isinstance(path, list) and path else ""
        said.append(f"{field}: {text(mapping(finding).get('msg')) or text(finding)}".strip(": "))
    return "; ".join(filter(None, said))
