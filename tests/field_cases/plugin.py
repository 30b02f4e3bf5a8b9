"""The plugin as the SDK loads it, with no host behind it; settings under its own names."""

import importlib
from pathlib import Path
from typing import Any

import yaml
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

ROOT = Path(__file__).parents[2]
MODES = {
    "semantic_search": "semantic",
    "full_text_search": "full_text",
    "hybrid_search": "hybrid",
    "keyword_search": "keyword",
    "embedding": "semantic",
    "fullTextRecall": "full_text",
    "mixedRecall": "hybrid",
}
CREATION = {
    "base_url": "api_base_url",
    "dataset_ids": "dataset_id",
    "knowledge_base_id": "dataset_id",
    "knowledge_id": "dataset_id",
    "verify_ssl": "verify_tls",
}
RETRIEVAL = {"search_method": "search_mode", "use_kg": "use_knowledge_graph", "timeout_s": "timeout"}


async def load(config: dict[str, Any]) -> Any:
    """The first engine that the manifest lists, ready to be asked."""
    manifest = _read(ROOT / "manifest.yaml")
    first = ROOT / manifest["spec"]["components"]["KnowledgeEngine"]["fromFiles"][0]
    plugin = _class(ROOT, manifest)()
    plugin.config = config
    plugin.plugin_runtime_handler = None
    await plugin.initialize()
    engine = _class(first.parent, _read(first))()
    engine.plugin = plugin
    await engine.initialize()
    return engine


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def _class(folder: Path, manifest: Any) -> Any:
    told = manifest["execution"]["python"]
    module = (folder / told["path"]).resolve().relative_to(ROOT).with_suffix("")
    return getattr(importlib.import_module(".".join(module.parts)), told["attr"])


def context(backend: str, asked: dict[str, Any]) -> RetrievalContext:
    """A case's question, or one of several, as LangBot would put it."""
    given = dict(asked["settings"]["retrieval"])
    if given.pop("score_threshold_enabled", None) is False:
        given["score_threshold"] = 0
    if isinstance(given.get("search_method"), str):
        given["search_method"] = MODES.get(given["search_method"], given["search_method"])
    creation = {CREATION.get(name, name): value for name, value in asked["settings"]["creation"].items()}
    retrieval = {RETRIEVAL.get(name, name): value for name, value in given.items()}
    if "timeout_s" in creation:
        retrieval.setdefault("timeout", creation.pop("timeout_s"))
    return RetrievalContext(
        query=asked["query"],
        knowledge_base_id="field-case",
        creation_settings={"backend": backend, **creation},
        retrieval_settings=retrieval,
        filters=asked.get("filters") or {},
    )
