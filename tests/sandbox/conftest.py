from collections.abc import Iterator

import pytest

from sandbox.corpus import handbook
from sandbox.ranking import Index


@pytest.fixture(scope="session")
def index() -> Iterator[Index]:
    with Index(handbook()) as index:
        yield index
