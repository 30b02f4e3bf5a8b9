import pytest

from adapters import Pool
from tests.pauses import quick
from tests.service import Service


def pytest_xdist_auto_num_workers(config):
    """As many processes as cores; one for what shares a LangBot and a browser, and for a single file."""
    alone = "not e2e" not in config.option.markexpr or all(".py" in arg for arg in config.args)
    return 0 if alone else None


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
