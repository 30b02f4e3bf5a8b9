"""What Dify is sent, and what its answers become."""

import asyncio
import copy
from typing import Any

import httpx
import pytest

from adapters import Pool, retrieve
from bridge.errors import BridgeError, NotFoundError, ResponseError, SettingsError, UnavailableError
from tests.contract.cases import CASES
from tests.contract.stand_in import answer, context, recording, service
from tests.service import reply

[CASE] = [case for case in CASES if case.backend == "dify"]
ID, OTHER = CASE.creation["dataset_id"], "00000000-0000-4000-8000-0000000000ff"
NO_MODEL = {"reranking_provider_name": "", "reranking_model_name": ""}
MODEL = {"reranking_provider_name": "made/up/provider", "reranking_model_name": "rerank-1"}
WEIGHTS = {
    "weight_type": "customized",
    "vector_setting": {"vector_weight": 0.6, "embedding_provider_name": "e/p", "embedding_model_name": "e"},
    "keyword_setting": {"keyword_weight": 0.4},
}
SAVED = {
    "search_method": "semantic_search",
    "reranking_enable": False,
    "reranking_mode": None,
    "reranking_model": NO_MODEL,
    "weights": None,
    "top_k": 2,
    "score_threshold_enabled": False,
    "score_threshold": None,
}
DATASET = recording("dify", "v1.14.2__get-dataset-vectors")["response"]


async def sent(service, pool, saved: dict[str, Any] | None = None, *, filters=None, dataset=None, **retrieval) -> Any:
    """The retrieval_model of the one search that this made, with a dataset of these saved settings."""
    details = {**DATASET, "retrieval_model_dict": {**SAVED, **(saved or {})}, **(dataset or {})}
    service.looked_up = reply(body=details, headers={"X-Version": "1.14.2"})
    service.answers = [reply(body={"records": []})]
    made = context(CASE, retrieval={"top_k": 5, "search_mode": "auto", **retrieval}, filters=filters or {})
    made.creation_settings["api_base_url"] = service.base
    await retrieve(made, pool)
    [post] = service.posts
    assert post.path == f"/v1/datasets/{ID}/retrieve"
    assert post.json["query"] == "How long do refunds take?"
    assert set(post.json) == {"query", "retrieval_model"}
    return post.json["retrieval_model"]


async def test_auto_sends_the_datasets_own_settings_back_with_our_top_k(service, pool):
    saved = {"search_method": "full_text_search", "reranking_enable": True, "reranking_model": MODEL}
    saved |= {"reranking_mode": "reranking_model", "score_threshold_enabled": True, "score_threshold": 0.4}
    assert await sent(service, pool, saved) == {**SAVED, **saved, "top_k": 5}


async def test_auto_turns_nulls_into_false(service, pool):
    saved = {"reranking_enable": None, "score_threshold_enabled": None, "reranking_model": None}
    assert await sent(service, pool, saved) == {**SAVED, "top_k": 5}


async def test_auto_searches_an_economy_dataset_by_keyword(service, pool):
    assert await sent(service, pool, {"search_method": "keyword_search"}) == {
        **SAVED,
        "search_method": "keyword_search",
        "top_k": 5,
    }


async def test_our_threshold_replaces_the_saved_one(service, pool):
    model = await sent(service, pool, {"score_threshold_enabled": True, "score_threshold": 0.9}, score_threshold="0.3")
    assert (model["score_threshold_enabled"], model["score_threshold"]) == (True, 0.3)


@pytest.mark.parametrize(
    ("mode", "method"),
    [("semantic", "semantic_search"), ("full_text", "full_text_search"), ("keyword", "keyword_search")],
)
async def test_an_explicit_mode_needs_no_look_at_the_dataset(mode, method, service, pool):
    saved = {"reranking_enable": True, "reranking_model": MODEL, "score_threshold_enabled": True, "score_threshold": 1}
    assert await sent(service, pool, saved, search_mode=mode) == {**SAVED, "search_method": method, "top_k": 5}
    assert len(service.requests) == 1


async def test_hybrid_keeps_the_saved_weights(service, pool):
    saved = {"search_method": "hybrid_search", "reranking_mode": "weighted_score", "weights": WEIGHTS}
    model = await sent(service, pool, saved, search_mode="hybrid")
    assert model == {**SAVED, **saved, "top_k": 5}


