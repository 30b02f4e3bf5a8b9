"""What Dify is sent, and what of its datasets is looked up before."""

import copy
from typing import Any

import pytest

from adapters import retrieve
from bridge.errors import BridgeError, NotFoundError, SettingsError
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording
from tests.service import reply

CASE = case_of("dify")
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
FOUND = recording("dify", "v1.14.2__semantic")["response"]
DATASET = recording("dify", "v1.14.2__get-dataset-vectors")["response"]


async def sent(service, pool, saved: dict[str, Any] | None = None, *, filters=None, dataset=None, **retrieval) -> Any:
    """The retrieval_model of the one search that this made, with a dataset of these saved settings."""
    details = {**DATASET, "retrieval_model_dict": {**SAVED, **(saved or {})}, **(dataset or {})}
    fields = {"doc_metadata": [{"name": name, "type": "number"} for name in "ab"]}

    async def told(request, writer):
        body = fields if request.path.endswith("/metadata") else details
        return await reply(body=body, headers={"X-Version": "1.14.2"})(request, writer)

    service.looked_up, service.answers = told, [reply(body=FOUND)]
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


async def test_rerank_on_a_dataset_saved_as_weighted_needs_a_model(service, pool):
    saved = {"search_method": "hybrid_search", "reranking_mode": "weighted_score", "weights": WEIGHTS}
    with pytest.raises(SettingsError, match="Set rerank_model"):
        await sent(service, pool, saved, search_mode="hybrid", rerank=True)
    assert not service.posts


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


async def test_an_external_dataset_is_refused(pool, service):
    with pytest.raises(SettingsError, match="external_knowledge"):
        await sent(service, pool, dataset={"provider": "external"})
    assert not service.posts


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
