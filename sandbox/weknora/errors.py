"""How WeKnora refuses a request: its login and key check in one form, everything behind them in another."""

from typing import Any


class WeknoraError(Exception):
    """An answer that is no result."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def at_the_door(status: int, message: str, **more: str) -> WeknoraError:
    """Return the refusal of a key."""
    return WeknoraError(status, {"error": message, **more})


def inside(status: int, code: int, message: str, details: str | None = None) -> WeknoraError:
    """Return a failure of what the key let in."""
    return WeknoraError(status, {"success": False, "error": {"code": code, "message": message, "details": details}})


def panic(message: str) -> WeknoraError:
    """Return what is left of a request on which the server broke."""
    return WeknoraError(500, {"error": "Internal Server Error", "message": f"runtime error: {message}"})
