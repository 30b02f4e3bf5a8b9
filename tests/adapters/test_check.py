"""Each step from the settings to the first passages, as an admin at a shell sees it."""

import dataclasses

import pytest

from adapters.__main__ import main
from tests.adapters.shell import ADDRESS, CASE
from tests.contract.stand_in import recording
from tests.contract.stand_in import service as stand_in

pytestmark = pytest.mark.usefixtures("key")


def test_check_says_step_by_step_what_it_found(capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")):
        assert main(["check", *ADDRESS]) == 0
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines[:5]] == [["ok", s] for s in ("settings", "address", "key", "dataset", "search")]
    assert lines[1][2] == "Dify 1.14.2 at service.test answers"
    assert lines[3][2].startswith("vectors: high_quality, text_model, 3 documents")


@pytest.mark.parametrize(
    ("look_up", "search", "arguments", "steps", "says"),
    [
        ("get-dataset-key-wrong", "semantic", [], ["ok settings", "ok address", "FAIL key"], "API key was refused"),
        ("get-dataset-unknown", "semantic", [], ["ok settings", "ok address", "FAIL dataset"], "dataset_id"),
        ("get-dataset-external", "semantic", [], ["ok settings", "ok address", "FAIL dataset"], "external"),
        ("infra-database-down", "semantic", [], ["ok settings", "ok address", "FAIL dataset"], "Dify failed"),
        (
            "get-dataset-vectors",
            "provider-down",
            [],
            ["ok settings", "ok address", "ok key", "ok dataset", "FAIL search"],
            "models",
        ),
        ("get-dataset-vectors", "semantic", ["--top-k", "many"], ["FAIL settings"], "top_k"),
    ],
)
def test_check_ends_at_the_first_step_that_fails(capsys, look_up, search, arguments, steps, says):
    case = dataclasses.replace(CASE, look_up=f"v1.14.2__{look_up}")
    with stand_in(case, recording("dify", f"v1.14.2__{search}")):
        assert main(["check", *ADDRESS, *arguments]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:2]) for line in lines] == steps
    assert says in lines[-1]


def test_check_of_an_address_where_nobody_listens(capsys):
    assert main(["check", *ADDRESS, "--api-base-url", "http://127.0.0.1:9"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("FAIL address  Dify at 127.0.0.1:9: the connection was refused")
