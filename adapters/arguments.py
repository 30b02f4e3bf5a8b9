"""The command line's options: every setting of every service but the key, each with a line of help."""

import argparse
import math
from collections.abc import Callable, Iterable
from typing import Any

from adapters import BACKENDS, CORRECT, Backend
from adapters.named import NAMED

HELP = {
    "api_base_url": "the service's address; what is pasted behind it (/v1, a page's path) does no harm",
    "dataset_id": "one id or several, separated by commas; a page's address works where the id is in it",
    "verify_tls": "check the certificate",
    "top_k": "at most how many passages",
    "score_threshold": "least score; 0 is off",
    "search_mode": "how to search; auto is as the service or dataset is set up",
    "rerank": "let the service's rerank model order the passages",
    "rerank_model": "its name (Dify: provider/name, RAGFlow: name@provider); blank is the service's own",
    "vector_weight": "share of meaning against words in a hybrid search; blank is the service's own",
    "expand_query": "let the service's language model widen the query",
    "cite_source": "put a line with document name and link before each passage",
    "long_query": "ask a query longer than the service takes in up to four pieces, or cut it",
    "timeout": "seconds for everything, retries included",
    "candidates": "how many chunks are ranked before the best are picked",
    "use_knowledge_graph": "add an entry of the knowledge graph",
    "cross_languages": "languages that the query is translated into, separated by commas",
    "token_limit": "budget of tokens for all passages together",
    "route": "run a published flow, or ask a search URL, which is then --api-base-url",
    "flow_id": "the published flow",
    "query_arg": "the flow's argument that takes the query",
    "knowledge_base_arg": "the flow's argument that takes --dataset-id; blank is not sent",
    "top_k_arg": "the flow's argument that takes --top-k; blank is not sent",
    "threshold_arg": "the flow's argument that takes --score-threshold; blank is not sent",
    "step_id": "the flow's step that searches, where its passages can't be found by their shape",
}
LEFT_OUT = ("backend", "api_key", "options", "check_on_save")
"""`backend` comes first of all; a key must not stand in a shell's history; nothing is saved here."""
CONNECTION = ("api_base_url", "verify_tls", "timeout")
"""What reaches a service, whatever is asked there."""

Schema = dict[str, Any]


def add_settings(command: argparse.ArgumentParser) -> None:
    """Give a command its options: those of several services in one group, then a group for each service."""
    common = [name for name, (_, takers) in SETTINGS.items() if len(takers) > 1]
    add_connection(command, common, "common settings")
    for tag, backend in BACKENDS.items():
        own = [name for name, (_, takers) in SETTINGS.items() if takers == [tag]]
        _add(command.add_argument_group(backend.product, None if own else "the common settings alone"), own)


def add_connection(
    command: argparse.ArgumentParser, names: Iterable[str] = CONNECTION, title: str = "settings"
) -> None:
    """Give a command one group of options: the service, and as many settings as reach it, or those named."""
    group = command.add_argument_group(title)
    group.add_argument("--backend", required=True, choices=list(BACKENDS), help="the service")
    _add(group, names)


def _add(group: argparse._ArgumentGroup, names: Iterable[str]) -> None:
    for name in names:
        schema, takers = SETTINGS[name]
        group.add_argument(
            option(name),
            dest=name,
            metavar=_placeholder(name, schema),
            type=_number(schema) if _is_number(schema) else str,
            choices=schema.get("enum"),
            help=_help(name, schema, takers),
        )


def option(name: str) -> str:
    """A setting as it is typed here."""
    return f"--{name.replace('_', '-')}"


def spoken(error: str) -> str:
    """An error's text with the settings as they are typed here; what the service said (in brackets) stays its own."""
    text = error.replace(CORRECT, "See --help")
    text = text.replace(" in the retrieval settings", "")
    return NAMED.sub(lambda found: _spoken(found[0]), text)


def _spoken(found: str) -> str:
    return found if found.startswith("(") else "the API key" if found == "api_key" else option(found)


def _settings() -> dict[str, tuple[Schema, list[str]]]:
    """Each setting: what it may be, and the services that have it."""
    found: dict[str, tuple[Schema, list[str]]] = {}
    for tag, backend in BACKENDS.items():
        for name, schema in _settings_of(backend).items():
            found.setdefault(name, (schema, []))[1].append(tag)
    return found


def _settings_of(backend: type[Backend]) -> dict[str, Schema]:
    options = backend.model_fields["options"].default
    schemas = backend.model_json_schema()["properties"] | type(options).model_json_schema()["properties"]
    schemas["top_k"] |= {"minimum": 1, "maximum": 100}  # the model clamps it, since pipelines send any number
    fixed = {name for name, schema in schemas.items() if "const" in schema}
    absent = {*LEFT_OUT, *options.OPTIONAL} - options.offers | fixed
    return {name: _plain(schema) for name, schema in schemas.items() if name not in absent}


def _plain(schema: Schema) -> Schema:
    """A schema without the choice between something and null."""
    return schema | next((kind for kind in schema.get("anyOf", ()) if kind["type"] != "null"), {})


def _is_number(schema: Schema) -> bool:
    return schema["type"] in ("integer", "number")


def _number(schema: Schema) -> Callable[[str], float]:
    """Reads a number within the setting's bounds, which a form's cleared field (0) may leave."""
    whole, low, high = schema["type"] == "integer", schema.get("minimum", -math.inf), schema.get("maximum", math.inf)

    def read(text: str) -> float:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be a {'whole ' if whole else ''}number from {low} to {high}")
        return value

    return read


def _placeholder(name: str, schema: Schema) -> str:
    if _is_number(schema):
        return "N"
    if len(schema.get("enum", ())) == 2:
        return "|".join(schema["enum"])
    return "true|false" if schema["type"] == "boolean" else name.rpartition("_")[2].upper()


def _help(name: str, schema: Schema, takers: list[str]) -> str:
    """One line: what it is, whose it is, what it may be, what it is by itself."""
    facts = []
    if 1 < len(takers) < len(BACKENDS):
        facts.append(", ".join(BACKENDS[tag].product for tag in takers))
    if "enum" in schema:
        facts.append(", ".join(schema["enum"]))
    if "minimum" in schema and "maximum" in schema:
        facts.append(f"{schema['minimum']} to {schema['maximum']}")
    default = schema.get("default")
    if default not in (None, "", []):
        shown = f"{default:g}" if _is_number(schema) else str(default)
        facts.append(f"default {shown.lower() if schema['type'] == 'boolean' else shown}")
    told = f" ({'; '.join(facts)})" if facts else ""
    return f"{HELP.get(name, '')}{told}"


SETTINGS = _settings()
