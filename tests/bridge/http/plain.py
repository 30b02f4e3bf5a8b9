"""A service without habits of its own, to ask over real sockets."""

import pytest
from pydantic import SecretStr

from adapters.backend import Backend
from bridge.errors import BridgeError
from bridge.hits import Hit
from bridge.http import Access, Http, Network, Pool
from bridge.question import Question
from bridge.settings import Key
from tests.service import Service, reply

KEY = "plain-KEY-0123456789"


class Plain(Backend):
    """A service without habits of its own."""

    product = "Plain"
    backend: str = "plain"
    api_key: Key = SecretStr("")

    async def search(self, question: Question, http: Http) -> list[Hit]:
        answer = await http.post("/search", {"query": question.text})
        return [Hit("a", str(answer))]


class Dear(Plain):
    """One whose runs cost money."""

    resend = False


def backend(base: str, kind: type[Backend] = Plain, **settings) -> Backend:
    timeout = settings.pop("timeout", 4)
    return kind(
        **{"api_base_url": base, "api_key": KEY, "dataset_id": "d", "options": {"timeout": timeout}, **settings}
    )


LIMIT = Network().max_connections
PATIENT = Network(pause_after_failures=False)


async def ask(service: Service | str, pool: Pool, query: str = "what", network: Network = PATIENT, **settings) -> str:
    base = service if isinstance(service, str) else service.base
    chosen = backend(base, **settings)
    question = Question.of(query, {}, 100)
    async with Access(pool, network).open(chosen, query) as http:
        [hit] = await chosen.search(question, http)
    return hit.text


async def failure(*args, **settings) -> BridgeError:
    with pytest.raises(BridgeError) as failed:
        await ask(*args, **settings)
    told = str(failed.value)
    assert told.startswith("Plain at 127.0.0.1:")
    assert KEY not in told
    assert len(told) < 300
    return failed.value


OK = reply(body={"x": 1})
