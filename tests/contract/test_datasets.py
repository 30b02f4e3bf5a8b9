"""What must hold for the list of datasets of every service alike."""

from dataclasses import replace

import httpx
import pytest

from adapters import BACKENDS, Access, BridgeError, Network, list_datasets, load_backend
from bridge.errors import AuthError, ResponseError, SettingsError, UnavailableError
from tests.contract.cases import CASES, KEY
from tests.contract.stand_in import recording, service

ALL = [pytest.param(case, id=case.backend) for case in CASES]
LISTING = [pytest.param(case, id=case.backend) for case in CASES if case.listing]


def settings(case, **changes):
    return {"backend": case.backend, "api_key": KEY, **case.creation, **changes}


@pytest.mark.parametrize("case", LISTING)
@pytest.mark.parametrize("typed", [None, "", "half an id"])
async def test_a_key_alone_is_enough_to_list_the_datasets_that_can_be_chosen(case, typed, pool):
    with service(replace(case, look_up=""), recording(case.backend, case.listing)) as calls:
        found, notes = await list_datasets(settings(case, dataset_id=typed), {}, pool)
    assert len({one.id for one in found}) == len(found) >= 2
    assert all(one.name and one.line for one in found)
    assert notes == []
    header, before = BACKENDS[case.backend].key_header
    assert {request.headers[header] for request in calls} == {before + KEY}
    chosen = load_backend(settings(case, dataset_id=",".join(one.id for one in found)), {})
    assert chosen.dataset_id == tuple(one.id for one in found)


@pytest.mark.parametrize("case", ALL)
async def test_what_is_no_list_is_an_error_and_no_empty_choice(case, pool, no_waiting):
    for answer, kind in (
        (recording(case.backend, case.refused) if case.refused else httpx.Response(401), AuthError),
        (httpx.Response(401, json={"message": KEY}), BridgeError),
        (httpx.Response(200, html="<html>login</html>"), ResponseError),
        (httpx.Response(200, json={"code": 200, "success": True}), ResponseError),
        (httpx.Response(200, json={"code": 0}), ResponseError),
        (httpx.Response(503), UnavailableError),
    ):
        with service(replace(case, look_up=""), answer) as calls, pytest.raises(BridgeError) as failed:
            await list_datasets(settings(case), {}, Access(pool, Network(pause_after_failures=False)))
        assert isinstance(failed.value, kind if case.listing else SettingsError)
        assert bool(calls) is bool(case.listing)
        assert KEY not in str(failed.value)


@pytest.mark.parametrize("case", LISTING)
@pytest.mark.parametrize("missing", ["api_base_url", "api_key"])
async def test_a_list_needs_all_other_settings(case, missing, pool):
    with (
        service(case, recording(case.backend, case.listing)) as calls,
        pytest.raises(SettingsError, match=f"{missing} is missing"),
    ):
        await list_datasets(settings(case, **{missing: ""}), {}, pool)
    assert calls == []


@pytest.mark.parametrize("case", ALL)
async def test_where_there_is_no_list_that_is_said_before_anything_else(case, pool):
    """What the service isn't asked for needs no settings."""
    if not case.listing:
        with pytest.raises(SettingsError, match=r"listed here\. Enter dataset_id by hand"):
            await list_datasets({"backend": case.backend}, {}, pool)
    assert BACKENDS[case.backend].lists is bool(case.listing)
