"""A stored key goes to the service and address that it was saved with, and nowhere else."""

import json

import pytest

from adapters import BACKENDS, load_backend
from console.connections import PREFIX
from tests.console.host import KEY, Plugin, dify, saved, say
from tests.contract.cases import CASES
from tests.recorded import DATASET, FOUND
from tests.service import Service

AGAIN = "the stored key belongs to another service or address. Enter api_key again"
ENDPOINTS = ["/test", "/connections/save"]
SETTINGS = {case.backend: {"backend": case.backend, **case.creation, "api_key": ""} for case in CASES}


@pytest.fixture
async def other():
    """A second server, which answers as Dify does."""
    async with Service([FOUND], looked_up=DATASET) as service:
        yield service


async def told(plugin: Plugin, endpoint, settings, original="shop"):
    """What the page is told when it leaves the key blank."""
    revision = next((c["revision"] for c in (await say(plugin, "/connections"))["connections"]), "")
    body = {
        "name": "shop",
        "anyway": True,
        "original": original,
        "revision": revision,
        "settings": {**settings, "api_key": ""},
    }
    answer = await say(plugin, endpoint, **body)
    assert KEY not in json.dumps(answer)
    return answer


async def refused(plugin: Plugin, endpoint, settings):
    before = dict(plugin.stored)
    answer = await told(plugin, endpoint, settings)
    assert (answer["ok"], answer["kind"]) == (False, "SettingsError")
    assert AGAIN in answer["error"]
    assert plugin.stored == before


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("backend", [case.backend for case in CASES])
async def test_another_server_never_sees_the_key(backend, endpoint, plugin, dify_service, other):
    await saved(plugin, dify(dify_service))
    await refused(plugin, endpoint, {**SETTINGS[backend], "api_base_url": other.base})
    assert (other.connections, dify_service.connections) == (0, 0)


@pytest.mark.parametrize("backend", [tag for tag, backend in BACKENDS.items() if backend.lists])
async def test_a_list_of_datasets_is_asked_of_the_keys_owner_alone(backend, plugin, dify_service, other):
    await saved(plugin, dify(dify_service))
    await refused(plugin, "/datasets", {**SETTINGS[backend], "api_base_url": other.base, "dataset_id": ""})
    assert (other.connections, dify_service.connections) == (0, 0)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("backend", [case.backend for case in CASES if case.backend != "dify"])
async def test_another_service_at_the_address_doesnt_see_it(backend, endpoint, plugin, dify_service):
    await saved(plugin, dify(dify_service))
    await refused(plugin, endpoint, {**SETTINGS[backend], "api_base_url": dify_service.base})
    assert dify_service.connections == 0


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize(
    "change", [("127.0.0.1", "localhost"), ("http:", "https:"), ("127.0.0.1", "127.0.0.1.nip.test")]
)
async def test_another_host_or_scheme_doesnt_see_it(change, endpoint, plugin, dify_service):
    await saved(plugin, dify(dify_service))
    await refused(plugin, endpoint, dify(dify_service, api_base_url=dify_service.base.replace(*change)))
    assert dify_service.connections == 0


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_copy_has_no_key(endpoint, plugin, dify_service):
    await saved(plugin, dify(dify_service))
    answer = await told(plugin, endpoint, dify(dify_service), original="")
    assert "api_key" in json.dumps(answer)
    assert dify_service.connections == 0
    assert list(plugin.stored) == [f"{PREFIX}shop"]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/behind/a/proxy/v1"])
async def test_another_path_or_name_keeps_it(path, plugin, dify_service):
    await saved(plugin, dify(dify_service))
    settings = dify(dify_service, api_base_url=dify_service.base + path)
    assert (await told(plugin, "/test", settings))["steps"][-1]["state"] == "ok"
    assert dify_service.posts[-1].headers["authorization"] == f"Bearer {KEY}"
    assert (await told(plugin, "/connections/save", settings))["connection"]["has_key"]
    assert KEY.encode() in plugin.stored[f"{PREFIX}shop"]


async def test_a_key_that_is_entered_again_goes_to_the_new_address_alone(plugin, dify_service, other):
    await saved(plugin, dify(dify_service))
    settings = dify(other, api_key="dataset-of-the-other")
    await say(plugin, "/test", settings=settings, original="shop")
    assert {request.headers["authorization"] for request in other.requests} == {"Bearer dataset-of-the-other"}
    assert dify_service.connections == 0


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_where_nobody_can_tell_whose_key_it_is_it_goes_nowhere(endpoint, plugin, dify_service):
    await saved(plugin, dify(dify_service))
    stored = json.loads(plugin.stored[f"{PREFIX}shop"])
    stored["settings"]["api_base_url"] = "ftp://x"
    plugin.stored[f"{PREFIX}shop"] = json.dumps(stored).encode()
    await refused(plugin, endpoint, dify(dify_service))
    assert dify_service.connections == 0


async def test_a_connection_without_a_key_may_move(plugin, dify_service, other):
    settings = SETTINGS["external_knowledge"] | {"api_base_url": dify_service.base}
    await saved(plugin, settings)
    assert (await told(plugin, "/connections/save", {**settings, "api_base_url": other.base}))["ok"]


@pytest.mark.parametrize(
    ("settings", "one", "another", "same"),
    [
        ({}, "https://h.test/v1", "https://H.test:443", True),
        ({}, "http://h.test", "h.test:80", True),
        ({}, "https://cloud.dify.ai", "https://api.dify.ai/v1", True),
        ({}, "https://h.test", "http://h.test:443", False),
        ({}, "https://h.test", "https://h.test.evil.test", False),
        ({}, "https://h.test", "https://h.test:8443", False),
        (SETTINGS["jinba"] | {"route": "search_url"}, "https://H.test/a?code=1", "HTTPS://h.test:443/b", True),
        (SETTINGS["jinba"] | {"route": "search_url"}, "https://h.test/a", "https://g.test/a", False),
    ],
)
def test_whom_a_key_belongs_to(settings, one, another, same):
    owners = [
        load_backend({**SETTINGS["dify"], **settings, "api_key": KEY, "api_base_url": base}, {}).key_owner
        for base in (one, another)
    ]
    assert (owners[0] == owners[1]) is same


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_the_key_of_a_flow_is_none_of_a_search_url(endpoint, plugin, dify_service):
    flow = SETTINGS["jinba"] | {"api_base_url": dify_service.base}
    await saved(plugin, {**flow, "api_key": KEY})
    await refused(plugin, endpoint, {**flow, "route": "search_url"})
    assert dify_service.connections == 0
