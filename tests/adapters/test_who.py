"""Who answered: the service, another one, or something in front of it."""

import gc
import json
from pathlib import Path

import httpx
import pytest

from adapters import BACKENDS, BridgeError, load_backend, retrieve
from adapters.backend import Backend
from adapters.who import Forms, form, stranger
from adapters.words import code_in, words_in
from bridge.errors import AuthError, NotFoundError, ResponseError, UnavailableError
from bridge.http import Reply
from bridge.values import from_json
from tests.contract.cases import CASES, RECORDINGS, Case, case_of
from tests.contract.stand_in import answer, context, recording, service

ALL = [pytest.param(case, id=case.backend) for case in CASES]
STRICT = [case for case in CASES if not BACKENDS[case.backend].forms.loose]
PAGE = "<!DOCTYPE html><html><body>Sorry</body></html>"
RECORDED = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(RECORDINGS.glob("*/*.json"))]
OF_ANOTHER = {"fastgpt-wrong_base__html_404", "jinba-16_flow_502_html"}
"""Recorded pages of somebody else, whose status says enough."""
OF_ITS_FRAMEWORK = {"body_not_json", "body_text_plain_not_json"}
"""Recorded pages of the web framework under AnythingLLM, about a body that is never sent."""


def reply(told: httpx.Response) -> Reply:
    data, is_json = from_json(told.content)
    headers = {name.lower(): value for name, value in told.headers.items()}
    return Reply(told.status_code, headers, data, is_json, told.content, "/p", "", words_in, str)


def others(backend: str) -> dict[str, Forms]:
    return {kind.product: kind.forms for tag, kind in BACKENDS.items() if tag != backend}


@pytest.mark.parametrize("path", RECORDED)
def test_what_a_service_was_seen_to_say_is_its_own(path: Path):
    told = json.loads(path.read_text("utf-8"))
    kind = BACKENDS[path.parent.name]
    if (
        told["status"] and "dify_" not in path.stem and path.stem not in OF_ITS_FRAMEWORK
    ):  # RAGFlow's route of the external knowledge protocol
        assert stranger(reply(answer(told)), kind.product, kind.forms, others(path.parent.name)) is None


@pytest.mark.parametrize(
    ("told", "shape"),
    [
        (httpx.Response(401), "401 nothing; "),
        (httpx.Response(401, json={}), "401 nothing; "),
        (httpx.Response(404, text="404 page not found"), "404 words; "),
        (httpx.Response(403, html=f"\n {PAGE}", headers={"X-Version": "1", "Server": "x"}), "403 page; x-version"),
        (httpx.Response(500, json=["x"]), "500 list; "),
        (
            httpx.Response(400, json={"b": {"y": 1, "x": 2}, "a": None, "d": 1.5, "c": 102, "e": True, "f": "x"}),
            "400 a:null b:{x y} c:102 d:number e:true f:text; ",
        ),
    ],
)
def test_a_form_is_one_line(told, shape):
    assert form(reply(told)) == shape


async def failure(case: Case, told: httpx.Response, pool, **settings) -> BridgeError:
    with service(case, told), pytest.raises(BridgeError) as failed:
        await retrieve(context(case, **settings), pool)
    assert "<" not in str(failed.value)
    return failed.value


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("status", [400, 401, 402, 403, 405, 406, 413, 451])
async def test_a_page_is_never_a_refused_key_or_dataset(case, status, pool):
    error = await failure(case, httpx.Response(status, html=PAGE, headers={"Server": "cloudflare"}), pool)
    assert type(error) is ResponseError
    assert f"in front of {error.where.partition(' at ')[0]} (cloudflare)" in str(error)
    assert error.retry is None
    assert not error.answered


