"""Write the form of engine `remote`, the union of the services' forms: `uv run python -m scripts.forms`."""

from pathlib import Path
from typing import Any

import yaml

from adapters import BACKENDS

ROOT = Path(__file__).parents[1]
FORMS = ROOT / "components" / "knowledge_engine"
OWN = Path(__file__).parent / "remote.yaml"
NOTE = "# Written by scripts/forms.py out of the other forms and scripts/remote.yaml; change those.\n"
CONNECTION = "connection"
SCHEMAS = ("creation_schema", "retrieval_schema")
_BY_CHOICE = ("required", "show_if")

Field = dict[str, Any]
Schemas = dict[str, list[Field]]


def form(tag: str) -> dict[str, Any]:
    """The form of one service's engine."""
    return dict(yaml.safe_load((FORMS / f"{tag}.yaml").read_text("utf-8")))


def remote_form() -> str:
    """The text of remote.yaml: every service's fields in its own words, shown where that service is chosen."""
    own = yaml.safe_load(OWN.read_text("utf-8"))
    services = {tag: form(tag) for tag in BACKENDS}
    labels = {tag: told["metadata"]["label"] for tag, told in services.items()} | {CONNECTION: own[CONNECTION]["label"]}
    choice = own["choice"] | {"options": [{"name": tag, "label": label} for tag, label in labels.items()]}
    creation, retrieval = ({tag: s["spec"][name] for tag, s in services.items()} for name in SCHEMAS)
    connected = own[CONNECTION]["creation_schema"]
    creation[CONNECTION] = _of_a_connection([field["name"] for field in connected], creation, connected)
    retrieval[CONNECTION] = _of_a_connection(_shared(retrieval), retrieval, own[CONNECTION]["retrieval_schema"])
    changes = own["changes"]
    spec = {"creation_schema": [choice, *_union(creation, changes)], "retrieval_schema": _union(retrieval, changes)}
    text = yaml.dump(own["head"] | {"spec": spec}, Dumper=_Plain, allow_unicode=True, sort_keys=False, width=1000)
    return NOTE + text


def _shared(schemas: Schemas) -> list[str]:
    """The names of the fields that all services have."""
    first, *others = ([field["name"] for field in schema] for schema in schemas.values())
    return [name for name in first if all(name in names for names in others)]


def _of_a_connection(names: list[str], schemas: Schemas, words: list[Field]) -> list[Field]:
    """These fields as all services have them; SystemExit where they differ and `words` doesn't say what holds for all."""
    own = {field["name"]: field for field in words}
    fields = []
    for name in names:
        found = [field for schema in schemas.values() for field in schema if field["name"] == name]
        if name not in own and any(field != found[0] for field in found):
            raise SystemExit(f"{name} differs by service: write what a connection shows into {OWN.name}")
        fields.append({**(found[0] if found else {}), **own.get(name, {})})
    return fields


def _union(schemas: Schemas, changes: dict[str, Field]) -> list[Field]:
    """All fields, each behind the one that it follows in the first form that has it."""
    names: list[str] = []
    for schema in schemas.values():
        place = 0
        for field in schema:
            if field["name"] not in names:
                names.insert(place, field["name"])
            place = names.index(field["name"]) + 1
    return [field for name in names for field in _wordings(name, schemas, changes.get(name, {}))]


def _wordings(name: str, schemas: Schemas, change: Field) -> list[Field]:
    """A field once for each wording that services have of it: LangBot shows the one whose condition holds.

    Required is only what always stands there, since LangBot's page holds back a save for what it hides.
    """
    found = {tag: field for tag, schema in schemas.items() for field in schema if field["name"] == name}
    told = {tag: {k: v for k, v in field.items() if k not in _BY_CHOICE} | change for tag, field in found.items()}
    wordings = [field for place, field in enumerate(told.values()) if field not in list(told.values())[:place]]
    if any((field["type"], field["default"]) != (wordings[0]["type"], wordings[0]["default"]) for field in wordings):
        raise SystemExit(f"{name} has several types or defaults: write what holds for all into {OWN.name}")
    if len(wordings) == 1 and len(found) == len(schemas):
        return [{**wordings[0], "required": all(field["required"] for field in found.values())}]
    chosen = [[tag for tag in told if told[tag] == field] for field in wordings]
    return [
        {**field, "required": False, "show_if": field.get("show_if", _one_of(tags))}
        for field, tags in zip(wordings, chosen, strict=True)
    ]


def _one_of(tags: list[str]) -> Field:
    return {"field": "backend", "operator": "in", "value": tags}


class _Plain(yaml.SafeDumper):
    """Without references between equal parts."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


if __name__ == "__main__":
    (FORMS / "remote.yaml").write_text(remote_form(), "utf-8")
