"""What LangBot installs: nothing but what runs, one engine a package."""

import hashlib
import subprocess
import sys
import zipfile

import pytest
import yaml
from langbot_plugin.runtime.plugin.artifact import PluginArtifactStore

from adapters import BACKENDS
from scripts.package import ROOT, build, manifests
from tests.nightly import times


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return {path.name.split("-")[-2]: path for path in build(tmp_path_factory.mktemp("dist"))}


def test_there_is_one_for_all_and_one_for_each(packages):
    assert set(packages) == set(manifests())
    assert len(packages) == 1 + len(BACKENDS)


def test_a_package_holds_what_runs_and_nothing_else(packages):
    own = [ROOT / name for name in ("manifest.yaml", "main.py", "requirements.txt", "README.md", "assets/icon.svg")]
    for folder in ("adapters", "bridge", "components", "console", "readme"):
        own += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".html")]
    own.remove(ROOT / "console" / "page" / "page.html")  # a part of the page that stands in components, whole
    common = {path.relative_to(ROOT).as_posix() for path in own}
    for name, package in packages.items():
        listed = manifests()[name]["spec"]["components"].values()
        expected = common | {file for component in listed for file in component["fromFiles"]}
        with zipfile.ZipFile(package) as archive:
            names = {name for name in archive.namelist() if not name.endswith("/")}
        assert names == expected


def test_a_package_keeps_to_the_hosts_limits(packages):
    for package in packages.values():
        with zipfile.ZipFile(package) as archive:
            sizes = [entry.file_size for entry in archive.infolist()]
        assert len(sizes) < 512
        assert max(sizes) < 16 * 2**20
        assert package.stat().st_size < 10 * 2**20


def test_each_lists_one_engine_that_is_there(packages):
    for name, package in packages.items():
        with zipfile.ZipFile(package) as archive:
            manifest = yaml.safe_load(archive.read("manifest.yaml"))
            [engine] = manifest["spec"]["components"]["KnowledgeEngine"]["fromFiles"]
            form = yaml.safe_load(archive.read(engine))
        assert manifest["metadata"]["name"] == name
        assert (
            set(manifest["metadata"]["label"])
            == set(manifest["metadata"]["description"])
            == {"en_US", "zh_Hans", "ja_JP"}
        )
        backends = {field["name"] for field in form["spec"]["creation_schema"]} & {"backend"}
        assert bool(backends) is (name == "KnowledgeBridge")


def test_all_run_the_same_code(packages):
    def code(package):
        with zipfile.ZipFile(package) as archive:
            return {name: archive.read(name) for name in archive.namelist() if name.endswith((".py", ".txt"))}

    first, *others = map(code, packages.values())
    assert "main.py" in first
    assert all(other == first for other in others)


def test_langbots_runtime_takes_each_and_it_runs_by_itself(packages, tmp_path):
    store, engines = PluginArtifactStore(tmp_path), []
    for name, package in packages.items():
        data = package.read_bytes()
        unpacked = store.install_package(data, hashlib.sha256(data).hexdigest())
        assert (unpacked.plugin_author, unpacked.plugin_name) == ("knowledge-bridge", name)
        [path] = manifests()[name]["spec"]["components"]["KnowledgeEngine"]["fromFiles"]
        engine = yaml.safe_load((unpacked.code_path / path).read_text("utf-8"))["execution"]["python"]["attr"]
        engines.append((unpacked.code_path, engine))
    places = [place for place, _ in engines][: times(1, len(engines))]  # one by day: their code is the same
    made = "; ".join(f"engine.{engine}()" for _, engine in engines)
    code = f"import main; main.KnowledgeBridge(); from components.knowledge_engine import engine; {made}"
    for place in places:
        subprocess.run([sys.executable, "-B", "-W", "ignore", "-c", code], cwd=place, check=True, timeout=300)  # noqa: S603
