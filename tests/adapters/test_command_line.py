"""The command line as an admin at a shell uses it."""

import json
import os
import re
import subprocess
import sys
import warnings
from getpass import GetPassWarning
from pathlib import Path

import pytest

from adapters import BACKENDS
from adapters.__main__ import KEY_VARIABLE, main
from adapters.arguments import HELP, SETTINGS, option, spoken
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


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("query", ["x", "--filters", "{"], "--filters: must be a JSON object"),
        ("query", ["x", "--filters", "[1]"], "--filters: must be a JSON object"),
        ("query", ["x", "--filters", "[" * 100_000], "--filters: must be a JSON object"),
        ("query", [""], "the query is blank"),
        ("query", [" \t\x00"], "the query is blank"),
        ("query", ["\x01\x1f\x7f"], "the query is blank"),
        ("query", ["\u200b\ufeff\u3000"], "the query is blank"),
        ("check", [" "], "the query is blank"),
        ("check", ["\udcff"], "the query is blank"),
        ("query", ["x", "--top-k", "0"], "--top-k: must be a whole number from 1 to 100"),
        ("check", ["--top-k", "101"], "--top-k: must be a whole number from 1 to 100"),
        ("query", ["x", "--top-k", "2.5"], "--top-k: must be a whole number"),
        ("query", ["x", "--top-k", "many"], "--top-k: must be a whole number"),
        ("query", ["x", "--timeout", "0"], "--timeout: must be a number from 1 to 110"),
        ("query", ["x", "--score-threshold", "nan"], "--score-threshold: must be a number from 0 to 1"),
        ("query", ["x", "--vector-weight", "1.1"], "--vector-weight: must be a number from 0 to 1"),
        ("query", ["x", "--candidates", "0"], "--candidates: must be a whole number from 1 to 10000"),
        ("query", ["x", "--search-mode", "best"], "--search-mode: invalid choice: 'best'"),
        ("query", ["x", "--flow-id", "f"], "--flow-id: Dify has no such setting"),
        ("query", ["x", "--api-key", "dataset-1"], "unrecognized arguments"),
        ("query", ["x", "--top", "5"], "unrecognized arguments"),
        ("query", [], "required: query"),
    ],
)
def test_a_command_line_that_cant_be_used(command, arguments, says, capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")) as came, pytest.raises(SystemExit) as left:
        main([command, *ADDRESS, *arguments])
    assert left.value.code == 2
    assert says in capsys.readouterr().err
    assert came == []


@pytest.mark.parametrize("command", ["query", "check"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--dataset-id", "abc"], "Dify settings: --dataset-id holds no Dify dataset id"),
        (["--api-base-url", "ftp://host"], "Dify settings: --api-base-url must start with http:// or https://"),
        (["--candidates", "5"], "Dify settings: --candidates is not available here"),
        (["--rerank", "perhaps"], "Dify settings: --rerank input should be a valid boolean"),
        (["--backend", "ragflow", "--dataset-id", "0" * 32, "--rerank", "true"], ": --rerank needs --rerank-model"),
    ],
)
def test_a_setting_that_cant_be_used(command, arguments, says, capsys):
    with stand_in(CASE, recording("dify", "v1.14.2__semantic")) as came:
        assert main([command, "x", *ADDRESS, *arguments]) == 2
    printed = capsys.readouterr()
    told, silent = (printed.err, printed.out) if command == "query" else (printed.out, printed.err)
    assert says in told
    assert silent == ""
    assert len(told.splitlines()) == 1
    assert came == []


def test_a_filter_that_cant_be_read(capsys):
    assert main(["query", "x", *ADDRESS, "--filters", '{"a": {"$near": 1}}']) == 2
    assert "Dify settings: --filters: $near is not known" in capsys.readouterr().err


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


@pytest.mark.parametrize("left", [GetPassWarning("no terminal"), EOFError()], ids=repr)
def test_a_key_is_never_read_where_it_would_be_shown(left, monkeypatch, capsys):
    def asked(_):
        if isinstance(left, Warning):
            warnings.warn(left, stacklevel=1)
        else:
            raise left

    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setattr("getpass.getpass", asked)
    with pytest.raises(SystemExit) as ended:
        main(["query", "x", *ADDRESS])
    assert ended.value.code == 2
    assert f"no API key: set {KEY_VARIABLE}" in capsys.readouterr().err


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


def run(*arguments, **settings):
    """The command in a process of its own, without a terminal and without a key."""
    env = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE} | settings.pop("env", {})
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "adapters", *arguments],
        cwd=ROOT,
        env=env,
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **{"stdin": subprocess.DEVNULL, **settings},
    )