@pytest.mark.parametrize("case", STRICT, ids=lambda case: case.backend)
@pytest.mark.parametrize(
    "told",
    [{"message": "No API key found in request"}, {"error": "Access denied"}, {"detail": "Forbidden by rule 7"}],
)
async def test_json_of_a_gateway_is_none_of_the_services(case, told, pool):
    error = await failure(case, httpx.Response(403, json=told), pool)
    assert type(error) is ResponseError
    assert (
        f"in front of {BACKENDS[case.backend].product} refused the request (403: {next(iter(told.values()))})"
        in str(error)
    )


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize(
    "told",
    [
        httpx.Response(404, json={"error_msg": "404 Route Not Found"}),
        httpx.Response(404, json={"message": "no Route matched with those values"}),
        httpx.Response(404, text="404 page not found\n"),
        httpx.Response(404, text="default backend - 404"),
        httpx.Response(403, json={"message": "Missing Authentication Token"}),
        httpx.Response(404, json={"statusCode": 404, "message": "Resource not found"}),
        httpx.Response(404, json={"timestamp": "x", "path": "/x", "status": 404, "error": "Not Found"}),
        httpx.Response(404, json={"message": "Route POST:/x not found", "error": "Not Found", "statusCode": 404}),
        httpx.Response(404),
    ],
    ids=["apisix", "kong", "traefik", "ingress", "aws", "azure", "spring", "fastify", "nothing"],
)
async def test_a_path_that_nobody_serves_points_at_the_address_first(case, told, pool):
    error = await failure(case, told, pool)
    assert type(error) is NotFoundError
    assert "api_base_url" in error.remedy
    assert "flow_id" not in error.remedy.partition("api_base_url")[0]


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize(
    "words",
    [
        PAGE.replace("Sorry", "The plain HTTP request was sent to HTTPS port"),
        "Client sent an HTTP request to an HTTPS server.\n",
        "Bad Request\nThis combination of host and port requires TLS.\n",
        PAGE.replace("Sorry", "You're speaking plain HTTP to an SSL-enabled server port."),
    ],
    ids=["nginx", "Go", "Tomcat", "Apache"],
)
async def test_http_at_a_port_that_speaks_https(case, words, pool):
    error = await failure(case, httpx.Response(400, text=words), pool)
    assert type(error) is ResponseError
    assert error.remedy == "Enter api_base_url with https://"


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("body", ["", PAGE, "Authorization Required"], ids=["nothing", "page", "text"])
async def test_a_login_in_front_is_no_refused_key(case, body, pool):
    error = await failure(case, httpx.Response(401, text=body, headers={"WWW-Authenticate": 'Basic realm="x"'}), pool)
    assert type(error) is ResponseError
    assert "a user name and a password" in str(error)


async def test_a_server_that_asks_for_basic_in_its_own_words_refuses_the_key(pool):
    told = httpx.Response(401, json={"detail": "Not authenticated"}, headers={"WWW-Authenticate": "Basic"})
    assert "the API key was refused (401: Not authenticated)" in str(
        await failure(case_of("external_knowledge"), told, pool)
    )


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("status", [520, 521, 522, 523, 524, 530])
async def test_cloudflares_own_statuses_pass(case, status, pool, no_waiting):
    error = await failure(case, httpx.Response(status, html=PAGE), pool)
    assert type(error) is UnavailableError
    assert error.tries == (3 if BACKENDS[case.backend].resend else 1)


@pytest.mark.parametrize("status", [500, 501, 525, 526])
async def test_a_broken_front_is_not_asked_again(status, pool, no_waiting):
    error = await failure(case_of("ragflow"), httpx.Response(status, html=PAGE, headers={"Server": "nginx/1.2"}), pool)
    assert (type(error), error.tries) == (UnavailableError, 1)
    assert "something in front of RAGFlow (nginx) failed" in str(error)


ELSEWHERE = {
    "dify": httpx.Response(404, html=PAGE, headers={"X-Version": "1.14.2"}),
    "ragflow": httpx.Response(404, json={"code": 404, "data": None, "error": "Not Found", "message": "Not Found: /x"}),
    "fastgpt": httpx.Response(403, json={"code": 403, "statusText": "unAuthorization", "message": "x", "data": None}),
    "jinba": httpx.Response(200, json={"status": "failed", "error": {"name": "E", "value": "no"}, "stepOutputs": {}}),
    "external_knowledge": httpx.Response(403, json={"error_code": 1001, "error_msg": "Invalid header"}),
}


@pytest.mark.parametrize(
    ("asked", "there"),
    [pytest.param(a, b, id=f"{a.backend}-{b}") for a in CASES for b in ELSEWHERE if a.backend != b],
)
async def test_another_service_at_the_address_is_recognised(asked, there, pool):
    error = await failure(asked, ELSEWHERE[there], pool)
    assert f"this looks like {BACKENDS[there].product}" in str(error)


