"""The forms keep to the rules of LangBot's page."""

import operator
from pathlib import Path

import pytest
import yaml

from adapters import BACKENDS
from adapters.jinba import TOP_K_LIMIT
from scripts import forms
from scripts.forms import FORMS, remote_form

LANGUAGES = {"en_US", "zh_Hans", "ja_JP"}
TYPES = {"string", "secret", "text", "integer", "float", "boolean", "select"}
NAMES = ["remote", *BACKENDS]
CHOICES = [*BACKENDS, "connection"]
HOLDS = {"eq": operator.eq, "neq": operator.ne, "in": lambda value, wanted: value in wanted}
"""The conditions that LangBot knows; with another one it always shows a field."""


def form(name):
    return yaml.safe_load((FORMS / f"{name}.yaml").read_text("utf-8"))


def fields(name):
    spec = form(name)["spec"]
    return spec["creation_schema"] + spec["retrieval_schema"]


def shown(schema, **values):
    """The fields of a schema of the form of all that stand there, given what the form holds."""
    held = {field["name"]: field["default"] for field in fields("remote")} | values
    conditions = [(field, field.get("show_if")) for field in form("remote")["spec"][schema]]
    return [f for f, c in conditions if not c or HOLDS[c["operator"]](held[c["field"]], c["value"])]


def texts(field):
    options = [word for option in field.get("options", []) for word in option["label"].values()]
    return [*field["label"].values(), *field["description"].values(), *options]


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
        fixed = {field for field, schema in options.model_json_schema()["properties"].items() if "const" in schema}
        retrieval |= (set(options.model_fields) - set(options.OPTIONAL) - {"search_mode"} - fixed) | set(options.offers)
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
    schemas = options.model_json_schema()["properties"]
    offered = {
        f["name"]: {o["name"] for o in f["options"]} for f in form(name)["spec"]["retrieval_schema"] if "options" in f
    }
    assert offered.pop("search_mode", None) == ({"auto", *options.modes} if options.modes else None)
    assert offered == {field: set(schemas[field]["enum"]) for field in offered}


@pytest.mark.parametrize("name", NAMES)
def test_secrets_are_masked(name):
    assert {field["type"] for field in fields(name) if field["name"] == "api_key"} == {"secret"}
    assert {field["name"] for field in fields(name) if field["type"] == "secret"} == {"api_key"}


@pytest.mark.parametrize("name", BACKENDS)
def test_what_the_form_of_all_sends_unseen_does_no_harm(name):
    """LangBot sends the value of a hidden field too."""
    options = type(BACKENDS[name].model_fields["options"].default)
    defaults = {field["name"]: field["default"] for field in form("remote")["spec"]["retrieval_schema"]}
    assert options.model_validate(defaults) == options()


@pytest.mark.parametrize("name", NAMES)
def test_a_condition_is_one_that_langbot_knows(name):
    there = {field["name"] for field in fields(name)}
    for condition in [field["show_if"] for field in fields(name) if "show_if" in field]:
        assert set(condition) == {"field", "operator", "value"}
        assert condition["operator"] in HOLDS
        assert condition["field"] in there


def test_fields_of_a_name_share_one_value():
    """LangBot keeps one value for all of them, with the default and the type of the last."""
    kinds = {(field["name"], field["type"], field["default"]) for field in fields("remote")}
    assert len(kinds) == len({name for name, *_ in kinds})


@pytest.mark.parametrize("schema", ["creation_schema", "retrieval_schema"])
@pytest.mark.parametrize("tag", BACKENDS)
def test_a_service_shows_its_own_form_in_its_own_words(tag, schema):
    changes = yaml.safe_load(forms.OWN.read_text("utf-8"))["changes"]
    service = [field | changes.get(field["name"], {}) for field in form(tag)["spec"][schema]]
    there = [
        field for field in shown(schema, backend=tag, flow_id="any" * (tag == "jinba")) if field["name"] != "backend"
    ]
    words = ("name", "label", "description", "type", "default", "options")
    assert [[f.get(w) for w in words] for f in there] == [[f.get(w) for w in words] for f in service]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_flows_arguments_need_a_flow(choice):
    """Route is a second condition, and a field has one: so they hang on the flow's id."""
    names = {field["name"] for field in shown("creation_schema", backend=choice)}
    assert not names & {"query_arg", "knowledge_base_arg", "top_k_arg", "threshold_arg", "step_id"}


