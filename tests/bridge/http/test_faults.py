"""What a status, a header or an exception comes to."""

import asyncio
import time
from email.utils import formatdate

import pytest

from bridge.errors import AuthError, NotFoundError, RateLimitedError, ResponseError, SettingsError, UnavailableError
from tests.bridge.http.plain import OK, ask, failure
from tests.service import Service, reply


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ResponseError),
        (401, AuthError),
        (403, AuthError),
        (404, NotFoundError),
        (405, ResponseError),
        (410, NotFoundError),
        (422, ResponseError),
        (500, UnavailableError),
        (501, UnavailableError),
    ],
)
async def test_what_cant_pass_is_asked_once(status, kind, service, pool):
    service.answers = [reply(status, {"message": "no"})]
    error = await failure(service, pool)
    assert type(error) is kind
    assert f"{status}" in str(error)
    assert len(service.requests) == 1


async def test_a_redirect_is_not_followed(service, pool):
    async with Service([OK]) as other:
        service.answers = [reply(307, headers={"Location": f"{other.base}/secret?token=1"})]
        error = await failure(service, pool)
        assert isinstance(error, ResponseError)
        assert f"redirects to {other.base}/secret (" in str(error)
        assert "token" not in str(error)
        assert other.requests == []


@pytest.mark.parametrize(
    ("header", "least"),
    [("2", 2), ("0", 1), (None, 1), ("soon", 1), ("-5", 1), ("a date", 20)],
)
async def test_a_rate_limit_is_waited_for(header, least, service, pool, no_waiting):
    header = formatdate(time.time() + 30, usegmt=True) if header == "a date" else header
    headers = {} if header is None else {"Retry-After": header}
    service.answers = [reply(429, {}, headers), OK]
    assert await ask(service, pool, timeout=60)
    assert no_waiting[0] >= least


@pytest.mark.parametrize("header", ["60", "99999999999", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_a_rate_limit_that_doesnt_fit_is_told(header, service, pool, no_waiting):
    service.answers = [reply(429, {}, {"Retry-After": header})]
    error = await failure(service, pool)
    assert isinstance(error, RateLimitedError)
    assert "Wait" in error.remedy
    assert (len(service.requests), no_waiting) == (1, [])


async def test_https_to_a_plain_service_is_told(pool):
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        error = await failure(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", pool)
    assert "TLS failed" in str(error)
    assert "http://" in str(error)


async def test_a_name_that_is_not_known(pool, no_waiting, monkeypatch):
    with pytest.raises(UnavailableError, match=r"Plain at nowhere\.invalid: the host name is not known"):
        await ask("http://nowhere.invalid", pool)


@pytest.mark.parametrize("base", ["http://a\u2024.test", "http://" + "x" * 300 + ".test"])
async def test_a_host_that_cant_be_asked(base, pool, no_waiting):
    with pytest.raises((SettingsError, UnavailableError)):
        await ask(base, pool)