async def test_hybrid_is_never_sent_without_a_fusion(service, pool):
    model = await sent(service, pool, search_mode="hybrid", dataset={"embedding_model": "e"})
    assert model["reranking_mode"] == "weighted_score"
    assert model["weights"]["vector_setting"]["embedding_model_name"] == "e"
    assert model["weights"]["vector_setting"]["vector_weight"] + model["weights"]["keyword_setting"][
        "keyword_weight"
    ] == pytest.approx(1)


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
async def test_vector_weight_gives_a_weighted_hybrid(mode, service, pool):
    found = {"embedding_model": "e", "embedding_model_provider": "e/p"}
    model = await sent(service, pool, search_mode=mode, vector_weight="0.6", dataset=found)
    assert model == {
        **SAVED,
        "search_method": "hybrid_search",
        "reranking_mode": "weighted_score",
        "weights": WEIGHTS,
        "top_k": 5,
    }


@pytest.mark.parametrize("mode", ["auto", "semantic", "full_text", "hybrid"])
async def test_rerank_uses_the_saved_model(mode, service, pool):
    model = await sent(service, pool, {"reranking_model": MODEL}, search_mode=mode, rerank=True)
    assert (model["reranking_enable"], model["reranking_mode"]) == (True, "reranking_model")
    assert (model["reranking_model"], model["weights"]) == (MODEL, None)


async def test_rerank_model_overrides_the_saved_one(service, pool):
    model = await sent(service, pool, search_mode="semantic", rerank=True, rerank_model="made/up/provider/rerank-1")
    assert model["reranking_model"] == MODEL
    assert len(service.requests) == 1


async def test_rerank_keeps_saved_weights_where_no_model_is_saved(service, pool):
    saved = {"search_method": "hybrid_search", "reranking_mode": "weighted_score", "weights": WEIGHTS}
    assert (await sent(service, pool, saved, search_mode="hybrid", rerank=True))["weights"] == WEIGHTS


@pytest.mark.parametrize(
    "retrieval", [{}, {"rerank_model": "no-slash"}, {"rerank_model": "/x"}, {"rerank_model": "x/"}]
)
async def test_rerank_without_a_model_is_refused(retrieval, service, pool):
    with pytest.raises(SettingsError, match="rerank"):
        await sent(service, pool, rerank=True, **retrieval)
    assert not service.posts


async def test_rerank_of_keyword_hits_is_refused(service, pool):
    with pytest.raises(SettingsError, match="rerank"):
        await sent(service, pool, rerank=True, rerank_model="a/b", search_mode="keyword")


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ({"a": "x"}, ("is", "x")),
        ({"a": {"$ne": "x"}}, ("is not", "x")),
        ({"a": 3}, ("=", 3)),
        ({"a": {"$ne": 3}}, ("≠", 3)),
        ({"a": {"$gt": 3}}, (">", 3)),
        ({"a": {"$gte": 3}}, ("≥", 3)),
        ({"a": {"$lt": 3}}, ("<", 3)),
        ({"a": {"$lte": 3}}, ("≤", 3)),
        ({"a": {"$in": ["x", "y"]}}, ("in", ["x", "y"])),
        ({"a": {"$nin": ["x"]}}, ("not in", ["x"])),
        ({"a": True}, ("is", "true")),
    ],
)
async def test_filters_go_into_the_retrieval_model(where, condition, service, pool):
    model = await sent(service, pool, filters=where)
    assert model["metadata_filtering_conditions"] == {
        "logical_operator": "and",
        "conditions": [{"name": "a", "comparison_operator": condition[0], "value": condition[1]}],
    }


async def test_any_of_several_conditions(service, pool):
    model = await sent(service, pool, filters={"$or": [{"a": 1}, {"b": 2}]})
    assert model["metadata_filtering_conditions"]["logical_operator"] == "or"


async def test_without_filters_there_are_no_conditions(service, pool):
    assert "metadata_filtering_conditions" not in await sent(service, pool)


