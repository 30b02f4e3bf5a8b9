"""The main job on a machine with nothing: `python -m sandbox` searches every imitated service through the engine.

--serve keeps the services up on fixed ports and prints what to type into LangBot.
--langbot also starts a real LangBot with the plugin installed and a knowledge base for each service
(`uv run --group host python -m sandbox --langbot`).
"""

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import tempfile
import threading
from pathlib import Path

from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from adapters import BACKENDS, Pool, retrieve
from adapters.__main__ import HEAD, rows
from bridge.errors import BridgeError
from sandbox.langbot import PASSWORD, USER, installed
from sandbox.server import FIRST_PORT, Sandbox, running, serve
from scripts.package import ALL_IN_ONE, build

QUESTION = "After how many days are refunds paid?"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 0 where every service answered."""
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__, allow_abbrev=False)
    parser.add_argument("question", nargs="?", default=QUESTION, help="what to ask (default: %(default)s)")
    parser.add_argument("--top-k", type=int, default=3, help="how many passages (default: %(default)s)")
    parser.add_argument("--serve", action="store_true", help="stay up until Ctrl-C")
    parser.add_argument("--langbot", action="store_true", help="start LangBot with everything set up, until Ctrl-C")
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM) if given.serve or given.langbot else ():
        signal.signal(number, signal.default_int_handler)  # ends what was started, also in the background
    with contextlib.suppress(KeyboardInterrupt):
        return _langbot() if given.langbot else asyncio.run(_run(given))
    return 0


async def _run(given: argparse.Namespace) -> int:
    async with serve(FIRST_PORT if given.serve else None) as sandbox:
        if given.serve:
            print(_to_type(sandbox))
            await asyncio.Event().wait()
        return await _ask(sandbox, given.question, given.top_k)


async def _ask(sandbox: Sandbox, question: str, top_k: int) -> int:
    """One table for all: same passages, one scale of score, a protocol each."""
    print(f"{question!r}, asked through the engine with the same settings:\n\n{'service':20}{HEAD}")
    failed = 0
    async with Pool() as pool:
        for tag, backend in BACKENDS.items():
            context = RetrievalContext(
                query=question, creation_settings=sandbox[tag], retrieval_settings={"top_k": top_k}
            )
            try:
                lines = rows(await retrieve(context, pool)) or ["    found nothing"]
            except BridgeError as error:
                lines, failed = [f"  {type(error).__name__}: {error}"], 1
            print("\n".join(f"{backend.product if line is lines[0] else '':20}{line}" for line in lines))
    return failed


def _langbot() -> int:
    with tempfile.TemporaryDirectory(prefix="langbot-") as folder, running() as sandbox:
        print("Building the package and starting LangBot; this takes about a minute.", flush=True)
        package = next(path for path in build(Path(folder) / "dist") if f"-{ALL_IN_ONE}-" in path.name)
        with installed(Path(folder), [package]) as langbot:
            for tag, backend in BACKENDS.items():
                langbot.create(f"knowledge-bridge/{ALL_IN_ONE}", sandbox[tag], f"Lamp shop on {backend.product}")
            print(f"LangBot is up at {langbot.base}, user {USER}, password {PASSWORD}")
            print(f"Try Knowledge > Lamp shop on … > Retrieval, with: {QUESTION}")
            print("Ctrl-C ends it.", flush=True)
            threading.Event().wait()
    return 0


def _to_type(sandbox: Sandbox) -> str:
    """What an admin enters in LangBot's form for each service."""
    lines = ["The sandbox is up. In LangBot: Knowledge > Create, engine Knowledge Bridge, then for each service:"]
    for tag in BACKENDS:
        lines += [
            "",
            *(
                f"  {name:20} {json.dumps(value, ensure_ascii=False).strip(chr(34))}"
                for name, value in sandbox[tag].items()
            ),
        ]
    return "\n".join([*lines, "", "Ctrl-C ends it."])


if __name__ == "__main__":
    sys.exit(main())
