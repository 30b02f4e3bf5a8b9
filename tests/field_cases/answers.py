"""Which answer of a case a request gets."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.field_cases.look_ups import look_up, not_found
from tests.field_cases.values import dig, has
from tests.service import Request

ROUTES = {
    "dify": r"/v1/datasets/[^/]+/(retrieve|hit-testing)",
    "ragflow": r"/{1,2}api/v1/retrieval/?",
    "fastgpt": r"/api/core/dataset/searchTest",
    "jinba": r"/api/v2/external/flows/[^/]+/published-run",
    "external_knowledge": r".*/retrieval",
}
CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "json": lambda want, body: all(dig(body, k) == v for k, v in want.items()),
    "json_not": lambda want, body: all(dig(body, k) != v for k, v in want.items()),
    "json_gt": lambda want, body: all(
        isinstance(dig(body, k), int | float) and dig(body, k) > v for k, v in want.items()
    ),
    "json_len_gt": lambda want, body: all(len(str(dig(body, k) or "")) > v for k, v in want.items()),
    "json_has": lambda want, body: want in json.dumps(body, ensure_ascii=False),
    "json_list_len_gt": lambda want, body: all(len(dig(body, k) or []) > v for k, v in want.items()),
    "json_contains": lambda want, body: all(v in (dig(body, k) or []) for k, v in want.items()),
    "json_lacks_any": lambda want, body: any(not has(body, k) for k in want),
}
"""What an answer's `when` may ask of a POST's body, besides path_prefix."""


def path_of(request: Request) -> str:
    return request.path.partition("?")[0]


def body_of(request: Request) -> Any:
    """The JSON that was sent, None where it is none."""
    try:
        return request.json
    except ValueError:
        return None


def chosen(case: dict[str, Any], request: Request, turn: int) -> tuple[dict[str, Any], bool]:
    """The answer, and whether it was one of those that are given in turn: `turn` were so far, the last repeats."""
    fitting = [answer for answer in case["server_answers"] if "when" in answer and met(answer["when"], request)]
    queue = [a for a in case["server_answers"] if "when" not in a and a.get("fault") != "connect_error"]
    if request.method == "GET":
        return _beside(case, request, [*fitting[:1], *queue[-1:]]), False
    if fitting:
        return fitting[0], False
    if not queue or not on_route(case, request):
        return not_found(case["backend"], path_of(request)), False
    return queue[min(turn, len(queue) - 1)], True


def met(when: dict[str, Any], request: Request) -> bool:
    if request.method == "GET" and set(when) - {"path_prefix"}:
        return False
    wanted = dict(when)
    body = body_of(request)
    return path_of(request).startswith(wanted.pop("path_prefix", "")) and all(
        CONDITIONS[name](want, body) for name, want in wanted.items()
    )


def _beside(case: dict[str, Any], request: Request, lasting: list[dict[str, Any]]) -> dict[str, Any]:
    """A look-up's answer: the case's own, the trouble that a search would meet too, else that of a healthy service."""
    for answer in case.get("look_ups", []):
        if path_of(request).startswith(answer["path_prefix"]):
            return dict(answer)
    if lasting and _meets_all(case["backend"], lasting[0]):
        return lasting[0]
    return {**look_up(case["backend"], request), "delay_s": lasting[0].get("delay_s", 0) if lasting else 0}


def on_route(case: dict[str, Any], request: Request) -> bool:
    """Whether a request went where the service answers searches."""
    if dig(case, "settings.creation.route") == "search_url":
        return path_of(request) == urlsplit(case["settings"]["creation"]["base_url"].strip()).path
    return re.fullmatch(ROUTES[case["backend"]], path_of(request)) is not None


def _meets_all(backend: str, answer: dict[str, Any]) -> bool:
    """Whether a look-up beside the search would meet the same trouble."""
    if answer.get("fault"):
        return True
    code = dig(answer.get("body"), "code")
    if answer["status"] in (301, 302, 307, 308, 401, 403, 404, 429) or answer["status"] >= 500:
        # FastGPT's code 500 comes from its embedding service, which a look-up doesn't need
        return backend != "fastgpt" or code != 500
    if "html" in answer.get("headers", {}).get("content-type", ""):
        return True
    if not isinstance(answer.get("body"), dict):
        return False
    if backend == "ragflow":
        return code in (102, 108, 109, 401) or answer["body"].get("data") is False
    return backend == "fastgpt" and code not in (200, 500)