async def test_hits_that_contradict_the_filters_are_dropped(pool):
    """1.13.3 drops the conditions and returns everything."""
    told = recording("dify", "v1.13.3__filter-string-is")
    with service(CASE, told):
        whole = await retrieve(context(CASE), pool)
        found = await retrieve(context(CASE, filters={"category": "policy"}), pool)
    categories = [entry.metadata["document_metadata"].get("category") for entry in whole.results]
    assert len(set(categories)) > 1
    assert [e.metadata["document_metadata"]["category"] for e in found.results] == ["policy"] * categories.count(
        "policy"
    )
    assert any("did not match the filters" in note for note in found.metadata["notes"])


async def test_an_external_dataset_is_refused(pool, service):
    with pytest.raises(SettingsError, match="external_knowledge"):
        await sent(service, pool, dataset={"provider": "external"})
    assert not service.posts


@pytest.fixture
async def looked_up(service):
    """How often the dataset was asked for, and a way to search at any time of a clock that is handed in."""
    service.looked_up, service.answers = reply(body=DATASET), [reply(body={"records": []})]
    now = [1000.0]

    class Asking:
        def __init__(self, pool: Pool) -> None:
            self.pool = pool

        @property
        def times(self) -> int:
            return sum(request.method == "GET" for request in service.requests)

        @property
        def method(self) -> str:
            return service.posts[-1].json["retrieval_model"]["search_method"]

        async def ask(self, key: str = "dataset-a", later: float = 0.0) -> None:
            now[0] += later
            creation = {"api_base_url": service.base, "api_key": key}
            await retrieve(context(CASE, retrieval={"search_mode": "auto"}, creation=creation), self.pool)

        async def settled(self) -> None:
            for _ in range(200):
                if not self.pool.beside._running:
                    return
                await asyncio.sleep(0.01)

    async with Pool(lambda: now[0]) as pool:
        yield Asking(pool)


async def test_the_dataset_is_looked_up_before_the_first_search_of_a_key(looked_up):
    await looked_up.ask("dataset-a")
    await looked_up.ask("dataset-a", later=59)
    assert looked_up.times == 1
    await looked_up.ask("dataset-b")
    assert looked_up.times == 2


async def test_after_a_minute_the_dataset_is_looked_up_beside_a_search_for_the_next(looked_up, service):
    await looked_up.ask()
    first = looked_up.method
    saved = {**DATASET["retrieval_model_dict"], "search_method": "full_text_search"}
    arrived, gate = asyncio.Event(), asyncio.Event()

    async def slow(request, writer):
        arrived.set()
        await gate.wait()
        return await reply(body={**DATASET, "retrieval_model_dict": saved})(request, writer)

    service.looked_up = slow
    await looked_up.ask(later=300)
    assert looked_up.method == first
    await asyncio.wait_for(arrived.wait(), 5)
    await looked_up.ask()
    gate.set()
    await looked_up.settled()
    assert looked_up.times == 2
    await looked_up.ask()
    assert (looked_up.method, looked_up.times) == ("full_text_search", 2)


async def test_after_a_day_the_dataset_is_looked_up_first(looked_up, service):
    await looked_up.ask()
    service.looked_up = reply(body={**DATASET, "retrieval_model_dict": {"search_method": "full_text_search"}})
    await looked_up.ask(later=86_401)
    assert looked_up.method == "full_text_search"


async def test_after_a_failure_that_new_settings_can_explain_the_dataset_is_looked_up_first(looked_up, service):
    await looked_up.ask()
    service.answers = [reply(400, {"code": "provider_not_initialize", "message": "No model"})]
    with pytest.raises(BridgeError):
        await looked_up.ask()
    service.looked_up = reply(body={**DATASET, "retrieval_model_dict": {"search_method": "full_text_search"}})
    service.answers = [reply(body={"records": []})]
    service.turn = 0
    await looked_up.ask()
    assert (looked_up.method, looked_up.times) == ("full_text_search", 2)


async def test_a_look_up_beside_a_search_that_fails_changes_nothing(looked_up, service):
    await looked_up.ask()
    service.looked_up = reply(500, {"code": "x", "message": "x"})
    for _ in range(2):
        await looked_up.ask(later=61)
        await looked_up.settled()
    assert looked_up.method == DATASET["retrieval_model_dict"]["search_method"]


