"""What others say, made fit to show: no key, no query, and the reason still there."""

import html
import json
from urllib.parse import quote

import pytest

from bridge.http.privacy import Privacy
from tests.bridge.http.plain import KEY, failure
from tests.service import reply

LONG = 'Does Ada\'s contract <b>no 7</b> say "ten days" & more?'


@pytest.mark.parametrize(
    ("key", "asked", "said", "shown"),
    [
        ("", "ok", "The embedding model takes at most 512 tokens", "The embedding model takes at most 512 tokens"),
        ("", "ok", "'OK' was refused: too short", "'…' was refused: too short"),
        ("", "model", "The embedding model is missing", "The embedding … is missing"),
        ("", "refund", "refunds are not indexed", "refunds are not indexed"),
        ("", "退款", "查询退款失败", "查询退款失败"),
        ("", "how do refunds", "no hit for how do refunds: index is away", "no hit for …: index is away"),
        ("", "how do refunds work", "cut at 'how do refunds wo'; too long", "cut at '…'; too long"),
        ("", "how do refunds work", "how do I set it up", "how do I set it up"),
        ("ragflow-AbCdEfGh0123", "", "ragflow-server is starting", "ragflow-server is starting"),
        ("dataset-AbCdEfGh0123", "", "use a dataset-... key", "use a dataset-... key"),
        ("fastgpt-AbCdEfGh0123", "", "fastgpt-pg is away", "fastgpt-pg is away"),
        ("sk-AbCdEfGh0123", "", "key sk-abcdefgh0123 expired", "key sk-… expired"),
        ("AbCdEfGh0123", "", "key AbCdEfGh… expired", "key …… expired"),
        ("short", "", "the shortest key", "the shortest key"),
        ("short", "", "key short is unknown", "key … is unknown"),
        ("AbCdEfGh0123", "how do refunds", "AbCdEfGh0123 asked how do refunds twice", "… asked … twice"),
    ],
)
def test_an_echo_goes_and_the_reason_stays(key, asked, said, shown):
    assert Privacy(key, asked).quote(said) == shown


@pytest.mark.parametrize(
    "written",
    [LONG, html.escape(LONG), quote(LONG), json.dumps(LONG), repr(LONG), json.dumps(json.dumps(LONG)), LONG.upper()],
)
def test_however_the_query_is_written(written):
    shown = Privacy("", LONG).quote(f"the search for {written} failed: index is away")
    assert shown.startswith("the search for ")
    assert shown.endswith("failed: index is away")
    assert not [part for part in (LONG[i : i + 12].lower() for i in range(len(LONG) - 11)) if part in shown.lower()]
    assert not [word for word in ("contract", "no 7", "annex") if word in shown.lower()]


@pytest.mark.parametrize(
    ("own_query", "said", "shown"),
    [
        ("code=Zm9vYmFyLXNlY3JldA==", "POST /retrieval?code=Zm9vYmFyLXNlY3JldA== failed", "POST /retrieval?… failed"),
        ("code=Zm9vYmFyLXNlY3JldA==", "bad code Zm9vYmFyLXNlY3JldA", "bad code …"),
        ("t=7", "POST /find?t=7 failed after 7 s", "POST /find?… failed after 7 s"),
    ],
)
def test_the_addresss_own_query_is_a_secret_too(own_query, said, shown):
    assert Privacy("", "", own_query).quote(said) == shown


async def test_remote_words_are_made_fit_to_show(service, pool):
    said = f"<b>bad</b>\x00 key {KEY[6:]} for\n\n'secret question of Ada' " + "x" * 500
    service.answers = [reply(400, {"message": said})]
    error = await failure(service, pool, "secret question of Ada")
    assert "(400: bad key … for '…' xxx" in str(error)


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
