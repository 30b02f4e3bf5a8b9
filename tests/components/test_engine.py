"""The engines as LangBot's SDK loads and calls them."""

from pathlib import Path
from typing import cast

import pytest
import yaml
from langbot_plugin.cli.run.controller import PluginRuntimeController
from langbot_plugin.cli.run.handler import PluginRuntimeHandler
from langbot_plugin.runtime.io.connection import Connection
from langbot_plugin.utils.discover.engine import ComponentDiscoveryEngine

from adapters import BACKENDS
from bridge.errors import AuthError, SettingsError
from main import KnowledgeBridge
from tests.contract.cases import case_of
from tests.contract.stand_in import context
from tests.recorded import DATASET, FOUND
from tests.service import reply

ROOT = Path(__file__).parents[2]
ENGINES = ["remote", *BACKENDS]
CASE = case_of("dify")
FILE = {
    "metadata": {
        "filename": "a.txt",
        "file_size": 1,
        "mime_type": "text/plain",
        "document_id": "doc-1",
        "knowledge_base_id": "kb",
    },
    "storage_path": "x",
}


@pytest.fixture
async def actions(request, monkeypatch):
    """The SDK's own loader and handler around one engine; what the runtime calls, by name."""
    monkeypatch.chdir(ROOT)
    discovery = ComponentDiscoveryEngine()
    manifest = discovery.load_component_manifest("manifest.yaml")
    component = discovery.load_component_manifest(f"components/knowledge_engine/{request.param}.yaml")
    assert manifest
    assert component
    controller = PluginRuntimeController(manifest, [component], stdio=True, ws_debug_url="")
    await controller._initialize_container(
        controller.plugin_container, None, {"enabled": True, "priority": 0, "plugin_config": {}}
    )

    async def never(_):
        raise AssertionError

    handler = PluginRuntimeHandler(cast("Connection", None), never)
    handler.plugin_container = controller.plugin_container
    yield handler.actions
    await cast("KnowledgeBridge", controller.plugin_container.plugin_instance).close()


def asked(service, **settings):
    made = context(CASE, creation={"api_base_url": service.base}, retrieval={"top_k": 2}, **settings)
    return made.model_dump()


@pytest.mark.parametrize("actions", ["remote", "dify"], indirect=True)
async def test_retrieve(actions, service):
    service.answers = [FOUND]
    answer = await actions["retrieve_knowledge"]({"retriever_name": "", "retrieval_context": asked(service)})
    assert answer.code == 0
    assert [entry["metadata"]["document_name"] for entry in answer.data["results"]] == [
        "refund-policy.txt",
        "warranty.txt",
    ]


@pytest.mark.parametrize("actions", ["dify"], indirect=True)
async def test_the_engine_of_one_service_needs_no_backend(actions, service):
    service.answers = [FOUND]
    made = asked(service)
    del made["creation_settings"]["backend"]
    answer = await actions["retrieve_knowledge"]({"retriever_name": "", "retrieval_context": made})
    assert len(answer.data["results"]) == 2


@pytest.mark.parametrize("actions", ["dify"], indirect=True)
async def test_failures_leave_as_exceptions(actions, service):
    service.answers = [reply(401, {"code": "unauthorized", "message": "Access token is invalid"})]
    with pytest.raises(AuthError, match="API key"):
        await actions["retrieve_knowledge"]({"retriever_name": "", "retrieval_context": asked(service)})


@pytest.mark.parametrize("actions", ENGINES, indirect=True)
async def test_nothing_can_be_put_in_or_deleted(actions):
    assert (await actions["get_rag_capabilities"]({})).data == {"capabilities": []}
    deleted = await actions["delete_document"]({"kb_id": "kb", "document_id": "d"})
    assert deleted.data == {"success": False}
    ingested = await actions["ingest_document"]({"context": {"file_object": FILE, "knowledge_base_id": "kb"}})
    assert (ingested.data["status"], ingested.data["document_id"]) == ("failed", "doc-1")
    assert "read-only" in ingested.data["error_message"]


@pytest.mark.parametrize("actions", ["remote"], indirect=True)
async def test_saving_runs_one_real_search(actions, service):
    service.looked_up, service.answers = DATASET, [FOUND]
    config = asked(service)["creation_settings"]
    assert (await actions["on_kb_create"]({"kb_id": "kb", "config": config})).data == {"success": True}
    assert len(service.posts) == 1
    service.answers = [reply(401, {"code": "unauthorized"})]
    with pytest.raises(AuthError):
        await actions["on_kb_create"]({"kb_id": "kb", "config": config})


@pytest.mark.parametrize("actions", ["remote"], indirect=True)
@pytest.mark.parametrize("off", [False, "false", "0"])
async def test_saving_without_a_check_only_reads_the_settings(off, actions, service):
    config = {**asked(service)["creation_settings"], "check_on_save": off}
    await actions["on_kb_create"]({"kb_id": "kb", "config": config})
    assert service.requests == []
    with pytest.raises(SettingsError, match="dataset_id"):
        await actions["on_kb_create"]({"kb_id": "kb", "config": {**config, "dataset_id": "x"}})


@pytest.mark.parametrize("actions", ["remote"], indirect=True)
async def test_deleting_a_knowledge_base_is_fine(actions):
    assert (await actions["on_kb_delete"]({"kb_id": "kb"})).code == 0


def test_the_manifest_lists_one_engine():
    components = yaml.safe_load((ROOT / "manifest.yaml").read_text("utf-8"))["spec"]["components"]
    assert set(components) == {"KnowledgeEngine", "Page"}
    assert components["KnowledgeEngine"] == {"fromFiles": ["components/knowledge_engine/remote.yaml"]}
