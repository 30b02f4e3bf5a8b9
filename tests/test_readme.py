"""The three READMEs say the same, README.md leaves out no setting and no error, and the other texts fit the code."""

import importlib
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

from bridge import errors

ROOT = Path(__file__).parent.parent
ORIGINAL = ROOT / "README.md"
TRANSLATIONS = [ROOT / "readme" / "README_zh_Hans.md", ROOT / "readme" / "README_ja_JP.md"]
READMES = [ORIGINAL, *TRANSLATIONS]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
GUIDE = ROOT / "docs" / "adding-a-service.md"
FORMS = sorted((ROOT / "components" / "knowledge_engine").glob("*.yaml"))

LINES = 150
"""At most so many make a README that is read."""

CODE_BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)]+)\)")

ERRORS = [
    name for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.BridgeError) and value is not errors.BridgeError
]  # fmt: skip


def prose(path: Path) -> str:
    return CODE_BLOCK.sub("", path.read_text("utf-8"))


def heading_levels(path: Path) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) ", prose(path), re.MULTILINE)]


def code_blocks(path: Path) -> list[str]:
    return CODE_BLOCK.findall(path.read_text("utf-8"))


def table_columns(path: Path) -> list[int]:
    """The number of columns of every table row."""
    return [row.count("|") - 1 for row in re.findall(r"^\|.*\|$", prose(path), re.MULTILINE)]


def names(path: Path) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", prose(path)))


def settings(form: Path) -> set[str]:
    spec = yaml.safe_load(form.read_text("utf-8"))["spec"]
    return {field["name"] for field in chain(spec["creation_schema"], spec["retrieval_schema"])}


@pytest.mark.parametrize("read", [heading_levels, code_blocks, table_columns, names])
@pytest.mark.parametrize("translation", TRANSLATIONS, ids=lambda path: path.stem)
def test_translations_are_in_step(translation, read):
    assert read(ORIGINAL)
    assert read(translation) == read(ORIGINAL)


@pytest.mark.parametrize("translation", TRANSLATIONS, ids=lambda path: path.stem)
def test_translations_link_to_the_same_places(translation):
    def there(path):
        links = [link for link in LINK.findall(prose(path)) if not link.startswith("#")]
        return [link if "://" in link else (path.parent / link).resolve() for link in links]

    assert there(translation) == there(ORIGINAL)


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.stem)
def test_links_to_headings_have_one(readme):
    anchors = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", prose(readme), re.MULTILINE)}
    found = [link.removeprefix("#") for link in LINK.findall(prose(readme)) if link.startswith("#")]
    assert found
    assert set(found) <= anchors


@pytest.mark.parametrize("text", [*READMES, CONTRIBUTING, GUIDE], ids=lambda path: path.stem)
def test_linked_files_exist(text):
    links = [link for link in LINK.findall(prose(text)) if "://" not in link]
    assert links
    assert [link for link in links if not (text.parent / link.split("#")[0]).exists()] == []


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.stem)
def test_a_readme_is_short(readme):
    assert len(readme.read_text("utf-8").splitlines()) <= LINES


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_every_setting_is_named(form):
    assert settings(form) - names(ORIGINAL) == set()


def test_every_error_is_named():
    assert len(ERRORS) >= 6
    rows = re.findall(r"^\| (\w+Error) \|", prose(ORIGINAL), re.MULTILINE)
    assert sorted(rows) == sorted(ERRORS)


@pytest.mark.parametrize("text", [CONTRIBUTING, GUIDE], ids=lambda path: path.stem)
def test_named_files_exist(text):
    named = [name for name in names(text) if re.fullmatch(r"[\w.-]+(/[\w.-]+)*/([\w-]+\.(py|yaml|md|html))?", name)]
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_contributing_names_every_file_that_services_share():
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "bridge").rglob("*.py")}
    assert {file for file in files if not file.endswith("/__init__.py")} - names(CONTRIBUTING) == set()


def test_the_guides_imports_are_there():
    lines = re.findall(r"^ *from ([\w.]+) import (.+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    imported = [(module, name) for module, names in lines for name in names.split(", ")]
    assert imported
    assert [name for module, name in imported if not hasattr(importlib.import_module(module), name)] == []


def test_the_changelog_begins_with_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = re.findall(
        r"^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert versions[0] == project["version"]