def test_without_a_terminal_it_says_how_to_give_the_key():
    done = run("query", "x", *ADDRESS, stdin=None, input="dataset-piped")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        f"no API key: set {KEY_VARIABLE}, or run this at a terminal, where it is asked for"
    )
    assert "Traceback" not in done.stderr
    assert "dataset-piped" not in done.stderr + done.stdout


@pytest.mark.parametrize("command", ["query", "check"])
def test_an_error_is_printed_once(command):
    """Where nothing is set up for logging, Python prints warnings by itself."""
    done = run(
        command, "x", *ADDRESS, "--api-base-url", "http://127.0.0.1:9", "--timeout", "1", env={KEY_VARIABLE: "k"}
    )
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("127.0.0.1:9: ") == 1


def test_help_says_where_the_key_comes_from_and_what_exit_codes_mean():
    done = run("--help")
    assert done.returncode == 0
    assert KEY_VARIABLE in done.stdout
    assert re.findall(r"^  (\d+) ", done.stdout, re.MULTILINE) == ["0", "1", "2", "130"]


@pytest.mark.parametrize("command", ["query", "check"])
def test_every_option_has_a_line_of_help_in_the_group_of_its_service(command, capsys):
    assert set(HELP) == set(SETTINGS)
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    printed = capsys.readouterr().out
    groups = dict(re.findall(r"^(\S[^\n]*):\n((?:  [^\n]*\n)+)", printed, re.MULTILINE))
    assert {"common settings", *(backend.product for backend in BACKENDS.values())} <= set(groups)
    for name, (_, takers) in SETTINGS.items():
        group = groups["common settings" if len(takers) > 1 else BACKENDS[takers[0]].product]
        assert re.search(rf"^  {option(name)} \S+\s+\w", group, re.MULTILINE)
    assert "--candidates N" in groups["RAGFlow"]
    assert "--token-limit N" in groups["FastGPT"]
    assert "--flow-id ID" in groups["Jinba"]
    assert re.search(r"--top-k N .*\(1 to 100; default 5\)", groups["common settings"])


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Check dataset_id, and whose key api_key is.", "Check --dataset-id, and whose key the API key is."),
        ("Jinba settings: route is odd; timeout is odd.", "Jinba settings: --route is odd; --timeout is odd."),
        ("search_mode keyword is not available", "--search-mode keyword is not available"),
        ("Check the service, or raise timeout in the retrieval settings.", "Check the service, or raise --timeout."),
        ("Switch rerank off, or use it.", "Switch --rerank off, or use it."),
        ("Connect it with backend external_knowledge.", "Connect it with --backend external_knowledge."),
        ("Ask for fewer passages (top_k).", "Ask for fewer passages (--top-k)."),
        ("no answer (400: dataset_id is odd).", "no answer (400: dataset_id is odd)."),
        ("no records (keys: top_k, route).", "no records (keys: top_k, route)."),
        ("Check the embedding, rerank and chat models.", "Check the embedding, rerank and chat models."),
    ],
)
def test_settings_are_named_as_they_are_typed(text, typed):
    assert spoken(text) == typed
