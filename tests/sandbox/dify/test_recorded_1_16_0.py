"""The imitated Dify against every recording of Dify 1.16.0 that the handbook can reproduce."""

from collections.abc import Callable

import httpx
import pytest

from sandbox import dify
from sandbox.corpus import Document, handbook
from sandbox.dify.metadata import BARE
from sandbox.ranking import Index
from tests.contract.cases import RECORDINGS
from tests.sandbox.dify.asking import KEY
from tests.sandbox.dify.exchanges import VERSION, dify_exchange, of_every_form
from tests.sandbox.exchanges import Exchange, difference, without_ids

MORE_FIELDS = "handbook-more-fields"
# What the sandbox's dataset is called that is asked instead of the recorded one.
ANSWERS = {
    "external-keyword": "external",
    "external-retrieval-model-null": "handbook",
    "filter-built-in-on": MORE_FIELDS,
    "filter-field-not-latin": MORE_FIELDS,
    "filter-is-not-leaves-out-documents-without-field": MORE_FIELDS,
    "filter-number-in-one-text": MORE_FIELDS,
    "filter-number-in-texts": MORE_FIELDS,
    "filter-time-at-least": MORE_FIELDS,
    "filter-value-null": MORE_FIELDS,
    "full-text": "handbook",
    "hybrid-no-rerank": "handbook",
    "hybrid-no-rerank-two-lists": "handbook",
    "hybrid-rerank-model-missing": "handbook",
    "hybrid-weighted-threshold": "handbook",
    "infra-database-back-1": "handbook",
    "infra-database-back-2": "handbook",
    "infra-redis-back": "handbook",
    "infra-vector-store-back": "handbook",
    "keyword-economy": "handbook-economy",
    "own-settings-hybrid-without-fusion": "handbook-plain-hybrid",
    "own-settings-reranked": "handbook-reranked",
    "own-settings-weighted": "handbook-weighted",
    "parent-child": "parents-and-children",
    "qa": "questions-and-answers",
    "semantic": "handbook",
    "semantic-five-languages": MORE_FIELDS,
}
DETAILS = {
    "get-dataset-economy": "handbook-economy",
    "get-dataset-empty": "empty",
    "get-dataset-external": "external",
    "get-dataset-no-model": "no-model",
    "get-dataset-own-settings": "handbook-best",
    "get-dataset-parent-child": "parents-and-children",
    "get-dataset-plainhybrid": "handbook-plain-hybrid",
    "get-dataset-qa": "questions-and-answers",
    "get-dataset-reranked": "handbook-reranked",
    "get-dataset-vectors": "handbook",
    "get-dataset-weighted": "handbook-weighted",
    "infra-model-daemon-down-get-dataset": "handbook",
    "infra-model-daemon-down-metadata": "handbook",
    "metadata-fields-built-in-on": MORE_FIELDS,
}
LISTS = {"list-datasets": ""}
REFUSALS = {
    "dataset-api-off": "api-off",
    "dataset-of-another-workspace": "nowhere",
    "dataset-unknown": "nowhere",
    "filter-above-on-string-field": MORE_FIELDS,
    "filter-above-text-value": MORE_FIELDS,
    "filter-after-iso-date": MORE_FIELDS,
    "filter-number-in-numbers": MORE_FIELDS,
    "filter-number-not-in-numbers": MORE_FIELDS,
    "get-dataset-closed": "api-off",
    "key-wrong": "handbook",
    "path-without-v1": "handbook",
}
OUT_OF_REACH = {
    "files-hit",  # the handbook has no pictures,
    "summary-hit",  # no summaries
    "full-text-zero-width-non-joiner",  # and nothing in Persian
    "infra-database-down",  # and nothing of the sandbox breaks down
    "infra-model-daemon-down",
    "infra-vector-store-down",
}
FREE = {
    # Their documents were put in past Dify's upload.
    "get-dataset-no-model": {"data_source_type"},
    "get-dataset-qa": {"data_source_type"},
}
REPLACED = {
    "en.txt": "refund-policy.md",  # the document that is filtered for
    '\\"ru\\"': '\\"en\\"',  # the first text met that is no number
}


async def replayed(index: Index, name: str, dataset: str) -> tuple[Exchange, httpx.Response]:
    exchange = dify_exchange(name, dataset, replace=REPLACED)
    response = await exchange.replay(dify.app(index, KEY))
    assert response.status_code == exchange.status, response.text
    for header in ("Content-Type", "X-Version", "WWW-Authenticate"):
        assert response.headers.get(header) == exchange.headers.get(header)
    return exchange, response


def test_every_recording_has_its_place() -> None:
    recorded = {path.stem.partition("__")[2] for path in (RECORDINGS / "dify").glob(f"v{VERSION}__*.json")}
    assert recorded == ANSWERS.keys() | DETAILS.keys() | LISTS.keys() | REFUSALS.keys() | OUT_OF_REACH


