"""The packages on a real LangBot, driven over its HTTP API."""

import pytest

from adapters import BACKENDS
from sandbox.langbot import as_json
from scripts.package import ALL_IN_ONE, manifests

pytestmark = pytest.mark.e2e

PLUGINS = [f"knowledge-bridge/{name}" for name in manifests()]
ALL = f"knowledge-bridge/{ALL_IN_ONE}"
QUESTION = "After how many days are refunds paid?"


def plugin_of(tag: str) -> str:
    return f"knowledge-bridge/{BACKENDS[tag].product.replace(' ', '')}Bridge"


def test_every_package_shows_its_own_form_and_takes_no_documents(langbot):
    engines = langbot.engines()
    assert set(PLUGINS) <= set(engines)
    for plugin in PLUGINS:
        assert engines[plugin]["capabilities"] == []
        names = [field["name"] for field in engines[plugin]["creation_schema"]["schema"]]
        assert ("backend" in names) is (plugin == ALL)


@pytest.mark.parametrize("package", ["all in one", "own"])
@pytest.mark.parametrize("tag", BACKENDS)
def test_a_dataset_is_connected_in_two_steps_and_searched(tag, package, langbot, sandbox):
    base = langbot.create(ALL if package == "all in one" else plugin_of(tag), sandbox[tag])
    results = as_json(langbot.search(base, QUESTION))
    assert results[0]["metadata"]["document_name"] == "refund-policy.md"
    assert "14 days" in results[0]["content"][0]["text"]
    assert 0 <= results[0]["distance"] <= 1
    assert len(results) <= 5


@pytest.mark.parametrize("tag", [tag for tag, backend in BACKENDS.items() if backend.filters])
def test_filters_are_honoured(tag, langbot, sandbox):
    base = langbot.create(ALL, sandbox[tag])
    whole = as_json(langbot.search(base, "lamp", top_k=20, score_threshold=0))
    categories = [entry["metadata"]["document_metadata"]["category"] for entry in whole]
    assert len(set(categories)) > 1
    some = as_json(langbot.search(base, "lamp", top_k=20, filters={"category": categories[-1]}))
    assert {entry["metadata"]["document_metadata"]["category"] for entry in some} == {categories[-1]}


@pytest.mark.parametrize("tag", BACKENDS)
def test_a_wrong_key_is_told_in_the_log_without_the_key(tag, langbot, sandbox):
    wrong = {"dify": "dataset-wrong-Secret-77", "fastgpt": "fastgpt-wrongSecret77"}.get(tag, f"{tag}-wrong-Secret-77")
    base = langbot.draft(ALL)
    assert langbot.save(base, {**sandbox[tag], "api_key": wrong}).status_code == 500
    assert langbot.save(base, {**sandbox[tag], "api_key": wrong, "check_on_save": False}).status_code == 200
    before = len(langbot.log)
    assert langbot.search(base, QUESTION).status_code == 500
    told = langbot.log[before:]
    assert BACKENDS[tag].product in told
    assert "key" in told
    assert "Secret" not in langbot.log


def test_bad_settings_are_not_saved(langbot, sandbox):
    base = langbot.draft(ALL)
    assert langbot.save(base, {**sandbox["dify"], "dataset_id": "handbook"}).status_code == 500
    assert "dataset_id holds no Dify dataset id" in langbot.log
    assert langbot.save(base, sandbox["dify"]).status_code == 200


def test_an_upload_is_refused(langbot, sandbox):
    base = langbot.create(ALL, sandbox["dify"])
    assert langbot.raw("POST", f"/api/v1/knowledge/bases/{base}/files", {"file_id": "x"}).status_code >= 400


def test_a_knowledge_base_can_be_deleted(langbot, sandbox):
    base = langbot.create(ALL, sandbox["dify"])
    langbot.call("DELETE", f"/api/v1/knowledge/bases/{base}")
    assert langbot.search(base, QUESTION).status_code == 404
