"""Command line for an admin at a shell: query a service, or check settings step by step."""

import argparse
import asyncio
import getpass
import json
import os
import sys
import unicodedata
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from adapters import BACKENDS, Pool, retrieve
from adapters.check import check
from bridge.errors import BridgeError, SettingsError

KEY_VARIABLE = "KNOWLEDGE_BRIDGE_API_KEY"
WIDTH = 60


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 where it worked, 1 where the service failed, 2 where the command line or a setting did."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    command, query, as_json, filters = (given.pop(name, None) for name in ("command", "query", "json", "filters"))
    settings = {name: value for name, value in given.items() if value is not None}
    creation_names = set(BACKENDS[settings["backend"]].model_fields) - {"options"}
    creation = {name: value for name, value in settings.items() if name in creation_names}
    retrieval = {name: value for name, value in settings.items() if name not in creation_names}
    try:
        where = json.loads(filters) if filters else {}
    except ValueError:
        parser.error('--filters must be JSON, like {"category": "policy"}')
    if not isinstance(where, dict):
        parser.error('--filters must be a JSON object, like {"category": "policy"}')
    try:
        key = os.environ.get(KEY_VARIABLE)
        creation["api_key"] = getpass.getpass("API key: ") if key is None else key
        if command == "check":
            return asyncio.run(_check(creation, retrieval, query or ""))
        return asyncio.run(
            _query(
                RetrievalContext(query=query, creation_settings=creation, retrieval_settings=retrieval, filters=where),
                as_json=bool(as_json),
            )
        )
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m adapters",
        description="Search a knowledge service with the settings that LangBot's form has.",
        epilog=f"The API key comes from the environment variable {KEY_VARIABLE}, else it is asked for.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    query = commands.add_parser("query", help="search, and print the passages", allow_abbrev=False)
    query.add_argument("query", help="what to search for")
    query.add_argument("--json", action="store_true", help="print the whole response as JSON")
    query.add_argument("--filters", help='conditions on metadata as JSON, like {"category": "policy"}')
    probe = commands.add_parser("check", help="say step by step what works and what doesn't", allow_abbrev=False)
    probe.add_argument("query", nargs="?", help="what to search for (default: words that no cache holds)")
    for command in (query, probe):
        command.add_argument("--backend", required=True, choices=sorted(BACKENDS), help="the service")
        for name in _settings():
            command.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="VALUE")
    return parser


def _settings() -> list[str]:
    """Every setting of every service, but the key, which must not stand in a shell's history."""
    names = dict.fromkeys(
        name
        for backend in BACKENDS.values()
        for model in (backend, type(backend.model_fields["options"].default))
        for name in model.model_fields
    )
    return [name for name in names if name not in ("backend", "api_key", "options", "check_on_save")]


async def _query(context: RetrievalContext, *, as_json: bool) -> int:
    async with Pool() as pool:
        try:
            response = await retrieve(context, pool)
        except BridgeError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return _code(error)
    print(json.dumps(response.model_dump(mode="json"), ensure_ascii=False, indent=2) if as_json else table(response))
    return 0


async def _check(creation: dict[str, Any], retrieval: dict[str, Any], query: str) -> int:
    code = 0
    async with Pool() as pool:
        async for step in check(creation, retrieval, pool, query):
            code = _code(step.error) if step.error else 0
            print(f"{STATES[step.state]} {step.name:8} {step.text}", flush=True)
            if step.response and step.response.results:
                print("\n".join((HEAD, *rows(step.response))))
    return code


def _code(error: BridgeError) -> int:
    return 2 if isinstance(error, SettingsError) else 1


STATES = {"ok": "ok  ", "warning": "warn", "failed": "FAIL"}
HEAD = f"{'#':>3}  score  {'document':24}  passage"


def table(response: RetrievalResponse) -> str:
    """The entries as lines below HEAD: rank, score, document, first words."""
    lines = [HEAD, *rows(response)] if response.results else ["The service found nothing."]
    return "\n".join([*lines, *(f"note: {note}" for note in response.metadata.get("notes", ()))])


def rows(response: RetrievalResponse) -> list[str]:
    """A line for each entry."""
    found = []
    for rank, entry in enumerate(response.results, 1):
        score = "    -" if entry.score is None else f"{entry.score:.3f}"
        name = fitted(str(entry.metadata.get("document_name", "")), 24)
        words = fitted(" ".join(" ".join(part.text or "" for part in entry.content).split()), WIDTH).rstrip()
        found.append(f"{rank:>3}  {score}  {name}  {words}")
    return found


def fitted(text: str, width: int) -> str:
    """`text` in so many columns of a terminal, where a Chinese character takes two."""
    out, used = "", 0
    for char in text:
        columns = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used + columns > width - 1:
            return out + "…" + " " * (width - 1 - used)
        out, used = out + char, used + columns
    return out + " " * (width - used)


if __name__ == "__main__":
    sys.exit(main())
