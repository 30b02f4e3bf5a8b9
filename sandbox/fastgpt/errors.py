"""How FastGPT refuses a request."""

from typing import Any


class FastgptError(Exception):
    """An answer `{"code", "statusText", "message", "data": null}`; the status is the code only from 400 to 499."""

    def __init__(self, code: int, status_text: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = code if 400 <= code < 500 else 500
        self.body = {"code": code, "statusText": status_text, "message": message, "data": None, **more}


def invalid(*issues: dict[str, Any]) -> FastgptError:
    """Return the refusal of a body, with one issue for each wrong field."""
    return FastgptError(400, "error", "Data validation error", zodError=list(issues))


def unauthorized() -> FastgptError:
    """Return the refusal of a header in which there is no key."""
    return FastgptError(403, "unAuthorization", "common:code_error.error_message.403")
