import os
from pathlib import Path

import pytest

from sandbox.langbot import installed
from sandbox.server import running
from scripts.package import build
from tests.e2e.page import chromium


@pytest.fixture(scope="session")
def sandbox():
    with running() as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def langbot(tmp_path_factory):
    """One real LangBot with every package installed."""
    folder = tmp_path_factory.mktemp("langbot")
    with installed(folder, build(folder / "dist")) as langbot:
        yield langbot


@pytest.fixture(scope="package")
def browser():
    """One browser for all tests here; it ends before others run, whose event loops it would be in the way of."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def shots(tmp_path_factory):
    """Where screenshots go: E2E_SHOTS, else a temporary folder."""
    folder = Path(os.environ.get("E2E_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
