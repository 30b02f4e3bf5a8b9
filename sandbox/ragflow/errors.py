"""How RAGFlow refuses a request."""

from typing import Any


class RagflowError(Exception):
    """An answer `{"code", "message"}`; HTTP says 200 even so, unless it is about the key."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.body: dict[str, Any] = {"code": code, "message": message}
        self.status = 401 if code == 401 else 200


def data_error(message: str) -> RagflowError:
    """Return the refusal of a request that RAGFlow has read."""
    return RagflowError(102, message)


def exception(text: str, code: int = 100) -> RagflowError:
    """Return the answer to what broke: the text is how Python shows the exception."""
    error = RagflowError(code, text)
    error.body["data"] = None
    return error
