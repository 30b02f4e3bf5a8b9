"""What a service is sent and what its answer becomes, for the tests of one service."""

import json
from typing import Any

import httpx
from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from adapters import Pool, retrieve
from tests.contract.cases import Case
from tests.contract.stand_in import context, recording, service


async def ask(case: Case, answer: Any, pool: Pool, **settings: Any) -> tuple[RetrievalResponse, list[httpx.Request]]:
    """The response, and every request that was made for it. `answer`: a recording's name, or a JSON body."""
    told = recording(case.backend, answer) if isinstance(answer, str) else httpx.Response(200, json=answer)
    with service(case, told) as came:
        return await retrieve(context(case, **settings), pool), came


async def sent(case: Case, answer: Any, pool: Pool, **settings: Any) -> Any:
    """The body of the one search that this makes."""
    _, came = await ask(case, answer, pool, **settings)
    [request] = [request for request in came if request.method == "POST"]
    return json.loads(request.content)
