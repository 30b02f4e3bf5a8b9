"""The plugin's own settings: proxy, certificates, number of connections."""

import asyncio
import base64
import ssl
from collections.abc import Mapping
from types import MappingProxyType

import pytest
import trustme

from bridge.errors import SettingsError, UnavailableError
from bridge.http import Network
from tests.bridge.http.test_transport import OK, ask, failure
from tests.service import Service

PASSWORD = "proxy-Secret-77"


class Proxy(Service):
    """A forward proxy for plain requests and tunnels; with `password` it wants one."""

    password: str = ""

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            self.requests.append(target)
            wanted = base64.b64encode(f"ada:{self.password}".encode()).decode()
            if self.password and f"Basic {wanted}" not in head:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
            host, _, port = target.removeprefix("http://").partition("/")[0].partition(":")
            there, back = await asyncio.open_connection(host, int(port))
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                back.write(head.encode("latin-1"))
            try:
                await asyncio.gather(_pipe(reader, back), _pipe(there, writer))
            finally:
                back.transport.abort()
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            writer.transport.abort()


async def _pipe(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@pytest.fixture
async def proxy():
    async with Proxy() as proxy:
        yield proxy


def via(proxy, user: str = "", **rest) -> Network:
    return Network.of({"proxy_url": f"http://{user}127.0.0.1:{proxy.port}", "pause_after_failures": False, **rest})


async def test_calls_go_through_the_proxy(service, proxy, pool):
    service.answers = [OK]
    assert await ask(service, pool, network=via(proxy)) == "{'x': 1}"
    assert await ask(service, pool) == "{'x': 1}"
    assert len(proxy.requests) == 1
    assert proxy.requests[0].startswith(service.base)


async def test_tls_is_tunnelled_and_checked_end_to_end(proxy, pool):
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    pem = authority.cert_pem.bytes().decode()
    async with Service([OK], tls=tls) as service:
        assert await ask(service, pool, network=via(proxy, ca_certificates=pem))
        assert proxy.requests == [f"127.0.0.1:{service.port}"]
        assert "certificate" in str(await failure(service, pool, network=via(proxy)))


async def test_a_private_authority_is_trusted_only_where_it_is_named(pool):
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    network = Network.of(
        {"ca_certificates": f"\n{authority.cert_pem.bytes().decode()}\n", "pause_after_failures": False}
    )
    async with Service([OK], tls=tls) as service:
        await failure(service, pool)
        assert await ask(service, pool, network=network)
        await failure(service, pool)


@pytest.mark.parametrize("tls", [False, True])
async def test_a_proxy_that_wants_a_password(tls, proxy, service, pool):
    proxy.password = PASSWORD
    service.answers = [OK]
    where = f"https://127.0.0.1:{service.port}" if tls else service.base
    for user in ("", "ada:wrong@"):
        error = await failure(where, pool, network=via(proxy, user))
        assert isinstance(error, UnavailableError)
        assert "407" in str(error)
        assert "proxy_url" in str(error)
    assert await ask(service, pool, network=via(proxy, f"ada:{PASSWORD}@"))


async def test_a_proxy_where_nobody_listens(service, pool, no_waiting):
    async with Proxy() as gone:
        pass
    error = await failure(service, pool, network=via(gone, f"ada:{PASSWORD}@"))
    assert "proxy_url" in str(error)
    assert PASSWORD not in str(error)


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"proxy_url": "127.0.0.1:3128"}, "proxy_url"),
        ({"proxy_url": f"socks5://ada:{PASSWORD}@h:1"}, "proxy_url"),
        ({"proxy_url": "http://h:port"}, "proxy_url"),
        ({"max_connections": 1000}, "max_connections"),
        ({"max_connections": "many"}, "max_connections"),
        ({"pause_after_failures": "perhaps"}, "pause_after_failures"),
    ],
)
def test_a_bad_value_is_named_without_being_shown(config, names):
    with pytest.raises(SettingsError, match=f"Plugin configuration: {names} .*plugin's configuration") as failed:
        Network.of(config)
    assert PASSWORD not in str(failed.value)
    assert PASSWORD not in repr(failed.value)


def test_configuration_as_the_host_gives_it():
    assert Network.of({}) == Network()
    frozen: Mapping[str, object] = MappingProxyType(
        {"proxy_url": None, "max_connections": 0, "extra": MappingProxyType({}), "ca_certificates": ""}
    )
    assert Network.of(frozen) == Network()
    assert PASSWORD not in repr(Network.of({"proxy_url": f"http://a:{PASSWORD}@h:1"}))


async def test_certificates_that_cant_be_read_fail_the_call_that_needs_them(service, pool):
    network = Network.of({"ca_certificates": "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----"})
    service.answers = [OK]
    assert await ask(service, pool, network=network)
    with pytest.raises(SettingsError, match="ca_certificates"):
        await ask(f"https://127.0.0.1:{service.port}", pool, network=network)


async def test_max_connections_is_kept(service, pool):
    now, most = 0, 0

    async def slow(request, writer):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return await OK(request, writer)

    service.answers = [slow]
    network = Network.of({"max_connections": "3"})
    await asyncio.gather(*(ask(service, pool, network=network) for _ in range(20)))
    assert most == service.connections == 3
