"""What something in front of a service says in its place: a gateway, a firewall, a proxy, a login."""

import re

from bridge.errors import BridgeError, NotFoundError, ResponseError, UnavailableError
from bridge.http.faults import PASSING
from bridge.http.reply import Reply

_NO_ROUTE = re.compile(
    r"(?i)^\W*(404\W*)?((page|resource|endpoint|path|url|api)\W+)?not found\W*(/\S*)?$"
    r"|\bno (matching )?(route|rule|context-path)\b|\broute\b.*\bnot found|url was not found|\bcannot (get|post) /"
    r"|missing authentication token|default backend|requested endpoint"
)
"""Words of gateways and web frameworks about a path that nobody serves (APISIX, Kong, Traefik, AWS, FastAPI, Express)."""
_WANTS_TLS = re.compile(
    r"(?i)plain http request was sent to https|plain http to an ssl|http request to an https|combination of host and port requires tls"
)
"""nginx, Apache, Go and Tomcat about http:// at a port that speaks https."""
_LOGIN = re.compile(r"(?i)\s*(basic|digest|negotiate|ntlm)\b")
_NAME = re.compile(r"[A-Za-z][\w.+-]{0,30}")
_ELSEWHERE = frozenset({404, 407, 410, 429}) | PASSING
"""Statuses that say enough, whoever sent them."""


def no_route(reply: Reply) -> bool:
    """Whether a refusal says that nobody serves the path, and nothing more."""
    return reply.status in (403, 404) and bool(_NO_ROUTE.search(reply.raw_words))


def is_in_front(reply: Reply) -> bool:
    """Whether no service gave an answer, whatever its form: a login's, a port's that speaks https, a gateway's 403."""
    if reply.is_json and not reply.blank:
        return reply.status == 403 and no_route(reply)
    return _wants_login(reply) or bool(_WANTS_TLS.search(reply.raw_words))


def _wants_login(reply: Reply) -> bool:
    return reply.status == 401 and bool(_LOGIN.match(reply.headers.get("www-authenticate", "")))


def in_front(reply: Reply, product: str) -> BridgeError | None:
    """The error for an answer that isn't the service's own; None where its status says enough.

    A ResponseError is somebody's decision that an admin has to change; an UnavailableError is a fault.
    """
    status, said = reply.status, reply.said
    if status < 400 or status in _ELSEWHERE:
        return None
    name = f" ({sender})" if (sender := _sender(reply)) else ""
    who = (
        f"the proxy of proxy_url, or something behind it{name},"
        if reply.proxied
        else f"something in front of {product}{name}"
    )
    where = "proxy_url, and what stands" if reply.proxied else "what stands"
    if status >= 500:
        return UnavailableError(f"{who} failed ({said})", f"Read its log; check {where} before {product}")
    if _WANTS_TLS.search(reply.raw_words):
        return ResponseError(f"the port speaks https, not http ({said})", "Enter api_base_url with https://")
    if _wants_login(reply):
        return ResponseError(
            f"{who} asks for a user name and a password ({said})",
            "Let the API pass without that login, or enter an address behind it in api_base_url",
        )
    if no_route(reply):
        return NotFoundError(f"{who} knows no such path ({said})", "Check api_base_url")
    if status in (401, 403):
        return ResponseError(
            f"{who} refused the request ({said})", f"Let it pass there; check {where} before {product}"
        )
    return ResponseError(f"{who} answered in its place ({said})", f"Check api_base_url, and {where} before {product}")


def _sender(reply: Reply) -> str:
    """What the sender calls itself, without a version: nginx, cloudflare, squid."""
    server = _NAME.match(reply.headers.get("server", ""))
    via = re.search(r"\(([A-Za-z][\w.+-]{0,30})", reply.headers.get("via", ""))
    return reply.quote(server[0] if server else via[1] if via else "")