def test_a_connection_shows_what_all_services_have():
    every = [{field["name"] for field in form(tag)["spec"]["retrieval_schema"]} for tag in BACKENDS]
    assert [f["name"] for f in shown("creation_schema", backend="connection")] == [
        "backend",
        "connection",
        "check_on_save",
    ]
    there = [field["name"] for field in shown("retrieval_schema", backend="connection")]
    assert len(there) == len(set(there))
    assert set(there) == set.intersection(*every)
    assert {"top_k", "score_threshold", "cite_source", "timeout"} <= set(there)


@pytest.mark.parametrize("choice", CHOICES)
def test_no_text_names_a_service_that_is_not_chosen(choice):
    values = {"backend": choice, "flow_id": "any" * (choice == "jinba")}
    there = [*shown("creation_schema", **values), *shown("retrieval_schema", **values)]
    others = [backend.product for tag, backend in BACKENDS.items() if tag not in (choice, "external_knowledge")]
    found = [(field["name"], text) for field in there for text in texts(field) if field["name"] != "backend"]
    assert [(name, text) for name, text in found if any(other.lower() in text.lower() for other in others)] == []


@pytest.mark.parametrize("choice", CHOICES)
def test_the_number_of_passages_is_what_the_service_takes(choice):
    [field] = [field for field in shown("retrieval_schema", backend=choice) if field["name"] == "top_k"]
    most, other = (TOP_K_LIMIT, 100) if choice == "jinba" else (100, TOP_K_LIMIT)
    assert all(str(most) in text and str(other) not in text for text in field["description"].values())


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


@pytest.mark.parametrize("choice", CHOICES)
def test_the_form_says_once_what_is_fixed(choice):
    """LangBot never changes creation settings; those of a connection are changed on the page."""
    there = shown("creation_schema", backend=choice)
    [told] = [field for field in there if "after creation" in field["description"]["en_US"]]
    assert told["name"] == "check_on_save"
    assert ("at any time" in told["description"]["en_US"]) == (choice == "connection")


def test_each_wording_is_shown_with_the_services_that_have_it():
    field = {"name": "x", "type": "string", "default": "", "label": {}, "required": True}
    schemas = {tag: [{**field, "description": words}] for tag, words in {"a": "1", "b": "2", "c": "1"}.items()}
    first, second = forms._union(schemas, {})
    assert (first["description"], first["show_if"]["value"]) == ("1", ["a", "c"])
    assert (second["description"], second["show_if"]["value"]) == ("2", ["b"])
    assert not first["required"]


def test_a_change_counts_for_every_wording():
    field = {"name": "x", "type": "string", "label": {}, "description": "", "required": False}
    schemas = {tag: [{**field, "default": default}] for tag, default in {"a": "1", "b": "2"}.items()}
    [only] = forms._union(schemas, {"x": {"default": ""}})
    assert only == {**field, "default": ""}
    condition = {"field": "y", "operator": "neq", "value": ""}
    [only] = forms._union({"a": schemas["a"], "b": []}, {"x": {"show_if": condition}})
    assert only["show_if"] == condition


def test_defaults_that_differ_have_to_be_settled():
    field = {"name": "x", "type": "string", "label": {}, "description": {}, "required": False}
    with pytest.raises(SystemExit, match="x has several types or defaults"):
        forms._union({"a": [{**field, "default": "1"}], "b": [{**field, "default": "2"}]}, {})


def test_words_of_a_connection_that_differ_by_service_have_to_be_written():
    field = {"name": "x", "type": "string", "default": ""}
    schemas = {"a": [{**field, "description": "1"}], "b": [{**field, "description": "2"}]}
    assert forms._shared({**schemas, "c": []}) == []
    assert forms._shared(schemas) == ["x"]
    with pytest.raises(SystemExit, match="x differs by service"):
        forms._of_a_connection(["x"], schemas, [])
    told = {"name": "x", "description": "3"}
    assert forms._of_a_connection(["x"], schemas, [told]) == [{**field, "description": "3"}]
