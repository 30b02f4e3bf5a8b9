"""Every status, and how long a limit asks to wait."""

import time
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from http import HTTPStatus

from tests.faults.answers import answering, bare, failing, good, page
from tests.faults.fault import AUTH, AWAY, GONE, LIMITED, ODD, ONCE, SET, WORKS, Expected, Fault
from tests.faults.kit import Kit
from tests.faults.places import redirecting
from tests.faults.wire import raw
from tests.service import Answer


def registered(first: int, last: int) -> list[int]:
    return [status for status in HTTPStatus if first <= status <= last]


def _informed(status: int, kit: Kit) -> Answer:
    return raw(b"HTTP/1.1 %d Info\r\nLink: </a>\r\n\r\n" % status + kit.whole())


INFORMATIONAL = [
    Fault(f"{status} before a good answer", answering(partial(_informed, status)), WORKS, 1)
    for status in (100, 102, 103)
]
REDIRECTS = [
    Fault(f"{status} to another host", redirecting(status), ODD, 1, says="redirects")
    for status in (301, 302, 303, 307, 308)
]
STATUSES = [
    *INFORMATIONAL,
    Fault(
        "101 unasked",
        answering(lambda kit: raw(kit.head(101, {"Upgrade": "websocket", "Connection": "Upgrade"}), close=True)),
        AWAY,
        3,
        ONCE,
    ),
    Fault("204 without a body", answering(lambda kit: raw(kit.head(204))), ODD, 1),
    Fault("205 without a body", answering(bare(205)), ODD, 1),
    Fault("a sign-in page with 200", answering(page(200)), ODD, 1, says="page"),
    *REDIRECTS,
    Fault("302 without an address", answering(page(302)), ODD, 1, says="redirects"),
    Fault("304", answering(lambda kit: raw(kit.head(304))), ODD, 1),
    Fault("a status that nobody registered: 499", answering(failing(499)), ODD, 1),
    Fault("a status that nobody registered: 599", answering(failing(599)), AWAY, 1),
    Fault("a status that nobody registered: 999", answering(failing(999)), AWAY, 1),
]
BY_STATUS = {
    401: Expected(AUTH, 1),
    403: Expected(AUTH, 1),
    404: Expected(GONE, 1),
    407: Expected(AWAY, 1),
    408: Expected(AWAY, 3),
    410: Expected(GONE, 1),
    429: Expected(LIMITED, 3),
    502: Expected(AWAY, 3),
    503: Expected(AWAY, 3),
    504: Expected(AWAY, 3),
}
JINBA_ONCE = {status: {"jinba": Expected(AWAY, 1)} for status in (408, 502, 503, 504)}
TAKEN_AS_SETTINGS = {"jinba": Expected(SET, 1), "external_knowledge": Expected(SET, 1)}
DIFFERS: dict[int, dict[str, Expected]] = {
    **JINBA_ONCE,
    # Dify's own: a model or the vector store failed for the moment; the others refuse what was configured
    **{status: {"anything_llm": Expected(ODD, 1)} for status in (401, 403)},  # it says one sentence of a key
    400: {"dify": Expected(AWAY, 4), **TAKEN_AS_SETTINGS},  # it asks for the dataset too, which may explain it
    422: {"external_knowledge": Expected(SET, 1)},
    500: {"dify": Expected(AWAY, 2), "fastgpt": Expected(AWAY, 2), "external_knowledge": Expected(AWAY, 2)},
}


def _status(status: int) -> Fault:
    kind, requests = BY_STATUS.get(status, Expected(AWAY if status >= 500 else ODD, 1))
    return Fault(
        f"{status} {HTTPStatus(status).phrase}", answering(failing(status)), kind, requests, DIFFERS.get(status, {})
    )


PASSING = (502, 503, 504, 520, 521, 522, 523, 524, 530)
BY_STATUS_OF_A_PAGE = {
    404: Expected(GONE, 1),
    429: Expected(LIMITED, 3),
    500: Expected(AWAY, 1),
    **dict.fromkeys(PASSING, Expected(AWAY, 3)),
}
DIFFERS_PAGE: dict[int, dict[str, Expected]] = {
    **dict.fromkeys(PASSING, ONCE),
    500: {"external_knowledge": Expected(AWAY, 2)},  # many a small server of the protocol fails with a page of its own
}


def _page(status: int) -> Fault:
    kind, requests = BY_STATUS_OF_A_PAGE.get(status, Expected(ODD, 1))
    return Fault(f"{status} with a page", answering(page(status)), kind, requests, DIFFERS_PAGE.get(status, {}))


FAILED = [
    *map(_status, (s for s in registered(400, 499) if s != HTTPStatus.TOO_MANY_REQUESTS)),
    *map(_status, registered(500, 599)),
    *map(_page, (400, 401, 403, 404, 405, 413, 429, 500, *PASSING)),
]


def _limited(name: str, after: Callable[[], str | None], requests: int) -> Fault:
    return Fault(
        f"429, Retry-After {name}",
        answering(lambda kit: raw(kit.whole(429, kit.failed(429), {"Retry-After": after()}))),
        LIMITED,
        requests,
    )


def _date(seconds: float) -> str:
    return formatdate(time.time() + seconds, usegmt=True)


LIMITS = [
    _limited("missing", lambda: None, 3),
    _limited("of 1 second", lambda: "1", 3),
    _limited("of 30 seconds", lambda: "30", 1),
    _limited("of 0 seconds", lambda: "0", 3),
    _limited("as a date in an hour", lambda: _date(3600), 1),
    _limited("as a date that has passed", lambda: _date(-3600), 3),
    _limited("of -5", lambda: "-5", 3),
    _limited("of 10 to the 30", lambda: "1" + "0" * 30, 3),
    _limited("of 1e9", lambda: "1e9", 3),
    _limited("of 99999999999", lambda: "99999999999", 1),
    _limited("as the date 31 Feb 99999", lambda: "Sat, 31 Feb 99999 99:99:99 GMT", 3),
    _limited("of words", lambda: "soon, <b>really</b>", 3),
    Fault("429 with Retry-After 1, then a good answer", answering(failing(429, Retry_After="1"), good), WORKS, 2),
]