FOUND = {
    "dify": "v1.14.2__semantic",
    "ragflow": "retrieval_basic",
    "fastgpt": "v4.14.13__embedding",
    "jinba": "01_flow_sync_object",
}


@pytest.mark.parametrize("there", FOUND)
@pytest.mark.parametrize("case", ALL)
async def test_so_is_its_good_answer(case, there, pool):
    if case.backend not in (there, "jinba") and (case.backend, there) != ("external_knowledge", "dify"):
        error = await failure(case, answer(recording(there, FOUND[there])), pool)
        assert f"this looks like {BACKENDS[there].product}" in str(error)


async def test_a_service_that_comes_later_is_recognised_by_what_its_own_file_says(pool):
    class Later(Backend):
        product = "Later"
        forms = Forms(marks=" later:text;")

        async def search(self, question, http):
            raise NotImplementedError

    for case in CASES:
        assert "this looks like Later" in str(await failure(case, httpx.Response(418, json={"later": "x"}), pool))
    del Later
    gc.collect()


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        ({"detail": "Knowledge base not found"}, "", "Knowledge base not found"),
        ({"detail": {"error_code": 2001, "error_msg": "unknown"}}, "2001", "unknown"),
        ({"detail": {"message": "no", "code": "x"}, "message": "outer"}, "x", "no"),
        ({"detail": {"error": {"code": 7, "message": "deep"}}}, "7", "deep"),
        ({"detail": {"hint": 1}, "message": "outer", "code": 3}, "3", "outer"),
        ({"error": {"message": "bad", "type": "x"}}, "", "bad"),
        ({"detail": [{"loc": ["body", "user_id"], "msg": "Field required", "input": "secret"}]}, "", "user_id: Field required"),
        ({"detail": [{"loc": ["body", 0], "msg": "a"}, {"msg": "b"}, "c", {"msg": "never"}]}, "", "0: a; b; c"),
        ({"detail": []}, "", ""),
        ({"detail": [None, 7, {}]}, "", ""),
        ({"title": "Not Found", "detail": "ToolSet x"}, "", "ToolSet x"),
        ({"message": "", "error_msg": "said"}, "", "said"),
        ("text", "", ""),
        (None, "", ""),
    ],
)  # fmt: skip
def test_the_code_and_the_words_of_a_failure(data, code, words):
    assert (code_in(data), words_in(data)) == (code, words)


@pytest.mark.parametrize("case", ALL)
async def test_detail_is_read_everywhere(case, pool):
    for detail, says in (
        ("the index is away", "the index is away"),
        ({"code": "E7", "message": "the index is away"}, "the index is away"),
        ([{"loc": ["body", "user_id"], "msg": "Field required"}], "user_id: Field required"),
    ):
        assert says in str(await failure(case, httpx.Response(422, json={"detail": detail}), pool))


@pytest.mark.parametrize(
    ("backend", "error", "kind"),
    [
        ("dify", {"code": "unauthorized", "message": "Access token is invalid", "status": 401}, AuthError),
        ("dify", {"code": "not_found", "message": "Dataset not found.", "status": 404}, NotFoundError),
        ("ragflow", {"code": 109, "message": "API key is invalid!"}, AuthError),
        ("fastgpt", {"code": 514, "statusText": "unAuthApiKey", "message": "x"}, AuthError),
        ("jinba", {"error": {"name": "AuthError", "message": "x"}}, AuthError),
        ("external_knowledge", {"error_code": 1002, "error_msg": "x"}, AuthError),
    ],
)
async def test_an_error_inside_detail_counts_by_its_code(backend, error, kind, pool):
    told = httpx.Response(404 if kind is NotFoundError else 401, json={"detail": error})
    assert type(await failure(case_of(backend), told, pool)) is kind


def test_a_front_is_named_after_what_it_calls_itself_and_never_with_a_secret():
    case = case_of("dify")
    made = load_backend(context(case).creation_settings, {})
    for headers, name in (
        ({"Server": "nginx/1.27.0"}, " (nginx)"),
        ({"Via": "1.1 proxy.corp:3128 (squid/6.13)"}, " (squid)"),
        ({"Server": "<script>"}, ""),
        ({}, ""),
    ):
        error = made.failure(reply(httpx.Response(403, html=PAGE, headers=headers)))
        assert error
        assert error.happened.startswith(f"something in front of Dify{name} refused the request (")
