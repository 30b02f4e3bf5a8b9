"""The imitated WeKnora against exchanges written from the source of 0.7.2."""

import pytest

from sandbox import weknora
from sandbox.ranking import Index
from tests.sandbox.exchanges import Exchange, difference
from tests.sandbox.weknora.asking import BASES, KEY, answer, base_id

RECORDED_ID = "3f1c9a52-7d0e-4b86-9c1d-5a2e8f604b17"
REPLACED = {
    "API_KEY": KEY,
    "return period": "refunds paid",
    "00000000-0000-4000-8000-000000000002": base_id("other-model"),
}
# Each with the knowledge base that does the like; what 0.7.2 adds was recorded apart.
ANSWERS = {
    "01_semantic": "handbook",
    "02_hybrid_fused": "handbook",
    "03_words_only_unbounded": "handbook",
    "04_empty_is_null": "empty",
    "05_threshold": "handbook",
    "06_enriched_more_than_asked": "handbook",
    "22_v0_7_custom_metadata": "handbook",
}
# Each with the key and the knowledge base that are refused like that.
REFUSALS = {
    "07_bad_key": ("sk-wrong", "handbook"),
    "08_key_as_bearer_only": (KEY, "handbook"),
    "09_key_without_retrieve": (weknora.INGEST_KEY, "handbook"),
    "10_base_outside_key": (KEY, "outside"),
    "11_platform_key": (weknora.PLATFORM_KEY, "handbook"),
    "12_unknown_base": (KEY, "never made"),
    "13_foreign_base": (KEY, "foreign"),
    "14_bad_parameter": (KEY, "handbook"),
    "15_blank_query": (KEY, "handbook"),
    "16_model_missing": (KEY, "no-model"),
    "17_embedding_key_refused": (KEY, "no-provider"),
    "18_store_unavailable_as_400": (KEY, "no-store"),
    "19_access_check_503": (KEY, "unsure"),
    "20_panic_negative_count": (KEY, "handbook"),
    "23_different_models": (KEY, "handbook"),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_has_the_recorded_shape(index: Index, name: str) -> None:
    exchange = Exchange("weknora", f"source__{name}", REPLACED | {RECORDED_ID: base_id(ANSWERS[name])})
    if name == "05_threshold":
        exchange.request["body"]["vector_threshold"] = 0.1  # the sandbox's similarities are lower
    response = await exchange.replay(weknora.app(index, KEY))
    assert response.status_code == exchange.status == 200, response.text
    assert response.headers["Content-Type"] == "application/json"
    found, recorded = response.json(), exchange.body
    for record in found["data"] or []:
        lines = record.pop("knowledge_custom_metadata").splitlines()
        assert [line.partition(": ")[0] for line in lines] == ["category", "link", "published", "year"]
    for record in recorded["data"] or []:
        for added in ("knowledge_custom_metadata", "knowledge_description"):
            record.pop(added, None)
    assert difference(found, recorded, frozenset({"metadata"})) is None
    types = {record["match_type"] for record in found["data"] or []}
    assert types <= {record["match_type"] for record in recorded["data"] or []}


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_recorded_one(index: Index, name: str) -> None:
    key, base = REFUSALS[name]
    exchange = Exchange("weknora", f"source__{name}", REPLACED | {"API_KEY": key, RECORDED_ID: base_id(base)})
    response = await exchange.replay(weknora.app(index, KEY))
    assert (response.status_code, response.json()) == (exchange.status, exchange.body)


async def test_a_base_has_the_recorded_shape(index: Index) -> None:
    exchange = Exchange("weknora", "source__25_base_detail", REPLACED | {RECORDED_ID: base_id()})
    response = await exchange.replay(weknora.app(index, KEY))
    assert response.status_code == exchange.status
    assert difference(response.json(), exchange.body, frozenset()) is None


async def test_the_list_of_bases_has_the_recorded_shape(index: Index) -> None:
    exchange = Exchange("weknora", "source__26_base_list", REPLACED)
    response = await exchange.replay(weknora.app(index, KEY))
    assert response.status_code == exchange.status
    assert difference(response.json(), exchange.body, frozenset()) is None


async def test_health_needs_no_key(index: Index) -> None:
    exchange = Exchange("weknora", "source__24_health")
    response = await exchange.replay(weknora.app(index, KEY))
    assert (response.status_code, response.json()) == (exchange.status, exchange.body)


@pytest.mark.parametrize("path", ["/hybrid-search", "/api/v1/search", f"{BASES}/{base_id()}/hybrid-search"])
async def test_another_path_or_method_is_nowhere(index: Index, path: str) -> None:
    response = await answer(index, path)
    assert (response.status_code, response.text) == (404, "404 page not found")


async def test_no_header_is_no_key(index: Index) -> None:
    response = await answer(index, BASES, key="")
    assert (response.status_code, response.json()) == (401, {"error": "Unauthorized: missing authentication"})
