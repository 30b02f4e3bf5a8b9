import pytest

from components.knowledge_engine.engine import RemoteEngine
from tests.console.host import Plugin
from tests.recorded import DATASET, FOUND
from tests.service import Service


@pytest.fixture
async def plugin():
    made = Plugin()
    await made.initialize()
    made.engine = RemoteEngine()
    made.engine.plugin = made
    await made.engine.initialize()
    yield made
    await made.close()


@pytest.fixture
async def dify_service():
    async with Service([FOUND], looked_up=DATASET) as service:
        yield service
