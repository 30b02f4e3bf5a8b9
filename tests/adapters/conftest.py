import pytest

from adapters.__main__ import KEY_VARIABLE


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "dataset-from-the-environment")
