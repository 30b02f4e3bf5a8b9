"""What must hold for every service alike."""

import copy
import json
import logging
import math

import httpx
import pytest

from adapters import BACKENDS, BridgeError, retrieve
from bridge.errors import AuthError, NotFoundError, ResponseError, SettingsError, UnavailableError
from tests.contract.cases import CASES, EXPECTED, KEY
from tests.contract.stand_in import context, recording, rows_of, searches, service, with_rows

ALL = [pytest.param(case, id=case.backend) for case in CASES]
RECORDED = [pytest.param(case, name, id=f"{case.backend}-{name}") for case in CASES for name in searches(case)]


def expected(case):
    return json.loads((EXPECTED / f"{case.backend}.json").read_text("utf-8"))


def seen(response) -> list[list[object]]:
    """An entry as the expectations write it: id, score, distance, document, start of the text."""
    return [
        [e.id, _short(e.score), _short(e.distance), e.metadata.get("document_name"), (e.content[0].text or "")[:40]]
        for e in response.results
    ]


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


async def outcome(case, name, pool):
    """What `expected` says about one recorded answer: the entries, or the error's class."""
    told = recording(case.backend, name)
    threshold = (told.get("expect") or {}).get("dropped_below_threshold")
    asked = told["request"].get("json") or told["request"].get("body")
    retrieval = {"score_threshold": asked["retrieval_setting"]["score_threshold"]} if threshold else {}
    with service(case, told):
        try:
            return seen(await retrieve(context(case, retrieval=retrieval), pool))
        except BridgeError as error:
            return type(error).__name__


@pytest.mark.parametrize(("case", "name"), RECORDED)
async def test_recorded_answer(case, name, pool, no_waiting, caplog):
    caplog.set_level(logging.DEBUG)
    assert await outcome(case, name, pool) == expected(case)[name]
    assert KEY not in caplog.text


def test_every_expectation_has_its_recording():
    for case in CASES:
        assert set(expected(case)) == set(searches(case))


