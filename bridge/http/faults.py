"""What a status or an exception alone says, where the service has no words of its own."""

import re
import socket
import ssl
import time
from email.utils import parsedate_to_datetime
from typing import TypeVar

import httpcore

from bridge.errors import (
    AuthError,
    BridgeError,
    NotFoundError,
    RateLimitedError,
    ResponseError,
    Retry,
    SettingsError,
    UnavailableError,
    shortened,
)
from bridge.http.redirects import adds_a_slash, place
from bridge.http.reply import Reply

BROKEN = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)
"""What httpcore raises where there is no whole answer."""
PASSING = frozenset({408, 502, 503, 504, 530, *range(520, 525)})
"""Statuses of a service, or of what stands in front of it, that is away for the moment; 52x and 530 are Cloudflare's."""
E = TypeVar("E", bound=BaseException)
_PROXY = "Check proxy_url in the plugin's configuration"


def by_status(reply: Reply) -> BridgeError:
    """What the HTTP status alone says about an answer that wasn't accepted."""
    status, said = reply.status, reply.said
    match status:
        case _ if 200 <= status < 300 and reply.is_json:
            return ResponseError(
                f"the answer is no search result ({said})", "Check api_base_url and the service's version"
            )
        case _ if 200 <= status < 300:
            what, remedy = _no_json(reply)
            return ResponseError(f"{what} (status {status})", remedy)
        case _ if 300 <= status < 400:
            target = reply.quote(place(reply))
            return ResponseError(
                f"the address redirects{f' to {target}' if target else ''} (status {status})",
                "Let its route answer without the slash at the end"
                if adds_a_slash(reply)
                else "Enter the address it leads to in api_base_url, unless that is a page to log in",
            )
        case 401 | 403:
            return AuthError(f"the API key was refused ({said})", "Check api_key and what its owner may read")
        case 404 | 410:
            return NotFoundError(
                f"nothing was found at {shortened(reply.path, 80)} ({said})", "Check api_base_url and dataset_id"
            )
        case 407:
            return UnavailableError(f"the proxy refused the request ({said})", _PROXY)
        case 429:
            after = retry_after(reply.headers.get("retry-after", ""))
            return RateLimitedError(
                f"too many requests ({said})",
                f"Wait {f'{after:.0f} s' if 0 < after < 86_400 else 'a while'}, or ask less often",
                retry=Retry(after, unsent=True),
            )
        case _ if status in PASSING:
            check = f"Check that it runs{' and that proxy_url reaches it' if reply.proxied else ''}"
            return UnavailableError(f"the service is not ready ({said})", check, retry=Retry())
        case _ if status >= 500:
            return UnavailableError(f"the service failed ({said})", "Read the service's own log")
    return ResponseError(f"the request was not accepted ({said})", "Check api_base_url and the service's version")


def retry_after(value: str) -> float:
    """Seconds that a Retry-After header asks for; 1.0 where it is missing or says nothing."""
    value = value.strip()
    if re.fullmatch(r"\d{1,12}", value):
        return max(float(value), 1.0)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 1.0)
    except (ValueError, TypeError, OverflowError):
        return 1.0


def _no_json(reply: Reply) -> tuple[str, str]:
    """What came in place of JSON, and what to do about it."""
    if reply.body.lstrip().startswith((b"{", b"[")):
        return (
            "the answer is broken JSON",
            "Check the service, and whether a proxy before it cuts or changes its answers",
        )
    what = "a web page" if reply.html else "nothing" if reply.blank else "something"
    remedy = "Enter the address of the service's API in api_base_url"
    return f"the address answered {what} instead of JSON", remedy + (", not that of its web page" if reply.html else "")


def by_exception(error: Exception, *, proxied: bool) -> BridgeError:
    """Why there was no whole answer."""
    if isinstance(error, httpcore.ProxyError):
        status = re.match(r"\d{3}", str(error))
        passing = status is not None and status[0] in ("502", "503", "504")
        refused = f"the proxy refused ({status[0] if status else 'no status'})"
        return UnavailableError(refused, _PROXY, retry=Retry(unsent=True) if passing else None)
    cause = _cause(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return UnavailableError(
            f"the TLS certificate was not accepted ({cause.verify_message})",
            "Give the service a certificate that this machine trusts, or switch verify_tls off",
        )
    if cause is not None:
        reason = (getattr(cause, "reason", None) or "handshake failed").replace("_", " ").lower()
        return UnavailableError(
            f"TLS failed ({shortened(reason, 60)})",
            "Check that the service speaks https at this address, else use http://",
        )
    if _cause(error, socket.gaierror):
        return UnavailableError(
            "the host name is not known",
            f"Check api_base_url{' and proxy_url' if proxied else ''} for a misspelt name",
            retry=Retry(tries=2, unsent=True),
        )
    check = f"Check that the service runs and that this machine can reach it{' through proxy_url' if proxied else ''}"
    if isinstance(error, httpcore.ConnectTimeout):
        return UnavailableError("the connection timed out", check, retry=Retry(unsent=True))
    if isinstance(error, httpcore.ConnectError):
        return UnavailableError("the connection was refused", check, retry=Retry(unsent=True, patient=True))
    if isinstance(error, httpcore.LocalProtocolError | httpcore.UnsupportedProtocol):
        return SettingsError("the request can't be sent to this address", "Check api_base_url and api_key")
    return UnavailableError("the connection broke off before a whole answer came", check, retry=Retry())


def _cause(error: BaseException, kind: type[E]) -> E | None:
    """The nearest exception of this kind behind `error`."""
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, kind):
            return behind
        behind = behind.__cause__ or behind.__context__
    return None
