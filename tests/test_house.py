"""The house keeps its own rules: what may import what, and how long a file may be."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ("adapters", "bridge", "components", "console")
LONGEST = 260
FILES = [ROOT / "main.py", *(path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py")))]
OURS = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


def imported(source: str) -> Iterator[str]:
    """The first part of every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "").partition(".")[0]


def test_main_stands_on_three_floors():
    """It is no package, so import-linter can't see it."""
    found = set(imported((ROOT / "main.py").read_text("utf-8")))
    assert found & OURS <= {"adapters", "bridge", "console"}
    assert not [name for name in found if name.startswith(".")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_can_be_read_at_once(path):
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST


def linted(house: Path) -> subprocess.CompletedProcess[str]:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, "--no-cache"],
        cwd=house,
        env={**os.environ, "COLUMNS": "200"},  # a name stays in one line
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_imports_go_down_only():
    done = linted(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("adapters/dify.py", "import httpx", "Only bridge.http does I/O"),
        ("bridge/values.py", "from console import journal", "Arrows run one way"),
        ("console/journal.py", "import components.knowledge_engine.engine", "Nobody below the plugin object knows it"),
        ("adapters/jinba.py", "from adapters import ragflow", "Services know no other service"),
    ],
)
def test_an_import_that_goes_astray_is_seen(file, line, broken, tmp_path):
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, tmp_path / floor, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / file).open("a", encoding="utf-8") as opened:
        opened.write(f"\n{line}\n")
    done = linted(tmp_path)
    assert done.returncode == 1
    assert [told for told in done.stdout.splitlines() if told.startswith(broken) and " BROKEN" in told]
