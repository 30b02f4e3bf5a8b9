"""Damaged answers: always entries that fit the host, or a typed error; one odd record never costs the others."""

import asyncio
import copy
import json
import logging
from collections.abc import Iterator
from itertools import count
from typing import Any
from unittest import mock

import httpcore
import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from adapters import BridgeError, Pool, retrieve
from tests.contract.cases import CASES, HOST, Case
from tests.contract.stand_in import context, recording, rows_of, searches
from tests.contract.test_contract import expected
from tests.faults.damage import HARMS, SCRATCHES, VALUES, harmed, written
from tests.pauses import quick

ALL = [pytest.param(case, id=case.backend) for case in CASES]
FOUND = {
    case.backend: [
        recording(case.backend, name)["response"]
        for name in searches(case)
        if isinstance(expected(case)[name], list) and expected(case)[name]
    ]
    for case in CASES
}
"""Recorded answers with entries."""
COMMON: list[dict[str, Any]] = [
    {},
    {"retrieval": {"top_k": 1}},
    {"retrieval": {"top_k": 3, "cite_source": True}},
    {"retrieval": {"score_threshold": 0.3}},
    {"filters": {"document_name": {"$ne": "nothing.txt"}}},
    {"filters": {"$or": [{"year": {"$gte": 2000}}, {"document_name": {"$in": ["refund-policy.txt", "returns.pdf"]}}]}},
]
OWN: dict[str, list[dict[str, Any]]] = {
    "dify": [
        {"retrieval": {"search_mode": mode, "rerank": rerank}}
        for mode in ("auto", "hybrid", "full_text", "keyword")
        for rerank in (False, True)
    ]
    + [{"retrieval": {"search_mode": "hybrid", "vector_weight": 0.5}}],
    "ragflow": [{"retrieval": {"use_knowledge_graph": True}}, {"retrieval": {"search_mode": "full_text"}}],
    "fastgpt": [{"retrieval": {"search_mode": "hybrid", "rerank": True}}],
    "jinba": [
        {"creation": {"route": "search_url", "api_base_url": f"{HOST}/search"}},
        {"creation": {"step_id": "search"}},
    ],
    "external_knowledge": [{"creation": {"dataset_id": "kb-1, kb-2"}}],
    "anything_llm": [{"creation": {"dataset_id": "support, support-rerank"}, "retrieval": {"score_threshold": 0.3}}],
    "weknora": [
        {"retrieval": {"search_mode": "full_text"}},
        {"retrieval": {"search_mode": "hybrid"}},
        {"filters": {"document_id": {"$in": ["c57e2b90-61fa-4d38-8e0b-94a7d3f1526c"]}}},
    ],
}
UNREADABLE = ("<5000 digits>", "<lists 100000>")
"""Tokens that leave no JSON."""
BLANK: tuple[Any, ...] = (None, "", " \n", 7, True, [], ["x"], {}, {"x": "y"})


