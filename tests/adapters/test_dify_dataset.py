"""What Dify says of a dataset: when it is looked up, and what it explains."""

import asyncio

import pytest

from adapters import Pool, retrieve
from bridge.errors import BridgeError
from tests.contract.cases import case_of
from tests.contract.stand_in import context, recording
from tests.service import reply

CASE = case_of("dify")
DATASET = recording("dify", "v1.14.2__get-dataset-vectors")["response"]


@pytest.fixture
async def looked_up(service):
    """How often the dataset was asked for, and a way to search at any time of a clock that is handed in."""
    service.looked_up, service.answers = reply(body=DATASET), [reply(body={"records": []})]
    now = [1000.0]

    class Asking:
        def __init__(self, pool: Pool) -> None:
            self.pool = pool

        @property
        def times(self) -> int:
            return sum(request.method == "GET" for request in service.requests)

        @property
        def method(self) -> str:
            return service.posts[-1].json["retrieval_model"]["search_method"]

        async def ask(self, key: str = "dataset-a", later: float = 0.0) -> None:
            now[0] += later
            creation = {"api_base_url": service.base, "api_key": key}
            await retrieve(context(CASE, retrieval={"search_mode": "auto"}, creation=creation), self.pool)

        async def settled(self) -> None:
            for _ in range(200):
                if not self.pool.beside._running:
                    return
                await asyncio.sleep(0.01)

    async with Pool(lambda: now[0]) as pool:
        yield Asking(pool)


async def test_the_dataset_is_looked_up_before_the_first_search_of_a_key(looked_up):
    await looked_up.ask("dataset-a")
    await looked_up.ask("dataset-a", later=59)
    assert looked_up.times == 1
    await looked_up.ask("dataset-b")
    assert looked_up.times == 2


async def test_after_a_minute_the_dataset_is_looked_up_beside_a_search_for_the_next(looked_up, service):
    await looked_up.ask()
    first = looked_up.method
    saved = {**DATASET["retrieval_model_dict"], "search_method": "full_text_search"}
    arrived, gate = asyncio.Event(), asyncio.Event()

    async def slow(request, writer):
        arrived.set()
        await gate.wait()
        return await reply(body={**DATASET, "retrieval_model_dict": saved})(request, writer)

    service.looked_up = slow
    await looked_up.ask(later=300)
    assert looked_up.method == first
    await asyncio.wait_for(arrived.wait(), 5)
    await looked_up.ask()
    gate.set()
    await looked_up.settled()
    assert looked_up.times == 2
    await looked_up.ask()
    assert (looked_up.method, looked_up.times) == ("full_text_search", 2)


async def test_after_a_day_the_dataset_is_looked_up_first(looked_up, service):
    await looked_up.ask()
    service.looked_up = reply(body={**DATASET, "retrieval_model_dict": {"search_method": "full_text_search"}})
    await looked_up.ask(later=86_401)
    assert looked_up.method == "full_text_search"


async def test_after_a_failure_that_new_settings_can_explain_the_dataset_is_looked_up_first(looked_up, service):
    await looked_up.ask()
    service.answers = [reply(400, {"code": "provider_not_initialize", "message": "No model"})]
    with pytest.raises(BridgeError):
        await looked_up.ask()
    service.looked_up = reply(body={**DATASET, "retrieval_model_dict": {"search_method": "full_text_search"}})
    service.answers = [reply(body={"records": []})]
    service.turn = 0
    await looked_up.ask()
    assert (looked_up.method, looked_up.times) == ("full_text_search", 2)


async def test_a_look_up_beside_a_search_that_fails_changes_nothing(looked_up, service):
    await looked_up.ask()
    service.looked_up = reply(500, {"code": "x", "message": "x"})
    for _ in range(2):
        await looked_up.ask(later=61)
        await looked_up.settled()
    assert looked_up.method == DATASET["retrieval_model_dict"]["search_method"]