@pytest.mark.parametrize(("name", "dataset"), ANSWERS.items())
async def test_an_answer_has_the_recorded_shape(index: Index, name: str, dataset: str) -> None:
    exchange, response = await replayed(index, name, dataset)
    # Most recorded datasets have other metadata than the handbook.
    free = frozenset[str]() if dataset == MORE_FIELDS else frozenset({"doc_metadata"})
    assert difference(response.json(), of_every_form(exchange.body), free) is None
    assert response.json()["query"] == exchange.body["query"]


@pytest.mark.parametrize(("name", "dataset"), DETAILS.items())
async def test_what_is_told_of_a_dataset_has_the_recorded_shape(index: Index, name: str, dataset: str) -> None:
    exchange, response = await replayed(index, name, dataset)
    free = FREE.get(name, set()) | (set() if exchange.body["doc_metadata"] else {"doc_metadata"})
    found = response.json()
    assert difference(found, exchange.body, frozenset(free)) is None
    for same in ("built_in_field_enabled", "embedding_available", "indexing_technique", "doc_form", "provider"):
        assert found.get(same) == exchange.body.get(same)
    if "retrieval_model_dict" in found:
        shown, recorded = found["retrieval_model_dict"], exchange.body["retrieval_model_dict"]
        assert shown | {"weights": None} == recorded | {"weights": None}
        assert found["external_retrieval_model"] == exchange.body["external_retrieval_model"]


async def test_the_list_has_the_recorded_shape(index: Index) -> None:
    exchange, response = await replayed(index, "list-datasets", "")
    told = [dify_exchange(name, "").body for name in DETAILS if name.startswith("get-")]
    recorded = exchange.body | {"data": [*exchange.body["data"], *told]}
    assert difference(response.json(), recorded, frozenset({"doc_metadata"})) is None
    assert len(response.json()["data"]) == len(exchange.body["data"])
    for same in ("has_more", "limit", "page"):
        assert response.json()[same] == exchange.body[same]


@pytest.mark.parametrize(("name", "dataset"), REFUSALS.items())
async def test_a_refusal_is_the_recorded_one(index: Index, name: str, dataset: str) -> None:
    exchange, response = await replayed(index, name, dataset)
    assert response.status_code >= 400
    found = response.json() if isinstance(exchange.body, dict) else response.text
    assert without_ids(str(found)) == without_ids(str(exchange.body))


def _has_fields(document: Document) -> bool:
    return document.name != BARE


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("filter-built-in-on", lambda d: d.name == "refund-policy.md"),
        ("filter-field-not-latin", lambda d: _has_fields(d) and d.category == "policy"),
        (
            "filter-is-not-leaves-out-documents-without-field",
            lambda d: _has_fields(d) and not d.name.isascii(),
        ),
        ("filter-number-in-one-text", lambda d: d.year == 2024),
        ("filter-number-in-texts", lambda d: d.year == 2024),
        ("filter-time-at-least", lambda d: _has_fields(d) and d.year >= 2025),
        ("filter-value-null", lambda _: True),
    ],
)
async def test_a_recorded_filter_keeps_the_documents_it_describes(
    index: Index, name: str, expected: Callable[[Document], bool]
) -> None:
    exchange = dify_exchange(name, MORE_FIELDS, replace=REPLACED | {'"top_k": 10': '"top_k": 100'})
    found = (await exchange.replay(dify.app(index, KEY))).json()["records"]
    assert {record["segment"]["document"]["name"] for record in found} == {
        passage.document.name for passage in handbook() if expected(passage.document)
    }


async def test_saved_settings_decide_where_none_are_sent(index: Index) -> None:
    exchange = dify_exchange("own-settings-used-when-omitted", "handbook-best", "1.14.2")
    assert len((await exchange.replay(dify.app(index, KEY))).json()["records"]) == len(exchange.body["records"]) == 1


async def test_a_model_that_the_workspace_lacks_is_named(index: Index) -> None:
    exchange = dify_exchange("provider-not-installed", "no-model", "1.14.2")
    response = await exchange.replay(dify.app(index, KEY))
    assert (response.status_code, response.json()) == (exchange.status, exchange.body)


async def test_the_third_search_of_a_minute_is_too_many_where_two_are_allowed(index: Index) -> None:
    app = dify.app(index, KEY, a_minute=2)
    for number in (1, 2, 3):
        exchange = dify_exchange(f"rate-limit-request-{number}", "handbook", "1.14.2")
        response = await exchange.replay(app)
        assert response.status_code == exchange.status
    assert response.json() == exchange.body
    told = await dify_exchange("get-dataset-vectors", "handbook").replay(app)
    assert told.status_code == 200
