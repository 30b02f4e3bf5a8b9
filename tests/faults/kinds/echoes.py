"""Failures that repeat key and query."""

import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.faults.answers import answering, named, whole
from tests.faults.fault import AWAY, ODD, Expected, Fault
from tests.faults.kit import Kit
from tests.faults.wire import raw
from tests.service import Answer


def saying(words: Callable[[Kit], str]) -> Callable[[Kit], Answer]:
    """A failure in these words, in the service's form."""
    return whole(418, lambda kit: kit.failed(418, words(kit)))


def redirect_by_name(kit: Kit) -> Answer:
    return raw(kit.whole(302, b"", {"Location": f"https://{kit.key}.example/{kit.key}?asked={quote(kit.query)}"}))


def _traceback(kit: Kit) -> str:
    return f"boom\nTraceback (most recent call last):\n  File 'x.py'\n    search({kit.query!r}, key={kit.key!r})"


def _as_names(kit: Kit) -> Any:
    """An answer that the service's own check lets pass, with the secrets where a shape is told by its keys."""
    names = {kit.key: 1, kit.query: 2, kit.page.decode(): 3}
    match kit.backend:
        case "ragflow":
            return {"code": 0, "data": names}
        case "fastgpt":
            return {"code": 200, "data": names}
        case "weknora":
            return {"success": True, "data": names}
        case "jinba":
            return {**names, "status": "success", "stepOutputs": names}
    return names


def _failed_step(kit: Kit) -> Any:
    """200 and a failure inside, as far as the service has such a thing."""
    match kit.backend:
        case "jinba":
            step = {"status": "failed", "error": {"name": kit.key, "message": kit.query}}
            return {"status": "success", "stepOutputs": {"search": step}}
        case "dify":
            return {"error": kit.echo, "code": kit.key}
    return json.loads(kit.failed(1999))


FAILED_INSIDE = {"ragflow": Expected(AWAY, 2), "external_knowledge": Expected(AWAY, 2)}
ECHOES = [
    Fault("key and query in plain words", answering(saying(lambda kit: kit.echo)), ODD, 1),
    Fault("key alone, in capitals", answering(saying(lambda kit: kit.key.upper())), ODD, 1),
    Fault("query alone", answering(saying(lambda kit: kit.query)), ODD, 1),
    Fault("query escaped for HTML", answering(saying(lambda kit: html.escape(kit.query))), ODD, 1),
    Fault("query escaped for a URL", answering(saying(lambda kit: quote(kit.query))), ODD, 1),
    Fault("query escaped for JSON", answering(saying(lambda kit: json.dumps(kit.query))), ODD, 1),
    Fault("a page in a failure's words", answering(saying(lambda kit: kit.page.decode())), ODD, 1),
    Fault("a traceback in a failure's words", answering(saying(_traceback)), ODD, 1),
    Fault(
        "a failure in plain text",
        answering(whole(418, lambda kit: kit.echo.encode(), Content_Type="text/plain")),
        ODD,
        1,
    ),
    Fault(
        "a failure in a page without a type",
        answering(whole(418, lambda kit: b" " * 600 + kit.page, Content_Type=None, X_Version=None)),
        ODD,
        1,
    ),
    Fault("key and query as names in the answer", answering(whole(body=named(_as_names))), ODD, 1),
    Fault(
        "key as the version",
        answering(lambda kit: raw(kit.whole(418, kit.failed(418), {"X-Version": kit.key}))),
        ODD,
        1,
    ),
    Fault("key in the host of a redirect", answering(redirect_by_name), ODD, 1),
    Fault("a failure inside a 200", answering(whole(body=named(_failed_step))), ODD, 1, FAILED_INSIDE),
]