async def test_the_dataset_is_kept_by_no_failure(service, pool, no_waiting):
    service.looked_up = reply(401, {"code": "unauthorized", "message": "Access token is invalid"})
    for _ in range(2):
        made = context(CASE, retrieval={"search_mode": "auto"}, creation={"api_base_url": service.base})
        with pytest.raises(BridgeError):
            await retrieve(made, pool)
    assert len(service.requests) == 2


async def test_several_datasets_are_searched_side_by_side(service, pool):
    def records(*scores):
        template = recording("dify", "v1.14.2__semantic")["response"]["records"][0]
        made = []
        for score in scores:
            record = copy.deepcopy(template)
            record["score"], record["segment"]["id"], record["segment"]["content"] = score, str(score), f"text {score}"
            made.append(record)
        return {"records": made}

    async def by_dataset(request, writer):
        scores = (0.9, 0.3) if ID in request.path else (0.7, 0.5)
        await reply(body=records(*scores))(request, writer)

    service.answers = [by_dataset]
    made = context(CASE, creation={"api_base_url": service.base, "dataset_id": f"{ID},{OTHER}"}, retrieval={"top_k": 3})
    found = await retrieve(made, pool)
    assert [entry.score for entry in found.results] == [0.9, 0.7, 0.5]
    assert [entry.metadata["dataset_id"] for entry in found.results] == [ID, OTHER, OTHER]


async def test_one_refused_dataset_fails_the_call_and_is_named(service, pool):
    async def by_dataset(request, writer):
        good = reply(body={"records": []})
        bad = reply(404, {"code": "not_found", "message": "Dataset not found.", "status": 404})
        await (good if ID in request.path else bad)(request, writer)

    service.answers = [by_dataset]
    made = context(CASE, creation={"api_base_url": service.base, "dataset_id": f"{ID},{OTHER}"})
    with pytest.raises(NotFoundError, match=f"dataset {OTHER}"):
        await retrieve(made, pool)


async def entries(name: str, pool: Pool, **retrieval: Any) -> Any:
    with service(CASE, recording("dify", name)):
        return (await retrieve(context(CASE, retrieval=retrieval), pool)).results


async def test_questions_carry_their_answers(pool):
    [first, *_] = await entries("v1.14.2__qa", pool)
    record = recording("dify", "v1.14.2__qa")["response"]["records"][0]["segment"]
    assert first.content[0].text == f"{record['content']}\n{record['answer']}"
    assert first.metadata["answer"] == record["answer"]


async def test_parents_carry_their_children(pool):
    [first, *_] = await entries("v1.14.2__parent-child", pool)
    record = recording("dify", "v1.14.2__parent-child")["response"]["records"][0]
    assert first.content[0].text == record["segment"]["content"]
    assert first.metadata["child_chunks"] == record["child_chunks"]


async def test_summaries_and_files_stay_in_the_metadata(pool):
    summary = recording("dify", "v1.14.2__summary-hit")["response"]["records"][0]["summary"]
    files = recording("dify", "v1.14.2__files-hit")["response"]["records"][0]["files"]
    assert (await entries("v1.14.2__summary-hit", pool))[0].metadata["summary"] == summary
    assert (await entries("v1.14.2__files-hit", pool))[0].metadata["files"] == files


@pytest.mark.parametrize("name", ["v1.9.2__keyword-economy", "v1.14.2__keyword-economy"])
async def test_keyword_hits_are_unscored(name, pool):
    found = await entries(name, pool, search_mode="keyword")
    assert len(found) >= 1
    assert {(entry.score, entry.distance) for entry in found} == {(None, 1.0)}
    assert all("measure" not in entry.metadata for entry in found)


@pytest.mark.parametrize(
    ("retrieval", "measure"),
    [
        ({"search_mode": "semantic"}, "similarity"),
        ({"search_mode": "full_text"}, "text_rank"),
        ({"search_mode": "hybrid"}, "similarity"),
        ({"search_mode": "semantic", "rerank": True, "rerank_model": "a/b"}, "rerank"),
    ],
)
async def test_the_kind_of_measure_is_told(retrieval, measure, pool):
    assert {entry.metadata["measure"] for entry in await entries("v1.14.2__semantic", pool, **retrieval)} == {measure}


