"""What Dify says of a dataset: when it is looked up, and what it explains."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from adapters import Pool, retrieve
from bridge.errors import BridgeError, ResponseError, SettingsError, UnavailableError
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording
from tests.service import reply

CASE = case_of("dify")
DATASET = recording("dify", "v1.14.2__get-dataset-vectors")["response"]


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


NONE: dict[str, Any] = {"records": []}
FOUND = recording("dify", "v1.14.2__semantic")["response"]
FIELDS = recording("dify", "v1.16.0__metadata-fields-built-in-on")["response"]
MODEL = {"reranking_provider_name": "made/up/provider", "reranking_model_name": "rerank-1"}


class Told:
    """What a test makes of Dify: details, metadata fields, and an answer for each retrieval_model."""

    def __init__(self, service, **details):
        self.service, self.fields = service, FIELDS
        self.answers: Callable[[Any], Any] = lambda _: NONE
        self.details = {**DATASET, **details}
        service.looked_up = self._looked_up
        service.answers = [self._searched]

    async def _looked_up(self, request, writer):
        await reply(body=self.fields if request.path.endswith("/metadata") else self.details)(request, writer)

    async def _searched(self, request, writer):
        answer = self.answers(request.json["retrieval_model"])
        await (answer if callable(answer) else reply(body=answer))(request, writer)

    async def ask(self, pool, filters=None, **retrieval):
        creation = {"api_base_url": self.service.base}
        return await retrieve(
            context(CASE, creation=creation, retrieval={"search_mode": "auto"} | retrieval, filters=filters or {}), pool
        )

    @property
    def searches(self):
        return [post.json["retrieval_model"] for post in self.service.posts]


SAVED_RERANKED = {"search_method": "hybrid_search", "reranking_enable": True, "reranking_mode": "reranking_model"}
SAVED_RERANKED |= {"reranking_model": MODEL}


def is_plain(model):
    return model["search_method"] == "semantic_search" and not model["reranking_enable"]


@pytest.mark.parametrize(
    ("saved", "retrieval", "names"),
    [
        (SAVED_RERANKED, {}, "reranker rerank-1"),
        ({}, {"search_mode": "hybrid"}, "weights"),
        ({}, {"search_mode": "hybrid", "rerank": True, "rerank_model": "p/m-2"}, "reranker m-2"),
        ({}, {"search_mode": "semantic", "rerank": True, "rerank_model": "p/m-2"}, "reranker m-2"),
    ],
)
async def test_a_fusion_that_lost_everything_is_no_empty_list(saved, retrieval, names, service, pool):
    told = Told(service, retrieval_model_dict=saved)
    told.answers = lambda model: FOUND if is_plain(model) else NONE
    with pytest.raises(UnavailableError, match=names):
        await told.ask(pool, **retrieval)
    assert (told.searches[1]["top_k"], told.searches[1]["score_threshold_enabled"]) == (1, False)
    assert len(told.searches) == 2


async def test_a_fusion_that_finds_nothing_where_a_plain_search_does_neither_is_empty(service, pool):
    told = Told(service, retrieval_model_dict=SAVED_RERANKED)
    assert (await told.ask(pool)).results == []
    assert len(told.searches) == 2


async def test_a_threshold_that_leaves_nothing_is_an_answer(service, pool):
    told = Told(service, retrieval_model_dict=SAVED_RERANKED)
    told.answers = lambda model: NONE if model["score_threshold_enabled"] else FOUND
    assert (await told.ask(pool, score_threshold=0.9)).results == []
    assert len(told.searches) == 3


async def test_a_good_answer_pays_nothing_for_the_probe(service, pool):
    told = Told(service, retrieval_model_dict=SAVED_RERANKED)
    told.answers = lambda _: FOUND
    assert (await told.ask(pool)).results
    assert len(told.searches) == 1


@pytest.mark.parametrize("mode", ["semantic", "full_text", "keyword", "hybrid", "auto"])
@pytest.mark.parametrize(
    "answer",
    [
        NONE,
        reply(500, {"code": "internal_server_error", "message": "'reranking_enable'", "status": 500}),
        reply(400, {"code": "invalid_param", "message": 'relation "embedding_x" does not exist\nLINE 1: SELECT'}),
        reply(400, {"code": "invalid_param", "message": "Collection not found"}),
    ],
    ids=["empty", "500", "relation", "400"],
)
async def test_an_external_dataset_is_named_in_every_mode(mode, answer, service, pool, no_waiting):
    told = Told(service, provider="external", indexing_technique=None)
    told.answers = lambda _: answer
    with pytest.raises(SettingsError, match="external knowledge base"):
        await told.ask(pool, search_mode=mode)


async def test_keyword_search_of_a_vector_dataset_is_named(service, pool):
    with pytest.raises(SettingsError, match="search_mode keyword"):
        await Told(service).ask(pool, search_mode="keyword")


async def test_a_search_by_meaning_of_an_economy_dataset_is_named(service, pool):
    told = Told(service, indexing_technique="economy")
    told.answers = lambda _: reply(400, {"code": "invalid_param", "message": 'relation "x" does not exist\nSELECT 7'})
    with pytest.raises(SettingsError, match="economy"):
        await told.ask(pool, search_mode="semantic")


async def test_details_that_cant_be_had_leave_the_services_own_words(service, pool):
    told = Told(service)
    told.answers = lambda _: reply(400, {"code": "invalid_param", "message": 'relation "secret_x" does not exist'})
    service.looked_up = reply(404, {"code": "not_found", "message": "Dataset not found."})
    with pytest.raises(ResponseError, match="economy or empty") as failed:
        await told.ask(pool, search_mode="semantic")
    assert "secret_x" not in str(failed.value)


async def test_settings_that_cant_be_told_are_done_without_and_said(service, pool, no_waiting):
    told = Told(service)
    told.answers = lambda _: FOUND
    service.looked_up = reply(400, {"code": "invalid_param", "message": "1 validation error for DatasetDetailResponse"})
    found = await told.ask(pool)
    assert found.results
    assert any("search_mode" in note for note in found.metadata["notes"])
    assert told.searches[-1]["search_method"] == "semantic_search"


async def test_a_field_that_the_dataset_hasnt_is_refused_and_those_there_are_named(service, pool):
    told = Told(service)
    with pytest.raises(SettingsError, match=r"no metadata field colour.*lang, rank.*document_name"):
        await told.ask(pool, {"colour": "red"})


async def test_built_in_fields_count_only_where_they_are_on(service, pool):
    told = Told(service)
    assert (await told.ask(pool, {"document_name": "a.txt"})).results == []
    other = Told(service)
    other.fields = {**FIELDS, "built_in_field_enabled": False}
    pool.memory.forget("")
    with pytest.raises(SettingsError, match="no metadata field document_name"):
        await other.ask(pool, {"document_name": "a.txt"})


async def test_a_filter_that_matches_nothing_is_an_empty_answer(service, pool):
    told = Told(service)
    for _ in range(3):
        assert (await told.ask(pool, {"lang": "xx"})).results == []
    assert sum(request.path.endswith("/metadata") for request in service.requests) == 1


@pytest.mark.parametrize("value", ["middling", "2024-07-04"])
async def test_a_comparison_with_a_text_is_refused_before_anything_is_sent(value, service, pool):
    told = Told(service)
    with pytest.raises(SettingsError, match="seconds since 1970") as failed:
        await told.ask(pool, {"published": {"$gt": value}})
    assert value not in str(failed.value)
    assert not service.posts


async def test_a_comparison_on_a_text_field_is_refused_afterwards(service, pool, no_waiting):
    told = Told(service)
    with pytest.raises(SettingsError, match="lang holds texts"):
        await told.ask(pool, {"lang": {"$gt": 1}})
    told.answers = lambda _: reply(500, recording("dify", "v1.16.0__filter-above-on-string-field")["response"])
    with pytest.raises(SettingsError, match="number and time fields") as failed:
        await told.ask(pool, {"lang": {"$gt": 1}})
    assert not [word for word in ("psycopg2", "SELECT", "ru") if word in str(failed.value)]


async def test_lists_go_as_texts_and_numbers_as_numbers(service, pool):
    told = Told(service)
    await told.ask(pool, {"rank": {"$in": [1, 2.5]}, "price": {"$gte": "7"}, "lang": {"$nin": ["a"]}})
    conditions = told.searches[0]["metadata_filtering_conditions"]["conditions"]
    assert [(c["comparison_operator"], c["value"]) for c in conditions] == [
        ("in", ["1", "2.5"]),
        ("≥", 7),
        ("not in", ["a"]),
    ]
