"""Write the form of engine `remote`, the union of the services' forms: `uv run python -m scripts.forms`."""

import copy
from pathlib import Path
from typing import Any

import yaml

from adapters import BACKENDS

ROOT = Path(__file__).parents[1]
FORMS = ROOT / "components" / "knowledge_engine"
HEAD = Path(__file__).parent / "remote.yaml"
NOTE = "# Written by scripts/forms.py out of the other forms and scripts/remote.yaml; change those.\n"

Field = dict[str, Any]

CONNECTION: Field = {
    "name": "connection",
    "label": {
        "en_US": "A connection of the plugin's page",
        "zh_Hans": "插件页面中的连接",
        "ja_JP": "プラグインのページの接続",
    },
}
"""The last choice: settings that stand under a name on the plugin's page."""


def form(tag: str) -> dict[str, Any]:
    """The form of one service's engine."""
    return dict(yaml.safe_load((FORMS / f"{tag}.yaml").read_text("utf-8")))


def remote_form() -> str:
    """The text of remote.yaml: every field of every form once, hidden where the chosen service lacks it."""
    head = yaml.safe_load(HEAD.read_text("utf-8"))
    forms = {tag: form(tag) for tag in BACKENDS}
    choice = head["spec"]["creation_schema"][0]
    choice["options"] = [{"name": tag, "label": forms[tag]["metadata"]["label"]} for tag in forms]
    choice["options"].append(CONNECTION)
    for schema in ("creation_schema", "retrieval_schema"):
        own = {field["name"]: field for field in head["spec"][schema]}
        schemas = {tag: found["spec"][schema] for tag, found in forms.items()}
        schemas["connection"] = _of_a_connection(schema, schemas, own)
        fields = _union(schemas, own)
        head["spec"][schema] = [choice, *fields] if schema == "creation_schema" else fields
    return NOTE + yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=1000)


def _of_a_connection(schema: str, schemas: dict[str, list[Field]], own: dict[str, Field]) -> list[Field]:
    """A connection brings its settings along, but for the test on saving; it may be of any service."""
    fields = {field["name"]: field for fields in schemas.values() for field in fields}
    return [own["connection"], fields["check_on_save"]] if schema == "creation_schema" else list(fields.values())


def _union(schemas: dict[str, list[Field]], own: dict[str, Field]) -> list[Field]:
    """All fields once, each behind the one that it follows in the first form that has it."""
    names: list[str] = []
    for schema in schemas.values():
        place = 0
        for field in schema:
            if field["name"] not in names:
                names.insert(place, field["name"])
            place = names.index(field["name"]) + 1
    return [_field(name, schemas, own.get(name)) for name in names]


def _field(name: str, schemas: dict[str, list[Field]], own: Field | None) -> Field:
    found = {tag: field for tag, schema in schemas.items() for field in schema if field["name"] == name}
    field = copy.deepcopy(own or next(iter(found.values())))
    field["required"] = len(found) == len(schemas) and all(f["required"] for f in found.values())
    if field["type"] == "select":
        options = {option["name"]: option for f in found.values() for option in f["options"]}
        field["options"] = list(options.values())
    elif own is None and any(_words(f) != _words(field) for f in found.values()):
        raise SystemExit(f"{name} differs between {', '.join(found)}: write what remote shows into {HEAD.name}")
    if len(found) < len(schemas):
        field["show_if"] = {"field": "backend", "operator": "in", "value": list(found)}
    return field


def _words(field: Field) -> tuple[Any, ...]:
    return field["label"], field["description"], field["type"], field["default"]


if __name__ == "__main__":
    (FORMS / "remote.yaml").write_text(remote_form(), "utf-8")
