"""What FastGPT is sent, and what its answers become."""

import math

import pytest

from adapters import load_backend, retrieve
from bridge.errors import AuthError, NotFoundError, RateLimitedError, ResponseError, SettingsError, UnavailableError
from tests.adapters.asking import ask, sent
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording, searches, service

CASE = case_of("fastgpt")
ID, OTHER = CASE.creation["dataset_id"], "64a0000000000000000000f1"
PLAIN = {
    "datasetId": ID,
    "text": "How long do refunds take?",
    "limit": 5000,
    "similarity": 0,
    "usingReRank": False,
    "datasetSearchUsingExtensionQuery": False,
    "searchMode": "embedding",
}


def answer(*items, **rest):
    return {"code": 200, "statusText": "", "message": "", "data": {"list": list(items), "usingReRank": True, **rest}}


def item(ident="f", q="q text", a="", **scores):
    return {
        "id": ident,
        "q": q,
        "a": a,
        "sourceName": "faq.csv",
        "score": [{"type": kind, "value": value, "index": 0} for kind, value in scores.items()],
    }


@pytest.mark.parametrize(
    ("retrieval", "changed"),
    [
        ({}, {}),
        ({"top_k": 3}, {}),
        ({"token_limit": "800"}, {"limit": 800}),
        ({"score_threshold": 0.4}, {"similarity": 0.4}),
        ({"search_mode": "full_text"}, {"searchMode": "fullTextRecall"}),
        ({"search_mode": "hybrid"}, {"searchMode": "mixedRecall"}),
        ({"search_mode": "hybrid", "vector_weight": 0.7}, {"searchMode": "mixedRecall", "embeddingWeight": 0.7}),
        ({"search_mode": "auto", "vector_weight": 0}, {"searchMode": "mixedRecall", "embeddingWeight": 0}),
        ({"rerank": True}, {"usingReRank": True}),
        ({"rerank": True, "rerank_model": "m"}, {"usingReRank": True, "rerankModel": "m"}),
        ({"rerank_model": "m"}, {}),
        ({"expand_query": True}, {"datasetSearchUsingExtensionQuery": True}),
    ],
)
async def test_settings_in_fastgpts_words(retrieval, changed, pool):
    assert await sent(CASE, "v4.14.13__embedding", pool, retrieval=retrieval) == {**PLAIN, **changed}


async def test_auto_leaves_the_mode_to_the_service(pool):
    assert "searchMode" not in await sent(CASE, "v4.14.13__embedding", pool, retrieval={"search_mode": "auto"})


async def test_nothing_is_sent_as_null(pool):
    assert None not in (await sent(CASE, "v4.14.13__embedding", pool)).values()


@pytest.mark.parametrize(
    ("data", "scores"),
    [
        ([{"id": "a", "q": "x", "score": 0.7}], [0.7]),
        ({"list": [{"id": "a", "q": "x", "score": 0.7}], "duration": "1s"}, [0.7]),
        ({"list": [item(embedding=0.6)]}, [0.6]),
        ({"list": [item(embedding=0.6) | {"score": None}]}, [None]),
        ({"list": [item(embedding=0.6) | {"score": []}]}, [None]),
        ({"list": [item(rrf=0.03)]}, [None]),
        ({"list": [item(embedding=1.32)]}, [1.0]),
        ({"list": []}, []),
    ],
)
async def test_every_envelope_and_shape_of_score(data, scores, pool):
    response, _ = await ask(CASE, {"code": 200, "data": data}, pool)
    assert [entry.score for entry in response.results] == scores


async def test_one_measure_for_the_whole_list_in_the_services_order(pool):
    items = [
        item("a", q="1", reRank=0.99, rrf=0.02, embedding=0.4),
        item("b", q="2", reRank=0.16),
        item("c", q="3", reRank=0.57),
    ]
    response, _ = await ask(CASE, answer(*items), pool)
    assert [(e.id, e.score, e.metadata["measure"]) for e in response.results] == [
        ("a", 0.99, "rerank"),
        ("b", 0.16, "rerank"),
        ("c", 0.57, "rerank"),
    ]
    assert response.results[0].metadata["scores"] == {"reRank": 0.99, "rrf": 0.02, "embedding": 0.4}


