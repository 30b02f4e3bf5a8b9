"""The imitated Dify against recordings of Dify 1.14.2."""

from typing import Any

import httpx
import pytest

from sandbox import dify
from sandbox.dify.datasets import MODEL_PROVIDER, RERANK_MODEL
from sandbox.ids import uuid_of
from sandbox.ranking import Index
from tests.sandbox.dify.asking import KEY
from tests.sandbox.exchanges import Exchange, difference, without_ids

# What each recording of Dify calls the dataset that it asks.
RECORDED = {
    "00000000-0000-4000-8000-000000000001": "handbook",
    "00000000-0000-4000-8000-000000000006": "handbook-economy",
    "00000000-0000-4000-8000-000000000007": "handbook-weighted",
    "00000000-0000-4000-8000-000000000008": "external",
    "00000000-0000-4000-8000-000000000010": "parents-and-children",
    "00000000-0000-4000-8000-000000000011": "empty",
    "00000000-0000-4000-8000-000000000051": "questions-and-answers",
    "00000000-0000-4000-8000-000000000063": "api-off",
}
REPLACED = {old: uuid_of("dify", name) for old, name in RECORDED.items()} | {
    "dataset-FAKEKEY": KEY,
    "local/stub/stub": MODEL_PROVIDER,
    "stub-rerank": RERANK_MODEL,
    "stub-embedding": "sandbox-embedding",
}
ANSWERS = [
    "booleans-as-text",
    "empty-knowledge-base-keyword",
    "external-retrieval-model-null",
    "filter-and-no-match",
    "filter-no-conditions",
    "filter-number-at-most-text",
    "filter-or",
    "filter-string-in",
    "filter-string-in-text",
    "filter-unknown-field",
    "filter-wrong-place",
    "full-text",
    "full-text-no-hit",
    "full-text-threshold-on",
    "hit-testing-old-route",
    "hybrid-no-rerank",
    "hybrid-rerank-model-missing",
    "hybrid-reranked",
    "hybrid-weighted",
    "hybrid-weighted-broken-weights",
    "hybrid-weighted-embedding-missing",
    "hybrid-weighted-empty-model-names",
    "key-bearer-lowercase",
    "key-padded",
    "keyword-economy",
    "keyword-economy-top-k-0",
    "keyword-on-vectors",
    "no-retrieval-model",
    "query-250",
    "retrieval-model-minimal",
    "semantic",
    "semantic-reranked",
    "semantic-threshold-on-null",
    "semantic-threshold-on-too-high",
    "threshold-text",
    "top-k-text",
    "attachments-unknown",
    "unknown-extra-field",
]
FORMS = ["qa", "parent-child"]
REFUSALS = [
    "attachments-not-a-list",
    "body-array",
    "body-empty-object",
    "body-form",
    "body-none",
    "body-not-json",
    "dataset-api-off",
    "dataset-id-malformed",
    "dataset-id-without-hyphens",
    "dataset-unknown",
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
    "path-without-v1",
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
DETAILS = [
    "get-dataset-vectors",
    "get-dataset-economy",
    "get-dataset-external",
    "get-dataset-empty",
    "get-dataset-parent-child",
    "list-datasets",
    "metadata-fields",
]


async def replayed(index: Index, name: str) -> tuple[Exchange, httpx.Response]:
    exchange = Exchange("dify", f"v1.14.2__{name}", REPLACED)
    return exchange, await exchange.replay(dify.app(index, KEY))


@pytest.mark.parametrize("name", ANSWERS + FORMS + DETAILS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert response.status_code == exchange.status == 200, response.text
    for header in ("Content-Type", "X-Version"):
        assert response.headers[header] == exchange.headers[header]
    # Metadata is the owner's, and some recorded datasets have none; where both have fields all is compared.
    free = frozenset[str]() if name in {"get-dataset-vectors", "metadata-fields"} else frozenset({"doc_metadata"})
    assert difference(response.json(), _of_every_form(exchange.body), free) is None


def _of_every_form(recorded: dict[str, Any]) -> dict[str, Any]:
    # The handbook mixes what stood in separate datasets when Dify was recorded.
    for key, others in (("records", FORMS), ("data", ["get-dataset-vectors"])):
        if recorded.get(key):
            bodies = [Exchange("dify", f"v1.14.2__{name}").body for name in others]
            return recorded | {key: [*recorded[key], *(one for body in bodies for one in body.get(key, [body]))]}
    return recorded


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    exchange, response = await replayed(index, name)
    assert response.status_code == exchange.status >= 300
    for header in ("Content-Type", "X-Version", "WWW-Authenticate"):
        assert response.headers.get(header) == exchange.headers.get(header)
    assert "X-Env" in response.headers
    found = response.json() if isinstance(exchange.body, dict) else response.text
    assert without_ids(str(found)).replace("sandbox.test", "dify.test") == without_ids(str(exchange.body))


async def test_a_doubled_slash_is_moved_to_an_absolute_address(index: Index) -> None:
    _, response = await replayed(index, "path-double-slash")
    target = f"http://sandbox.test/v1/datasets/{uuid_of('dify', 'handbook')}/retrieve"
    assert response.headers["Location"] == target
