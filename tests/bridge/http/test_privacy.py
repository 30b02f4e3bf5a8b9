"""What a service says, made fit to show."""

import json

import pytest

from tests.bridge.http.plain import KEY, failure
from tests.service import reply


async def test_remote_words_are_made_fit_to_show(service, pool):
    said = f"<b>bad</b>\x00 key {KEY[4:]} for\n\n'secret question of Ada'" + "x" * 500
    service.answers = [reply(400, {"message": said})]
    error = await failure(service, pool, "secret question of Ada")
    assert "(400: bad key…)" in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "<!DOCTYPE html><p>secret question of Ada",
        "Traceback (most recent call last): File x",
        "für secret question of Ada",
    ],
)
async def test_remote_pages_and_tracebacks_are_not_shown(said, service, pool):
    service.answers = [reply(400, {"message": said})]
    told = str(await failure(service, pool, "secret question of Ada"))
    assert not [word for word in ("Ada", "<", "Traceback", "File") if word in told]


async def test_a_question_escaped_by_the_service_is_not_shown(service, pool):
    query = "Какой адрес у Ады?"
    for said in (json.dumps({"q": query}), repr(query), query.upper()):
        service.answers = [reply(400, {"message": f"bad: {said}"})]
        told = str(await failure(service, pool, query))
        assert "Ады" not in told
        assert "\\u0410\\u0434" not in told