async def test_rerank_scores_dont_count_where_the_service_did_without(pool):
    response, _ = await ask(
        CASE, answer(item(reRank=0.9, embedding=0.4), usingReRank=False), pool, retrieval={"rerank": True}
    )
    assert response.results[0].score == 0.4
    assert "without the reranker" in response.metadata["notes"][0]


async def test_logits_go_through_the_logistic_function_for_the_whole_list(pool):
    response, _ = await ask(CASE, answer(item("a", q="1", reRank=4.0), item("b", q="2", reRank=0.5)), pool)
    assert [e.score for e in response.results] == [
        pytest.approx(1 / (1 + math.exp(-4))),
        pytest.approx(1 / (1 + math.exp(-0.5))),
    ]


async def test_text_scores_are_bounded_in_their_order(pool):
    response, _ = await ask(CASE, answer(item("a", q="1", fullText=3.0), item("b", q="2", fullText=0.25)), pool)
    assert [e.score for e in response.results] == [0.75, 0.2]
    assert {e.metadata["measure"] for e in response.results} == {"text_rank"}


async def test_a_hit_without_the_measure_takes_its_smaller_neighbours(pool):
    items = [
        item("a", q="1", fullText=1),
        item("b", q="2", embedding=0.8),
        item("c", q="3", fullText=1),
        item("d", q="4", embedding=0.5),
    ]
    items.append(item("e", q="5", fullText=2))
    response, _ = await ask(CASE, answer(*items), pool)
    assert [(e.score, e.metadata["measure"]) for e in response.results] == [
        (0.8, "estimated"),
        (0.8, "similarity"),
        (0.5, "estimated"),
        (0.5, "similarity"),
        (0.0, "estimated"),
    ]


async def test_the_threshold_is_applied_here_where_the_service_ignores_it(pool):
    items = [item("a", q="1", embedding=0.8, rrf=0.1), item("b", q="2", embedding=0.2, rrf=0.05)]
    retrieval = {"search_mode": "hybrid", "score_threshold": 0.5}
    response, _ = await ask(CASE, answer(*items), pool, retrieval=retrieval)
    assert [e.id for e in response.results] == ["a"]


def ordered_lists():
    return [name for name in searches(CASE) if isinstance(recording("fastgpt", name)["response"], dict)]


@pytest.mark.parametrize("name", ordered_lists())
async def test_recorded_lists_keep_their_order(name, pool):
    told = recording("fastgpt", name)
    data = told["response"].get("data")
    rows = data.get("list") if isinstance(data, dict) else data
    if told["status"] != 200 or not isinstance(rows, list):
        return
    response, _ = await ask(CASE, name, pool)
    assert [entry.id for entry in response.results] == [row["id"] for row in rows if row["q"] or row.get("a")][:100]


@pytest.mark.parametrize(
    ("q", "a", "text"),
    [("q", "a", "q\na"), ("q", "", "q"), ("q", None, "q"), ("", "a", "a")],
)
async def test_question_and_answer_are_joined(q, a, text, pool):
    response, _ = await ask(CASE, answer(item(q=q, a=a, embedding=0.5)), pool)
    assert response.results[0].content[0].text == text


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("![a](/api/system/img/x.png)", "![a](http://service.test/api/system/img/x.png)"),
        ("![](https://x.test/a.png) ![b](//x.test/b.png)", "![](https://x.test/a.png) ![b](//x.test/b.png)"),
        ("![a](data:image/png;base64,AAAA) call /api/core", "![a](data:image/png;base64,AAAA) call /api/core"),
        ('<td><img src="/api/system/img/x.png"/>', '<td><img src="http://service.test/api/system/img/x.png"/>'),
        ('<a href="/api/common/file/read/x">x</a>', '<a href="http://service.test/api/common/file/read/x">x</a>'),
        ("[a link](/imgs/x.png)", "[a link](http://service.test/imgs/x.png)"),
        ("[another page](/docs/x)", "[another page](/docs/x)"),
    ],
)
async def test_links_of_the_server_become_absolute(given, made, pool):
    response, _ = await ask(CASE, answer(item(q=given, embedding=0.5)), pool)
    assert response.results[0].content[0].text == made


