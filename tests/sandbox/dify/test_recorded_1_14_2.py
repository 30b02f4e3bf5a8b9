"""The imitated Dify against recordings of Dify 1.14.2 that 1.16.0 has none of."""

import httpx
import pytest

from sandbox import dify
from sandbox.ids import uuid_of
from sandbox.ranking import Index
from tests.sandbox.dify.asking import KEY
from tests.sandbox.dify.exchanges import STAND_INS, VERSION, of_every_form
from tests.sandbox.exchanges import Exchange, difference, without_ids

# What each recording of Dify calls the dataset that it asks.
RECORDED = {
    "00000000-0000-4000-8000-000000000001": "handbook",
    "00000000-0000-4000-8000-000000000006": "handbook-economy",
    "00000000-0000-4000-8000-000000000007": "handbook-weighted",
    "00000000-0000-4000-8000-000000000008": "external",
    "00000000-0000-4000-8000-000000000011": "empty",
}
REPLACED = STAND_INS | {old: uuid_of("dify", name) for old, name in RECORDED.items()}
ANSWERS = [
    "booleans-as-text",
    "empty-knowledge-base-keyword",
    "filter-and-no-match",
    "filter-no-conditions",
    "filter-number-at-most-text",
    "filter-or",
    "filter-string-in",
    "filter-string-in-text",
    "filter-unknown-field",
    "filter-wrong-place",
    "full-text-no-hit",
    "full-text-threshold-on",
    "hit-testing-old-route",
    "hybrid-reranked",
    "hybrid-weighted",
    "hybrid-weighted-broken-weights",
    "hybrid-weighted-embedding-missing",
    "hybrid-weighted-empty-model-names",
    "key-bearer-lowercase",
    "key-padded",
    "keyword-economy-top-k-0",
    "keyword-on-vectors",
    "no-retrieval-model",
    "query-250",
    "retrieval-model-minimal",
    "semantic-reranked",
    "semantic-threshold-on-null",
    "semantic-threshold-on-too-high",
    "threshold-text",
    "top-k-text",
    "attachments-unknown",
    "unknown-extra-field",
]
REFUSALS = [
    "attachments-not-a-list",
    "body-array",
    "body-empty-object",
    "body-form",
    "body-none",
    "body-not-json",
    "dataset-id-malformed",
    "dataset-id-without-hyphens",
    "dataset-unknown-key-wrong",
    "economy-no-retrieval-model",
    "empty-knowledge-base",
    "external-full-retrieval-model",
    "external-no-retrieval-model",
    "filter-condition-without-name",
    "filter-unknown-logical-operator",
    "filter-unknown-operator",
    "full-text-on-economy",
    "get-dataset-key-wrong",
    "get-dataset-unknown",
    "key-basic",
    "key-of-an-app",
    "key-without-bearer",
    "method-get",
    "no-key",
    "own-settings-empty-object",
    "path-double-slash",
    "path-trailing-slash",
    "path-twice-v1",
    "query-251",
    "query-251-cjk",
    "query-empty",
    "query-missing",
    "query-null",
    "query-number",
    "query-with-nul-full-text",
    "rerank-model-missing",
    "retrieval-model-is-text",
    "retrieval-model-partial",
    "search-method-null",
    "search-method-unknown",
    "threshold-nonsense",
    "top-k-0",
    "top-k-fraction",
    "top-k-null",
]
DETAILS = ["metadata-fields"]


async def replayed(index: Index, name: str) -> tuple[Exchange, httpx.Response]:
    exchange = Exchange("dify", f"v1.14.2__{name}", REPLACED)
    return exchange, await exchange.replay(dify.app(index, KEY))


@pytest.mark.parametrize("name", ANSWERS + DETAILS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert response.status_code == exchange.status == 200, response.text
    assert response.headers["Content-Type"] == exchange.headers["Content-Type"]
    assert response.headers["X-Version"] == VERSION
    # The recorded documents have other metadata; where fields are listed all is compared.
    free = frozenset[str]() if name in DETAILS else frozenset({"doc_metadata"})
    assert difference(response.json(), of_every_form(exchange.body), free) is None


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert response.status_code == exchange.status >= 300
    for header in ("Content-Type", "WWW-Authenticate"):
        assert response.headers.get(header) == exchange.headers.get(header)
    assert response.headers["X-Version"] == VERSION
    assert "X-Env" in response.headers
    found = response.json() if isinstance(exchange.body, dict) else response.text
    assert without_ids(str(found)).replace("sandbox.test", "dify.test") == without_ids(str(exchange.body))


async def test_a_doubled_slash_is_moved_to_an_absolute_address(index: Index) -> None:
    _, response = await replayed(index, "path-double-slash")
    target = f"http://sandbox.test/v1/datasets/{uuid_of('dify', 'handbook')}/retrieve"
    assert response.headers["Location"] == target