@pytest.mark.parametrize("case", ALL)
async def test_entries_fit_the_host(case, pool):
    with service(case, recording(case.backend, case.good)):
        response = await retrieve(context(case), pool)
    assert len(response.results) >= 2
    assert response.total_found >= len(response.results)
    assert len({entry.id for entry in response.results}) == len(response.results)
    for entry in response.results:
        assert entry.id
        assert entry.metadata["document_name"]
        assert entry.score is None or 0 <= entry.score <= 1
        assert math.isclose(entry.distance, 1 - (entry.score or 0))
        assert (entry.content[0].text or "").strip()
    json.dumps(response.model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("case", ALL)
async def test_top_k_cuts(case, pool):
    with service(case, recording(case.backend, case.good)):
        whole = await retrieve(context(case), pool)
        one = await retrieve(context(case, retrieval={"top_k": "1"}), pool)
    assert seen(one) == seen(whole)[:1]
    assert one.total_found >= 1


@pytest.mark.parametrize("case", ALL)
async def test_threshold_cuts_at_the_score(case, pool):
    with service(case, recording(case.backend, case.good)):
        whole = await retrieve(context(case), pool)
        scores = sorted({entry.score or 0 for entry in whole.results})
        cut = await retrieve(context(case, retrieval={"score_threshold": scores[-1]}), pool)
    assert [e.id for e in cut.results] == [e.id for e in whole.results if e.score == scores[-1]]


@pytest.mark.parametrize("case", ALL)
async def test_a_blank_query_asks_nobody(case, pool):
    with service(case, recording(case.backend, case.good)) as calls:
        response = await retrieve(context(case, query=" \n　"), pool)
    assert (response.results, response.total_found, len(calls)) == ([], 0, 0)


@pytest.mark.parametrize("case", ALL)
async def test_the_key_goes_out_once_and_nothing_of_the_host_does(case, pool):
    settings = {
        "session_name": "person_77",
        "bot_uuid": "bot-88",
        "sender_id": "user-99",
        "api_base_url": "http://x.test",
    }
    with service(case, recording(case.backend, case.good)) as calls:
        await retrieve(context(case, creation={"api_key": f' "Bearer {KEY}"\n'}, retrieval=settings), pool)
    assert calls
    name, before = BACKENDS[case.backend].key_header
    for request in calls:
        assert request.headers[name] == f"{before}{KEY}"
        assert [value for value in request.headers.values() if KEY in value] == [f"{before}{KEY}"]
        assert "cookie" not in request.headers
        sent = request.content + str(request.url).encode()
        assert not [word for word in (b"person_77", b"bot-88", b"user-99", b"session_name") if word in sent]


LONG = "".join(f"Sentence {number} is about something else. " for number in range(1000))


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("setting", [{}, {"long_query": "split"}], ids=["default", "split"])
async def test_a_long_query_is_asked_in_pieces_where_a_call_costs_nothing(case, setting, pool):
    with service(case, recording(case.backend, case.good)) as calls:
        whole = await retrieve(context(case), pool)
        calls.clear()
        response = await retrieve(context(case, query=LONG, retrieval=setting), pool)
    asked = [request.content.decode() for request in calls if request.method == "POST"]
    assert len(asked) == (4 if BACKENDS[case.backend].resend else 1)
    assert sum("Sentence 0 is" in body for body in asked) == 1
    assert sum("Sentence 999 is" in body for body in asked) == len(asked) // 4
    assert sorted(seen(response)) == sorted(seen(whole))
    told = "asked in 4 pieces; " if len(asked) == 4 else "the query was cut to the 4000 characters"
    assert any(told in note for note in response.metadata["notes"])


@pytest.mark.parametrize("case", ALL)
async def test_a_long_query_is_cut_on_demand(case, pool):
    with service(case, recording(case.backend, case.good)) as calls:
        response = await retrieve(context(case, query=LONG, retrieval={"long_query": "cut"}), pool)
    assert len([request for request in calls if request.method == "POST"]) == 1
    assert any("query was cut" in note for note in response.metadata["notes"])


@pytest.mark.parametrize("case", ALL)
async def test_what_holds_for_every_piece_is_told_once(case, pool):
    told = copy.deepcopy(recording(case.backend, case.good))
    rows_of(told["response"])[1:1] = [None]
    with service(case, told):
        response = await retrieve(context(case, query=LONG), pool)
    assert len([note for note in response.metadata["notes"] if note.startswith("1 of")]) == 1


@pytest.mark.parametrize("case", ALL)
async def test_a_query_that_fits_is_asked_once_and_not_spoken_of(case, pool):
    query = ("Is it so? " * 1000)[: BACKENDS[case.backend].query_limit - 1].rstrip() + "x"
    with service(case, recording(case.backend, case.good)) as calls:
        response = await retrieve(context(case, query=query), pool)
    assert len([request for request in calls if request.method == "POST"]) == 1
    assert not [note for note in response.metadata.get("notes", ()) if "query" in note]


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (httpx.Response(401, json={}), AuthError),
        (httpx.Response(404, html="<!doctype html><title>404</title>"), NotFoundError),
        (httpx.Response(200, html="<!DOCTYPE html><html>login</html>"), ResponseError),
        (httpx.Response(200, content=b'{"records": [{"co'), ResponseError),
        (httpx.Response(200, content=b""), ResponseError),
        (httpx.Response(204), ResponseError),
        (httpx.Response(200, json=None), ResponseError),
        (httpx.Response(200, json=[]), ResponseError),
        (httpx.Response(200, json={"surprise": 1}), ResponseError),
        (httpx.Response(302, headers={"location": "https://user:pw@else.test/login?x=1"}), ResponseError),
        (httpx.Response(503, html="<html>busy</html>"), UnavailableError),
    ],
    ids=["401", "404", "login", "cut", "empty", "204", "null", "list", "shape", "redirect", "503"],
)
async def test_what_is_no_answer_is_an_error(case, reply, kind, pool, no_waiting):
    with service(case, reply), pytest.raises(kind) as failed:
        await retrieve(context(case), pool)
    told = str(failed.value)
    assert told.startswith(f"{failed.value.where}: ")
    assert len(told) < 300
    assert not [word for word in (KEY, "<html", "user:pw", "Traceback") if word in told]


