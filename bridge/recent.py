"""What was used last, for many installations, and no more of it than there is room for."""

from typing import Any, TypeVar

Name = TypeVar("Name", bound=tuple[Any, ...])
Value = TypeVar("Value")


class Recent(dict[Name, Value]):
    """Values by names that begin with a tenant; where more than `most` are put in, those go that were put in first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, name: Name, value: Value) -> None:
        """Keep a value as the newest."""
        self.pop(name, None)
        if len(self) >= self._most:
            del self[next(iter(self))]
        self[name] = value

    def forget(self, tenant: str) -> None:
        """Drop everything of an installation."""
        for name in [name for name in self if name[0] == tenant]:
            del self[name]