async def test_a_pictures_own_link_becomes_absolute_too(pool):
    found = item(embedding=0.5) | {"imagePreivewUrl": "/kb/api/system/img/x.png"}
    response, _ = await ask(CASE, answer(found), pool, creation={"api_base_url": "http://service.test/kb/api"})
    assert response.results[0].metadata["image_url"] == "http://service.test/kb/api/system/img/x.png"


async def test_filters_are_checked_here_or_refused(pool):
    items = [item("a", q="1", embedding=0.9), item("b", q="2", embedding=0.8) | {"sourceName": "other.md"}]
    response, _ = await ask(CASE, answer(*items), pool, filters={"document_name": "other.md"})
    assert [e.id for e in response.results] == ["b"]
    with pytest.raises(SettingsError, match="FastGPT neither filters nor returns tag"):
        await ask(CASE, answer(*items), pool, filters={"tag": "internal"})
    response, _ = await ask(CASE, answer(), pool, filters={"tag": "internal"})
    assert response.results == []


async def test_several_datasets_are_asked_side_by_side(pool):
    response, came = await ask(CASE, answer(item(embedding=0.5)), pool, creation={"dataset_id": f"{ID}\n{OTHER}"})
    assert len(came) == 2
    assert len(response.results) == 1


@pytest.mark.parametrize("wrong", ["handbook", "1d5a00bded1a11f1a000020000000001", "66a1b2c3d4e5f60718293a0"])
async def test_a_dataset_id_that_is_none(wrong, pool):
    with pytest.raises(SettingsError, match="dataset_id"):
        await ask(CASE, answer(), pool, creation={"dataset_id": wrong})


@pytest.mark.parametrize(
    ("name", "kind", "says", "requests"),
    [
        ("v4.14.13__err_bad_key", AuthError, "API key", 1),
        ("v4.8.17__err_no_auth", AuthError, "API key", 1),
        ("v4.12.1-fix__err_member_without_rights", AuthError, "may not read", 1),
        ("v4.14.8__err_unknown_dataset", NotFoundError, "dataset_id", 1),
        ("v4.9.0__err_bad_dataset_id", NotFoundError, "dataset_id", 1),
        ("v4.14.13__err_bad_dataset_id", ResponseError, "dataset_id", 1),
        ("v4.14.8__err_ip_limit", RateLimitedError, "Wait a second", 3),
        ("v2026main__err_team_rate_limit", RateLimitedError, "Wait 60 s", 1),
        ("v4.12.1-fix__err_points", UnavailableError, "points", 1),
        ("v4.14.13__err_embedding_429", UnavailableError, "embedding", 2),
        ("wrong_base__html_404", NotFoundError, "api_base_url", 1),
    ],
)
async def test_errors_say_what_to_do_and_only_passing_ones_are_repeated(name, kind, says, requests, pool, no_waiting):
    with service(CASE, recording("fastgpt", name)) as came, pytest.raises(kind, match=says) as failed:
        await retrieve(context(CASE), pool)
    assert len(came) == requests
    assert "code_error" not in str(failed.value)


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("http://h.test:3000", "http://h.test:3000"),
        ("https://api.fastgpt.in/api", "https://api.fastgpt.in"),
        ("https://cloud.fastgpt.cn/api/v1/chat/completions", "https://cloud.fastgpt.cn"),
        ("http://h.test/fastgpt/api/core/dataset/searchTest", "http://h.test/fastgpt"),
        ("http://h.test/dataset/detail?datasetId=66a1b2c3d4e5f60718293a01", "http://h.test"),
        ("http://h.test/dataset", "http://h.test"),
        ("http://h.test/dataset/fastgpt", "http://h.test/dataset/fastgpt"),
        ("http://h.test/dataset/fastgpt/api", "http://h.test/dataset/fastgpt"),
        ("http://h.test/api/core/fastgpt", "http://h.test/api/core/fastgpt"),
    ],
)
def test_addresses_as_people_paste_them(pasted, meant):
    assert load_backend({**context(CASE).creation_settings, "api_base_url": pasted}, {}).api_base_url == meant
