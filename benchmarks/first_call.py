"""In a process that has loaded nothing yet: `python -m benchmarks.first_call CONTEXT`, a RetrievalContext as JSON.

Prints, as a JSON list, the milliseconds of import and initialize, of the first call, and of the second.
"""

import asyncio
import json
import sys
import time
from itertools import pairwise


async def first_call(context: str) -> list[float]:
    """The milliseconds, one after another."""
    times = [time.perf_counter()]
    from langbot_plugin.api.entities.builtin.rag import RetrievalContext  # noqa: PLC0415 - it is what is measured

    from components.knowledge_engine.engine import RemoteEngine  # noqa: PLC0415
    from main import KnowledgeBridge  # noqa: PLC0415

    plugin = KnowledgeBridge()  # type: ignore[no-untyped-call]
    engine = RemoteEngine()  # type: ignore[no-untyped-call]
    plugin.config, engine.plugin = {}, plugin
    await plugin.initialize()
    await engine.initialize()
    times.append(time.perf_counter())
    for _ in range(2):
        await engine.retrieve(RetrievalContext.model_validate_json(context))
        times.append(time.perf_counter())
    await plugin.close()
    return [1000 * (after - before) for before, after in pairwise(times)]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(first_call(sys.argv[1]))))
