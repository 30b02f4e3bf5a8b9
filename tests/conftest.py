import pytest

from adapters import Pool
from tests.pauses import quick
from tests.service import Service


@pytest.fixture
async def pool():
    async with Pool() as pool:
        yield pool


@pytest.fixture
async def service():
    async with Service() as service:
        yield service


@pytest.fixture
def no_waiting():
    """Pauses between tries take no time; what was asked for is collected."""
    with quick() as pauses:
        yield pauses