def fewer() -> Any:
    """A third of the profile's examples, for what is said about records alone."""
    return hypothesis.settings(max_examples=hypothesis.settings().max_examples // 3)


class Bench:
    """The whole path above a transport that answers from memory."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.pool = Pool()
        self.post = self.get = b""
        self.keys = count()

    async def serve(self, request: httpcore.Request) -> httpcore.Response:
        body = self.get if request.method == b"GET" else self.post
        return httpcore.Response(200, headers={"Content-Type": "application/json"}, content=body)

    def ask(self, case: Case, post: bytes, get: bytes = b"{}", **settings: Any) -> RetrievalResponse:
        """One retrieval; a key of its own, so that no look-up is kept from another."""
        self.post, self.get = post, get
        creation = {**settings.pop("creation", {}), "api_key": f"made-up-KEY-{next(self.keys):08}"}
        return self.runner.run(retrieve(context(case, creation=creation, **settings), self.pool))


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()

    async def serve(_: object, request: httpcore.Request) -> httpcore.Response:
        return await made.serve(request)

    logging.disable()
    with mock.patch.object(httpcore.AsyncHTTPConnection, "handle_async_request", serve), quick():
        yield made
        made.runner.run(made.pool.close())
    logging.disable(logging.NOTSET)
    made.runner.close()


def fits(response: RetrievalResponse, top_k: int) -> None:
    """What the host can take."""
    told = json.dumps(response.model_dump(mode="json"), allow_nan=False, ensure_ascii=False)
    told.encode("utf-8")
    assert response.model_dump_json()
    assert len(response.results) <= min(top_k, response.total_found)
    assert len({entry.id for entry in response.results}) == len(response.results)
    for entry in response.results:
        assert isinstance(entry.id, str)
        assert entry.id
        assert entry.score is None or 0 <= entry.score <= 1
        assert 0 <= entry.distance <= 1
        assert [content for content in entry.content if (content.text or "").strip()]


def look_up(case: Case) -> Any:
    return recording(case.backend, case.look_up)["response"] if case.look_up else {}


@pytest.mark.parametrize("case", ALL)
def test_a_damaged_answer_is_entries_or_a_typed_error(case, bench):
    found, looked_up = FOUND[case.backend], look_up(case)
    settings = COMMON + OWN[case.backend]

    @given(st.integers(0, 2**24), HARMS, HARMS if looked_up else st.just([]), st.just([]) | SCRATCHES)
    def holds(luck, harms, harms_of_the_look_up, scratches):
        luck, which = divmod(luck, len(found))
        luck, chosen = divmod(luck, len(settings))
        post = harmed(found[which], harms)
        for scratch in scratches if luck % 4 == 0 else ():
            post = scratch.do(post)
        get = harmed(looked_up, harms_of_the_look_up if luck % 2 else [])
        made = settings[chosen]
        failed = None
        try:
            response = bench.ask(case, post, get, **made)
        except BridgeError as error:
            failed = error
        if failed:
            told = str(failed).encode("utf-8").decode()
            assert len(told) < 300
            assert told.startswith(f"{failed.where}: ")
        else:
            fits(response, made.get("retrieval", {}).get("top_k", 100))

    holds()


@pytest.mark.parametrize("case", ALL)
def test_records_beyond_use_are_left_out_one_by_one(case, bench):
    found = recording(case.backend, case.good)["response"]
    whole = [entry.id for entry in bench.ask(case, written(found)).results]
    paths = case.passages

    @fewer()
    @given(st.data())
    def holds(data):
        answer = copy.deepcopy(found)
        records = rows_of(answer)
        assert len(records) == len(whole)
        lost = data.draw(st.sets(st.integers(0, len(records) - 1), max_size=len(records) - 1))
        for place in lost:
            records[place] = _useless(records[place], paths, data)
        for place in data.draw(st.lists(st.integers(0, len(records)), max_size=4)):
            records.insert(place, data.draw(st.sampled_from([None, 7, "text", [], {}, [[]], True, {"x": 1}])))
        odd = len(records) - len(whole) + len(lost)
        response = bench.ask(case, written(answer))
        fits(response, 100)
        kept = [ident for ident in whole if ident in {entry.id for entry in response.results}]
        assert len(kept) == len(response.results) == len(whole) - len(lost)
        notes = response.metadata.get("notes", [])
        told = [note for note in notes if note.startswith(f"{odd} of {len(records)} records")]
        assert bool(told) == bool(odd)

    holds()


def _useless(record: Any, paths: list[tuple[str, ...]], data: st.DataObject) -> Any:
    """The record without a passage, or no record at all."""
    if data.draw(st.booleans()):
        return data.draw(st.sampled_from([None, 7, 0.5, "text", [], [[]], {}, True]))
    for *way, last in paths:
        inner = record
        for name in way:
            inner = inner[name]
        if data.draw(st.booleans()):
            inner.pop(last, None)
        else:
            inner[last] = data.draw(st.sampled_from(BLANK))
    return record


@pytest.mark.parametrize("case", ALL)
def test_a_record_with_its_passage_stays_whatever_else_is_odd(case, bench):
    found = recording(case.backend, case.good)["response"]
    whole = {entry.content[0].text for entry in bench.ask(case, written(found)).results}
    passages = {path[-1] for path in case.passages}
    inner = {path[0] for path in case.passages if len(path) > 1}

    @fewer()
    @given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 999)), max_size=12))
    def holds(harms):
        answer = copy.deepcopy(found)
        records = rows_of(answer)
        for which, field, what in harms:
            value = VALUES[what % len(VALUES)]
            if isinstance(value, str) and value in UNREADABLE:
                continue
            record = records[which % len(records)]
            spots = [(record, name) for name in record if name not in passages | inner]
            spots += [(record[part], name) for part in inner for name in record[part] if name not in passages]
            owner, name = spots[field % len(spots)]
            owner[name] = copy.deepcopy(value)
        response = bench.ask(case, written(answer))
        fits(response, 100)
        assert {entry.content[0].text for entry in response.results} == whole

    holds()
