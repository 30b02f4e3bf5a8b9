"""What is stored under a connection's name: its settings, or the name that it was given since."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bridge.errors import SettingsError
from bridge.values import mapping, number, text
from console.counted import public

NAME_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Connection:
    """One named set of creation settings (`backend` among them). `revision` changes with every save."""

    name: str
    settings: dict[str, Any]
    revision: str

    def shown(self) -> dict[str, Any]:
        """What a browser may see: no key, only whether there is one, and no address's query string."""
        return {
            "name": self.name,
            "revision": self.revision,
            "settings": public(self.settings),
            "has_key": bool(self.settings.get("api_key")),
        }

    def raw(self) -> bytes:
        """As it is stored."""
        return json.dumps({"settings": self.settings, "revision": self.revision}, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class Former:
    """A name that a connection had: it answers for the one called `now`, since the time of the renaming."""

    name: str
    now: str
    since: float

    def raw(self) -> bytes:
        """As it is stored."""
        return json.dumps({"now": self.now, "since": self.since}, ensure_ascii=False).encode()


def read(name: str, raw: bytes) -> Connection | Former:
    """What is stored under a name; ValueError where it is neither."""
    try:
        told = mapping(json.loads(raw))
    except RecursionError:
        raise ValueError(name) from None
    if now := text(told.get("now")):
        return Former(name, now, number(told.get("since")) or 0.0)
    settings = mapping(told.get("settings"))
    if not settings:
        raise ValueError(name)
    return Connection(name, settings, text(told.get("revision")))


def named(name: str) -> str:
    """A name as it is stored; SettingsError where nobody could read or type it."""
    name = name.strip()
    if not name or len(name) > NAME_LIMIT or not name.isprintable():
        raise SettingsError(f"name must have 1 to {NAME_LIMIT} characters in one line", "Choose another name")
    return name


class Listing(NamedTuple):
    """All that is stored: connections by name, former names, and names under which something damaged stands."""

    connections: list[Connection]
    formers: dict[str, Former]
    damaged: list[str]

    def now(self, name: str) -> str:
        """The connection that a name answers for; blank for none."""
        seen: set[str] = set()
        while name in self.formers and name not in seen:
            seen.add(name)
            name = self.formers[name].now
        return name if any(one.name == name for one in self.connections) else ""

    def of(self, name: str) -> list[str]:
        """A connection's former names."""
        return sorted(former for former in self.formers if self.now(former) == name)

    def answering(self, used: Iterable[str]) -> set[str]:
        """The former names that are needed for those in `used`, the links of a chain included."""
        needed: set[str] = set()
        for start in used:
            name = start
            while name in self.formers and name not in needed:
                needed.add(name)
                name = self.formers[name].now
        return needed
