"""The list of datasets at a shell."""

import json
from dataclasses import replace

import pytest

from adapters.__main__ import main
from tests.adapters.shell import CASE
from tests.contract.stand_in import recording
from tests.contract.stand_in import service as stand_in

pytestmark = pytest.mark.usefixtures("key")
LISTED = replace(CASE, look_up=CASE.listing)
PLACE = ["--backend", "dify", "--api-base-url", "http://service.test/v1"]


def test_datasets_prints_a_table(capsys):
    with stand_in(LISTED, recording("dify", "v1.14.2__semantic")) as came:
        assert main(["datasets", *PLACE, "--timeout", "5"]) == 0
    assert came[0].headers["authorization"] == "Bearer dataset-from-the-environment"
    head, economy, external = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "name", "about"]
    assert economy.split()[:2] == ["00000000-0000-4000-8000-000000000006", "economy"]
    assert economy.endswith("economy, text_model, 3 documents (economy: searched by keyword only)")
    assert external.index("0 documents (external: ") == economy.index("economy, text_model") == head.index("about")


def test_datasets_prints_json(capsys):
    with stand_in(LISTED, recording("dify", "v1.14.2__semantic")):
        assert main(["datasets", *PLACE, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["notes"] == []
    assert printed["datasets"][1] == {
        "id": "00000000-0000-4000-8000-000000000008",
        "name": "external",
        "line": "0 documents",
        "note": "external: Dify's API can't search it; connect the server behind it instead",
        "searchable": False,
        "group": "",
    }


def test_a_list_of_nothing_says_so(capsys):
    told = recording("dify", CASE.listing) | {"response": {"data": [], "total": 0}}
    with stand_in(replace(CASE, look_up=""), told):
        assert main(["datasets", *PLACE]) == 0
    assert capsys.readouterr().out == "The key may read no dataset.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (PLACE, 1, "AuthError: Dify 1.14.2 at service.test: the API key was refused"),
        ([*PLACE, "--api-base-url", "::"], 2, "SettingsError: Dify settings: --api-base-url is no address"),
        (["--backend", "jinba"], 2, "Jinba settings: datasets can't be listed here. Enter --dataset-id by hand"),
        (["--backend", "external_knowledge"], 2, "datasets can't be listed here"),
    ],
)
def test_a_list_that_fails_says_why(arguments, code, says, capsys):
    told = recording("dify", "v1.14.2__get-dataset-key-wrong")
    with stand_in(replace(CASE, look_up=""), told):
        assert main(["datasets", *arguments]) == code
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.out == ""


def test_a_list_takes_no_settings_of_a_search(capsys):
    with pytest.raises(SystemExit) as left:
        main(["datasets", *PLACE, "--top-k", "5"])
    assert left.value.code == 2
    assert "--top-k" in capsys.readouterr().err