@pytest.mark.parametrize("case", ALL)
async def test_a_service_that_echoes_secrets(case, pool, no_waiting, caplog):
    caplog.set_level(logging.DEBUG)
    query = "What does Ada Example's contract say about leave?"
    words = f"bad request from Bearer {KEY}: {query}"
    told = httpx.Response(422, json={"message": words, "error": words, "code": 422})
    with service(case, told), pytest.raises(BridgeError) as failed:
        await retrieve(context(case, query=query), pool)
    for text in (str(failed.value), repr(failed.value), caplog.text):
        assert KEY not in text
        assert "Ada Example" not in text


@pytest.mark.parametrize("case", ALL)
async def test_odd_records_are_left_out_one_by_one(case, pool):
    told = copy.deepcopy(recording(case.backend, case.good))
    rows = rows_of(told["response"])
    whole = len(rows)
    rows[1:1] = [None, 7, "text", [], {}]
    with service(case, told):
        response = await retrieve(context(case), pool)
    assert len(response.results) == whole
    assert any(note.startswith("5 of") for note in response.metadata["notes"])


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize(
    ("creation", "names"),
    [
        ({"api_base_url": "::"}, "api_base_url"),
        ({"api_base_url": "ftp://service.test"}, "api_base_url"),
        ({"api_base_url": "http://user:secret@service.test"}, "api_base_url"),
        ({"api_base_url": "http://service.test:99999"}, "api_base_url"),
        ({"api_key": "ключ"}, "api_key"),
        ({"api_key": "********"}, "api_key"),
        ({"verify_tls": "perhaps"}, "verify_tls"),
    ],
)
async def test_a_setting_that_cant_be_used_is_named(case, creation, names, pool):
    with (
        service(case, recording(case.backend, case.good)) as calls,
        pytest.raises(SettingsError, match=names) as failed,
    ):
        await retrieve(context(case, creation=creation), pool)
    assert len(calls) == 0
    assert not [value for value in creation.values() if value and str(value) in str(failed.value)]


def renamed(value, name):
    """An answer in which a field has a name that nobody knows."""
    if isinstance(value, dict):
        return {("surprise" if key == name else key): renamed(item, name) for key, item in value.items()}
    return [renamed(item, name) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", ALL)
async def test_records_without_a_passage_under_any_name_are_an_error(case, pool):
    told = copy.deepcopy(recording(case.backend, case.good))
    for path in case.passages:
        told["response"] = renamed(told["response"], path[-1])
    with service(case, told), pytest.raises(ResponseError, match=r"keys: |steps: "):
        await retrieve(context(case), pool)


@pytest.mark.parametrize("case", ALL)
async def test_null_is_an_empty_list(case, pool):
    told = copy.deepcopy(recording(case.backend, case.good))
    told["response"] = with_rows(told["response"], None)
    with service(case, told):
        assert (await retrieve(context(case), pool)).results == []


@pytest.mark.parametrize("case", ALL)
async def test_one_object_is_one_record(case, pool):
    told = copy.deepcopy(recording(case.backend, case.good))
    whole = rows_of(told["response"])
    told["response"] = with_rows(told["response"], whole[0])
    with service(case, told):
        assert len((await retrieve(context(case), pool)).results) == 1


@pytest.mark.parametrize("case", ALL)
async def test_a_filter_that_nothing_can_check_is_said(case, pool):
    told = copy.deepcopy(recording(case.backend, case.good))
    told["response"] = renamed(told["response"], "metadata")
    with (
        service(case, told),
        pytest.raises(SettingsError, match=r"filters: .*made_up_field"),
    ):
        await retrieve(context(case, filters={"made_up_field": "x"}), pool)
