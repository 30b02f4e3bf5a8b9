"""Command line for an admin at a shell: query a service, check settings step by step, or list datasets."""

import argparse
import asyncio
import getpass
import json
import logging
import os
import sys
import unicodedata
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NoReturn

from langbot_plugin.api.entities.builtin.rag import RetrievalContext, RetrievalResponse

from adapters import BACKENDS, Dataset, Pool, list_datasets, retrieve
from adapters.arguments import add_connection, add_settings, option, spoken
from adapters.check import check
from bridge.errors import BridgeError, SettingsError
from bridge.question import Question

KEY_VARIABLE = "KNOWLEDGE_BRIDGE_API_KEY"
WIDTH = 60
EPILOG = f"""\
The API key comes from the environment variable {KEY_VARIABLE}
(set to nothing for a server that wants none), else it is asked for.

exit codes:
  0    it worked; a check may have warnings
  1    the service failed or refused
  2    the command line or a setting can't be used
  130  ended by Ctrl-C
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code as EPILOG tells it. A command line that can't be used raises SystemExit(2)."""
    given = vars(_parser().parse_args(arguments))
    command, query, as_json, filters = (given.pop(name, None) for name in ("command", "query", "json", "filters"))
    refuse = given.pop("refuse")
    backend = BACKENDS[given["backend"]]
    options = type(backend.model_fields["options"].default).model_fields
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings.keys() - backend.model_fields.keys() - options.keys():
        refuse(f"argument {option(name)}: {backend.product} has no such setting")
    creation = {name: value for name, value in settings.items() if name in backend.model_fields}
    retrieval = {name: value for name, value in settings.items() if name in options}
    logging.getLogger("adapters").addHandler(logging.NullHandler())  # what is logged is printed here
    try:
        creation["api_key"] = _key(refuse)
        if command == "check":
            return asyncio.run(_check(creation, retrieval, query or ""))
        if command == "datasets":
            return asyncio.run(_datasets(creation, retrieval, as_json=bool(as_json)))
        context = RetrievalContext(
            query=query, creation_settings=creation, retrieval_settings=retrieval, filters=filters or {}
        )
        return asyncio.run(_query(context, as_json=bool(as_json)))
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    form: dict[str, Any] = {
        "epilog": EPILOG,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }
    parser = argparse.ArgumentParser(
        prog="python -m adapters",
        description="Search a knowledge service with the settings that LangBot's form has.",
        **form,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    query = commands.add_parser(
        "query",
        help="search, and print the passages",
        description="Search, and print the passages.",
        usage=f"{parser.prog} query QUERY --backend SERVICE [settings]",
        **form,
    )
    query.add_argument("query", type=_words, help="what to search for")
    query.add_argument(
        "--filters",
        type=_filters,
        metavar="JSON",
        help='conditions on metadata as a JSON object, like {"category": "policy"}',
    )
    probe = commands.add_parser(
        "check",
        help="say step by step what works and what doesn't",
        description="Say step by step what works and what doesn't: settings, address, key, dataset, search.",
        usage=f"{parser.prog} check [QUERY] --backend SERVICE [settings]",
        **form,
    )
    probe.add_argument("query", nargs="?", type=_words, help="what to search for (default: words that no cache holds)")
    listing = commands.add_parser(
        "datasets",
        help="list the datasets that a key may read",
        description="List the datasets that a key may read: id, name, and what is known about each.",
        usage=f"{parser.prog} datasets --backend SERVICE [settings]",
        **form,
    )
    for command in (query, listing):
        command.add_argument("--json", action="store_true", help="print everything as JSON")
    for command in (query, probe, listing):
        command.set_defaults(refuse=command.error)
        (add_connection if command is listing else add_settings)(command)
    return parser


def _words(text: str) -> str:
    if not Question.of(text, {}, len(text)).text:
        raise argparse.ArgumentTypeError("the query is blank")
    return text


def _filters(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('must be a JSON object, like {"category": "policy"}')
    return value


def _key(refuse: Callable[[str], NoReturn]) -> str:
    """The key of the environment, else one typed at a terminal, where it isn't shown."""
    key = os.environ.get(KEY_VARIABLE)
    if key is not None:
        return key
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # it would read the key aloud
            return getpass.getpass("API key: ")
    except (getpass.GetPassWarning, EOFError):
        refuse(f"no API key: set {KEY_VARIABLE}, or run this at a terminal, where it is asked for")


async def _query(context: RetrievalContext, *, as_json: bool) -> int:
    async with Pool() as pool:
        try:
            response = await retrieve(context, pool)
        except BridgeError as error:
            return _failed(error)
    print(json.dumps(response.model_dump(mode="json"), ensure_ascii=False, indent=2) if as_json else table(response))
    return 0


async def _check(creation: dict[str, Any], retrieval: dict[str, Any], query: str) -> int:
    code = 0
    async with Pool() as pool:
        async for step in check(creation, retrieval, pool, query):
            code = _code(step.error) if step.error else 0
            print(f"{STATES[step.state]} {step.name:8} {spoken(step.text) if step.error else step.text}", flush=True)
            if step.response and step.response.results:
                print("\n".join((HEAD, *rows(step.response))))
    return code


async def _datasets(creation: dict[str, Any], retrieval: dict[str, Any], *, as_json: bool) -> int:
    async with Pool() as pool:
        try:
            found, notes = await list_datasets(creation, retrieval, pool)
        except BridgeError as error:
            return _failed(error)
    if as_json:
        whole = {"datasets": [asdict(one) for one in found], "notes": notes}
        print(json.dumps(whole, ensure_ascii=False, indent=2))
    else:
        print("\n".join([*choices(found), *(f"note: {note}" for note in notes)]))
    return 0


def _failed(error: BridgeError) -> int:
    print(f"{type(error).__name__}: {spoken(str(error))}", file=sys.stderr)
    return _code(error)


def _code(error: BridgeError) -> int:
    return 2 if isinstance(error, SettingsError) else 1


STATES = {"ok": "ok  ", "warning": "warn", "failed": "FAIL"}
HEAD = f"{'#':>3}  score  {'document':24}  passage"


def table(response: RetrievalResponse) -> str:
    """The entries as lines below HEAD: rank, score, document, first words."""
    lines = [HEAD, *rows(response)] if response.results else ["The service found nothing."]
    return "\n".join([*lines, *(f"note: {note}" for note in response.metadata.get("notes", ()))])


def choices(datasets: list[Dataset]) -> list[str]:
    """A line for each dataset below a head: id, name, and what is known about it."""
    if not datasets:
        return ["The key may read no dataset."]
    width = max(len(one.id) for one in datasets)
    lines = [f"{'id':{width}}  {'name':24}  about"]
    for one in datasets:
        note = f" ({one.note})" if one.note else ""
        lines.append(f"{one.id:{width}}  {fitted(one.name, 24)}  {one.line}{note}")
    return lines


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
