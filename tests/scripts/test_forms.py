"""The forms keep to the rules of LangBot's page."""

from pathlib import Path

import pytest
import yaml

from adapters import BACKENDS
from scripts import forms
from scripts.forms import FORMS, remote_form

LANGUAGES = {"en_US", "zh_Hans", "ja_JP"}
TYPES = {"string", "secret", "text", "integer", "float", "boolean", "select"}
NAMES = ["remote", *BACKENDS]


def form(name):
    return yaml.safe_load((FORMS / f"{name}.yaml").read_text("utf-8"))


def fields(name):
    spec = form(name)["spec"]
    return spec["creation_schema"] + spec["retrieval_schema"]


def test_the_remote_form_is_the_union_of_the_others():
    assert (FORMS / "remote.yaml").read_text("utf-8") == remote_form()


def test_every_form_is_a_backends():
    assert {path.stem for path in Path(FORMS).glob("*.yaml")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_a_default_and_every_language(name):
    for field in fields(name):
        assert "default" in field, field["name"]
        assert set(field["label"]) == set(field["description"]) == LANGUAGES, field["name"]
        assert all(field["label"].values())
        assert field["type"] in TYPES
        assert isinstance(field["required"], bool)
        for option in field.get("options", []):
            assert set(option["label"]) == LANGUAGES


@pytest.mark.parametrize("name", NAMES)
def test_what_can_be_hidden_is_not_required(name):
    assert not [f["name"] for f in fields(name) if "show_if" in f and f["required"]]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_the_models(name):
    """A form offers every setting of its backend's model and no other."""
    spec = form(name)["spec"]
    chosen = BACKENDS.values() if name == "remote" else [BACKENDS[name]]
    creation = {field for backend in chosen for field in backend.model_fields} - {"options"}
    retrieval = set()
    for backend in chosen:
        options = type(backend.model_fields["options"].default)
        retrieval |= (set(options.model_fields) - set(options.OPTIONAL) - {"search_mode"}) | set(options.offers)
        retrieval |= {"search_mode"} if options.modes else set()
    creation = creation | {"connection"} if name == "remote" else creation - {"backend"}
    assert {field["name"] for field in spec["creation_schema"]} == creation
    assert {field["name"] for field in spec["retrieval_schema"]} == retrieval


@pytest.mark.parametrize("name", BACKENDS)
def test_defaults_are_the_models_and_load(name):
    backend = BACKENDS[name]
    options = type(backend.model_fields["options"].default)
    defaults = {field["name"]: field["default"] for field in form(name)["spec"]["retrieval_schema"]}
    assert options.model_validate(defaults) == options()
    offered = {o["name"] for f in form(name)["spec"]["retrieval_schema"] for o in f.get("options", [])}
    assert offered == ({"auto", *options.modes} if options.modes else set())


@pytest.mark.parametrize("name", NAMES)
def test_secrets_are_masked(name):
    [key] = [field for field in fields(name) if field["name"] == "api_key"]
    assert key["type"] == "secret"
    assert not [field["name"] for field in fields(name) if field["type"] == "secret" and field["name"] != "api_key"]


def test_a_field_that_not_all_services_have_is_hidden_and_free():
    field = {"type": "string", "default": "", "label": {}, "description": {}, "required": True}
    both, one = {"name": "both", **field}, {"name": "one", **field}
    shown = {"field": "backend", "operator": "in", "value": ["b"]}
    assert forms._union({"a": [both], "b": [both, one]}, {}) == [both, {**one, "required": False, "show_if": shown}]


def test_a_field_stands_where_its_own_form_has_it():
    def form_of(*names):
        return [
            {"name": name, "type": "string", "default": "", "label": {}, "description": {}, "required": False}
            for name in names
        ]

    schemas = {"a": form_of("key", "timeout"), "b": form_of("route", "key", "flow", "step", "timeout")}
    assert [field["name"] for field in forms._union(schemas, {})] == ["route", "key", "flow", "step", "timeout"]


@pytest.mark.parametrize("name", NAMES)
def test_the_form_says_once_that_the_connection_is_fixed(name):
    """LangBot never changes these settings after creation; in the form of all a connection may be changed."""
    told = [field["name"] for field in fields(name) if "after creation" in field["description"]["en_US"]]
    assert told == ["check_on_save"]


def test_words_that_differ_have_to_be_settled():
    field = {"name": "x", "type": "string", "label": {}, "description": {}, "required": False}
    schemas = {"a": [{**field, "default": "1"}], "b": [{**field, "default": "2"}]}
    with pytest.raises(SystemExit, match="x differs between a, b"):
        forms._union(schemas, {})
    assert forms._union(schemas, {"x": {**field, "default": ""}}) == [{**field, "default": ""}]
