"""Redirects, over real sockets: followed where only a slash is added at the same host, else named with their path."""

import pytest

from bridge.errors import ResponseError
from tests.bridge.http.plain import KEY, OK, ask, failure
from tests.service import Service, reply


def moved(status, location):
    return reply(status, headers={"Location": location})


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("location", ["{base}/search/", "/search/", "https://127.0.0.1/search/", "{base}/search/?x=1"])
async def test_a_slash_at_the_same_host_is_followed_with_body_and_key(status, location, service, pool):
    service.answers = [moved(status, location.format(base=service.base)), OK]
    assert await ask(service, pool, "what") == "{'x': 1}"
    first, second = service.requests
    assert (first.path, second.path) == ("/search", "/search/")
    assert (second.method, second.json) == ("POST", {"query": "what"})
    assert second.headers["authorization"] == f"Bearer {KEY}"
    assert first.headers == second.headers


@pytest.mark.parametrize(
    ("status", "location", "says"),
    [
        (301, "/search/", "redirects to /search/ (status 301). Let its route answer without the slash"),
        (303, "/search/", "redirects to /search/ (status 303). Let its route answer without the slash"),
        (307, "http://else.test/search/", "redirects to http://else.test/search/ (status 307)"),
        (307, "https://127.0.0.1:8443/kb/search", "redirects to https://127.0.0.1:8443/kb/search (status 307)"),
        (308, "/api/search", "redirects to /api/search (status 308). Enter the address it leads to"),
        (302, "https://ada:pw@sso.test/login?next=secret", "redirects to https://sso.test/login (status 302)"),
        (307, "http://[", "redirects (status 307)"),
        (307, "", "redirects (status 307)"),
    ],
)
async def test_any_other_is_named_with_its_whole_path(status, location, says, service, pool):
    service.answers = [moved(status, location), OK]
    error = await failure(service, pool)
    assert isinstance(error, ResponseError)
    assert says in str(error)
    assert not [secret for secret in ("pw", "secret", "ada") if secret in str(error)]
    assert len(service.requests) == 1


async def test_it_is_followed_once(service, pool):
    service.answers = [moved(307, "/search/"), moved(307, "/search//"), OK]
    assert "redirects to /search//" in str(await failure(service, pool))
    assert [request.path for request in service.requests] == ["/search", "/search/"]


async def test_another_host_is_never_asked(service, pool):
    async with Service([OK]) as other:
        service.answers = [moved(307, f"http://localhost:{other.port}/search/")]
        await failure(service, pool)
        assert other.requests == []
