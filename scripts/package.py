"""Build LangBot's packages into dist/: `uv run python -m scripts.package`.

LangBot reaches one engine per plugin, so there is one package with a choice of services and one for each service.
"""

import contextlib
import copy
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml
from langbot_plugin.cli.commands.buildplugin import build_plugin_process

from adapters import BACKENDS
from scripts.forms import form

ROOT = Path(__file__).parents[1]
PARTS = ("main.py", "requirements.txt", "README.md", "adapters", "bridge", "components", "console", "assets", "readme")
"""Everything that runs or that LangBot shows, but for the components' yaml; the manifest is written."""
NOT_IN = shutil.ignore_patterns("__pycache__", "*.pyc", "*.yaml", "page")
ALL_IN_ONE = "KnowledgeBridge"


def manifests() -> dict[str, dict[str, Any]]:
    """The manifest of every package by its name."""
    whole = yaml.safe_load((ROOT / "manifest.yaml").read_text("utf-8"))
    found = {ALL_IN_ONE: whole}
    for tag, backend in BACKENDS.items():
        told = form(tag)["metadata"]
        manifest = copy.deepcopy(whole)
        name = f"{backend.product.replace(' ', '')}Bridge"
        label = {language: f"{words} Bridge" for language, words in told["label"].items()}
        manifest["metadata"] |= {"name": name, "label": label, "description": told["description"]}
        engines = manifest["spec"]["components"]["KnowledgeEngine"]
        engines["fromFiles"] = [f"components/knowledge_engine/{tag}.yaml"]
        found[name] = manifest
    return found


def stage(manifest: dict[str, Any], folder: Path) -> None:
    """Put one package's files into an empty folder."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=NOT_IN)
        else:
            shutil.copy(source, folder / part)
    for kind, component in manifest["spec"]["components"].items():
        for file in component["fromFiles"]:
            told = yaml.safe_load((ROOT / file).read_text("utf-8"))
            if kind == "Page":  # the sidebar shows nothing but this
                told["metadata"]["label"] = manifest["metadata"]["label"]
            (folder / file).write_text(yaml.safe_dump(told, allow_unicode=True, sort_keys=False), "utf-8")
    (folder / "manifest.yaml").write_text(yaml.safe_dump(manifest, allow_unicode=True, sort_keys=False), "utf-8")


def build(out: Path) -> list[Path]:
    """Build every package into `out` with LangBot's own builder; the paths of the packages."""
    out.mkdir(parents=True, exist_ok=True)
    built = []
    for name, manifest in manifests().items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / name
            folder.mkdir()
            stage(manifest, folder)
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):  # it builds where it stands
                package = folder / build_plugin_process("built")
            built.append(Path(shutil.move(package, out / package.name)))
    return built


if __name__ == "__main__":
    for path in build(ROOT / "dist"):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size} bytes")
