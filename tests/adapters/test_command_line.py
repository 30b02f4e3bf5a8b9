"""The command line as an admin at a shell uses it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.__main__ import KEY_VARIABLE, main
from tests.adapters.shell import ADDRESS, CASE
from tests.contract.stand_in import recording
from tests.contract.stand_in import service as stand_in

pytestmark = pytest.mark.usefixtures("key")
ROOT = Path(__file__).parents[2]


def test_query_prints_a_table(capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")) as came:
        assert main(["query", "how long?", *ADDRESS]) == 0
    assert came[-1].headers["authorization"] == "Bearer dataset-from-the-environment"
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["#", "score", "document", "passage"]
    assert lines[1].split()[:4] == ["1", "0.384", "refund-policy.txt", "Refunds"]


def test_query_prints_json(capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")):
        assert main(["query", "how long?", *ADDRESS, "--json", "--top-k", "1"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [entry["metadata"]["document_name"] for entry in printed["results"]] == ["refund-policy.txt"]


def test_query_without_hits_says_so(capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__full-text-no-hit")):
        assert main(["query", "x", *ADDRESS]) == 0
    assert "found nothing" in capsys.readouterr().out


def test_filters_and_settings_go_along(capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")) as came:
        main(["query", "x", *ADDRESS, "--search-mode", "keyword", "--filters", '{"category": "other"}'])
    model = json.loads(came[0].content)["retrieval_model"]
    assert model["search_method"] == "keyword_search"
    assert model["metadata_filtering_conditions"]["conditions"][0]["name"] == "category"
    assert "note: " in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["{", "[1]"])
def test_filters_that_are_no_object(wrong, capsys):
    with pytest.raises(SystemExit) as left:
        main(["query", "x", *ADDRESS, "--filters", wrong])
    assert left.value.code == 2
    assert "--filters" in capsys.readouterr().err


def test_a_failure_prints_the_engines_text(capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__key-wrong")):
        assert main(["query", "x", *ADDRESS, "--search-mode", "semantic"]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("AuthError: Dify 1.14.2 at service.test: the API key was refused")
    assert printed.out == ""


def test_the_key_is_asked_for_where_the_environment_has_none(monkeypatch, capsys):
    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setattr("getpass.getpass", lambda _: "dataset-typed")
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")) as came:
        main(["query", "x", *ADDRESS])
    assert came[-1].headers["authorization"] == "Bearer dataset-typed"
    assert "dataset-typed" not in capsys.readouterr().out


def test_the_key_is_no_option():
    with pytest.raises(SystemExit):
        main(["query", "x", *ADDRESS, "--api-key", "dataset-1"])


def test_wide_characters_keep_the_columns(capsys):
    told = recording("dify", "v1.14.2__semantic")
    told["response"]["records"][0]["segment"]["document"]["name"] = "退款政策" * 10
    with stand_in(CASE, told):
        main(["query", "x", *ADDRESS])
    assert "退款政策退款政策退款政…" in capsys.readouterr().out


def test_an_interrupt_ends_quietly(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setattr("getpass.getpass", interrupted)
    assert main(["query", "x", *ADDRESS]) == 130


def test_the_module_runs_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "adapters", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert KEY_VARIABLE in done.stdout