async def test_a_full_text_list_without_ranks_is_unscored(pool):
    told = recording("dify", "v1.14.2__full-text")
    for record in told["response"]["records"]:
        record["score"] = 0.0
    with service(CASE, told):
        found = await retrieve(context(CASE, retrieval={"search_mode": "full_text"}), pool)
    assert {entry.score for entry in found.results} == {None}


async def test_logits_are_clamped_and_kept(pool):
    found = await entries("v1.14.2__semantic-reranked-logits", pool)
    assert found[0].score == 1.0
    assert found[0].metadata["raw_score"] > 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("v1.14.2__key-of-an-app", "Dify 1.14.2 at .*Service API"),
        ("v1.14.2__dataset-api-off", "API access"),
        ("v1.12.1__dataset-of-another-workspace", "permission"),
        ("v1.14.2__rate-limit-request-3", "60 s"),
        ("v1.14.2__dataset-unknown", "dataset_id"),
        ("v1.14.2__path-without-v1", "/v1"),
        ("v1.14.2__semantic-on-economy", "economy"),
        ("v1.14.2__provider-not-installed", "langgenius/openai/openai.*models"),
        ("v1.14.2__path-double-slash", "redirects to http"),
        ("v1.9.2__retrieval-model-partial", "Dify 1.9.2"),
    ],
)
async def test_errors_say_what_to_do(name, says, pool, no_waiting):
    with service(CASE, recording("dify", name)), pytest.raises(BridgeError, match=says):
        await retrieve(context(CASE), pool)


async def test_a_page_that_is_not_difys_is_told_apart(pool):
    told = answer(recording("dify", "v1.14.2__path-without-v1"))
    del told.headers["X-Version"]
    with service(CASE, told), pytest.raises(NotFoundError, match=r"not Dify's API.*api_base_url"):
        await retrieve(context(CASE), pool)


@pytest.mark.parametrize(
    ("name", "requests"),
    [
        ("v1.14.2__key-wrong", 1),
        ("v1.14.2__rate-limit-request-3", 1),
        ("v1.14.2__query-251", 1),
        ("v1.14.2__provider-down", 2),
        ("v1.14.2__infra-database-down", 2),
        ("v1.14.2__external-full-retrieval-model", 1),
    ],
)
async def test_only_what_may_pass_is_tried_again(name, requests, pool, no_waiting):
    with service(CASE, recording("dify", name)) as calls, pytest.raises(BridgeError):
        await retrieve(context(CASE), pool)
    assert len(calls) == requests


@pytest.mark.parametrize(
    ("status", "code", "message", "kind", "requests"),
    [
        (400, "invalid_param", "1 validation error for DatasetDetailResponse\nretrieval_model_dict", ResponseError, 1),
        (400, "invalid_param", "Failed to request plugin daemon", UnavailableError, 2),
        (500, "internal_server_error", "'weights'", UnavailableError, 2),
    ],
)
async def test_a_look_up_that_fails_is_named_and_can_be_done_without(
    status, code, message, kind, requests, service, pool, no_waiting
):
    service.looked_up = reply(status, {"code": code, "message": message, "status": status})
    service.answers = [reply(body={"query": {"content": "q"}, "records": []})]
    creation = {"api_base_url": service.base}
    with pytest.raises(kind, match=r"look-up of the dataset's settings.*search_mode to semantic"):
        await retrieve(context(CASE, creation=creation, retrieval={"search_mode": "auto"}), pool)
    assert len(service.requests) == requests
    assert not service.posts
    await retrieve(context(CASE, creation=creation, retrieval={"search_mode": "semantic"}), pool)
    assert len(service.requests) == requests + 1


async def test_a_failure_inside_mentions_the_reranker_where_one_is_asked_for(pool, no_waiting):
    told = httpx.Response(500, json={"code": "unknown", "message": "Internal Server Error", "status": 500})
    for retrieval, mentioned in (({}, False), ({"rerank": True, "rerank_model": "a/b/c/d"}, True)):
        with service(CASE, told), pytest.raises(UnavailableError) as failed:
            await retrieve(context(CASE, retrieval=retrieval), pool)
        assert ("rerank_model" in failed.value.remedy) is mentioned
