"""How Dify refuses a request."""


class DifyError(Exception):
    """An answer `{"code", "message", "status"}`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message, "status": status}


def invalid_param(message: str) -> DifyError:
    """Return the 400 by which Dify answers nearly everything."""
    return DifyError(400, "invalid_param", message)
