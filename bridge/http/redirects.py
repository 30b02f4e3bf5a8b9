"""Where a redirect leads, and the only one that is followed."""

from urllib.parse import SplitResult, unquote, urlsplit

from bridge.http.reply import Reply

_SAME_REQUEST = {"POST": (307, 308), "GET": (301, 302, 307, 308)}
"""Redirects that keep the method, and the body with it."""


def is_followed(reply: Reply, method: str, host: str) -> bool:
    """Whether a redirect asks for the same request at the same host, with nothing but a slash at the end of its path.

    Only the host's name counts, since what runs behind a proxy knows neither scheme nor port of its address.
    """
    same_host = (_target(reply).hostname or host) == host
    return reply.status in _SAME_REQUEST[method] and same_host and adds_a_slash(reply)


def adds_a_slash(reply: Reply) -> bool:
    """Whether a redirect leads to the same path with a slash at its end, as routes of web frameworks may want it."""
    return unquote(_target(reply).path) == f"{reply.path}/"


def place(reply: Reply) -> str:
    """Where a redirect leads, without user and query."""
    target = _target(reply)
    host = target.netloc.rpartition("@")[2]
    return f"{target.scheme or 'http'}://{host}{target.path}" if host else target.path


def _target(reply: Reply) -> SplitResult:
    try:
        target = urlsplit(reply.headers.get("location", ""))
        _ = target.hostname
    except ValueError:
        return urlsplit("")
    return target
