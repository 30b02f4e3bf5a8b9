"""What LangBot's installer reads agrees with what the project says."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_requirements_are_the_projects_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (ROOT / "requirements.txt").read_text("utf-8").split("\n")[:-1] == project["dependencies"]


def test_the_version_is_said_once():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\n  version: {version}\n" in (ROOT / "manifest.yaml").read_text("utf-8")


def test_the_installers_file_names_no_sdk_and_no_option():
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    assert not [line for line in lines if line.startswith(("-", "langbot"))]
