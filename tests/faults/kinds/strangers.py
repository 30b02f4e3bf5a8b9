"""Somebody else answers in the service's place: a gateway, a firewall, a login, another service."""

from collections.abc import Callable

from tests.faults.answers import answering, page, strange
from tests.faults.fault import AUTH, GONE, ODD, Expected, Fault
from tests.faults.kit import KITS, Kit
from tests.service import Answer


def _in_front(name: str, answer: Callable[[Kit], Answer], says: str, kind: str = ODD) -> Fault:
    return Fault(name, answering(answer), kind, 1, says=says)


PLAIN_HTTP = "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>"
IN_FRONT = [
    _in_front("404 of APISIX", strange(404, {"error_msg": "404 Route Not Found"}), "api_base_url", GONE),
    _in_front(
        "404 of Kong",
        strange(404, {"message": "no Route matched with those values", "request_id": "5f0b"}),
        "api_base_url",
        GONE,
    ),
    _in_front("404 of Traefik", strange(404, "404 page not found\n"), "api_base_url", GONE),
    _in_front("404 of FastAPI", strange(404, {"detail": "Not Found"}), "api_base_url", GONE),
    _in_front(
        "403 page of Cloudflare", page(403, Server="cloudflare", CF_RAY="8f-FRA"), r"in front of .*\(cloudflare\)"
    ),
    _in_front(
        "403 page that came through a CDN", page(403, Via="1.1 edge-7 (Varnish/7.4)"), r"in front of .*\(Varnish\)"
    ),
    _in_front(
        "401 page of a login",
        page(401, Server="nginx", WWW_Authenticate='Basic realm="x"'),
        "a user name and a password",
    ),
    _in_front(
        "401 of a login without a word", strange(401, "", WWW_Authenticate="Basic"), "a user name and a password"
    ),
    _in_front("400 of nginx to http at its https port", strange(400, PLAIN_HTTP, Content_Type="text/html"), "https://"),
    _in_front(
        "400 of Go to http at its https port",
        strange(400, "Client sent an HTTP request to an HTTPS server.\n"),
        "https://",
    ),
]

STRANGERS: dict[str, tuple[Callable[[Kit], Answer], str]] = {
    "dify": (
        strange(404, "<!doctype html><title>404 Not Found</title>", Content_Type="text/html", X_Version="1.9.2"),
        GONE,
    ),
    "ragflow": (
        strange(404, {"code": 404, "data": None, "error": "Not Found", "message": "Not Found: /v1/retrieval"}),
        GONE,
    ),
    "fastgpt": (strange(403, {"code": 403, "statusText": "unAuthorization", "message": "", "data": None}), AUTH),
    "jinba": (strange(401, {"status": "failed", "error": {"name": "AuthError", "value": "no key"}}), AUTH),
    "external_knowledge": (strange(403, {"error_code": 1002, "error_msg": "Authorization failed"}), AUTH),
    "weknora": (
        strange(401, {"success": False, "error": {"code": 1002, "message": "Unauthorized", "details": None}}),
        AUTH,
    ),
}
"""What each service says where it doesn't know the path or the key, and what that comes to on the service itself."""


def _another(kit: Kit) -> Fault:
    answer, own = STRANGERS[kit.backend]
    differs = {kit.backend: Expected(own, 1)}
    says = f"looks like {kit.product}|^{kit.product}.* at "
    return Fault(f"{kit.product} at the address", answering(answer), GONE, 1, differs, says=says)


IN_ITS_PLACE = [*IN_FRONT, *(_another(kit) for kit in KITS if kit.backend in STRANGERS)]
