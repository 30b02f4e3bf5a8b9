"""The benchmark's parts: what the service answers, what the tables hold, when the document is written. No times."""

import asyncio
import json
import re
import sys
from contextlib import nullcontext

import pytest

from adapters import BACKENDS
from benchmarks import __main__ as command
from benchmarks.comparing import Load, Row
from benchmarks.document import DOCUMENT, HEAD, Run, document, medians
from benchmarks.measures import ByName, First, Growth, Query, after_idle
from benchmarks.passages import CHARACTERS, TEXTS, answer
from benchmarks.service import running
from tests.contract.cases import CASES
from tests.contract.stand_in import rows_of

LEAST = command.Effort(rounds=1, calls=2, at_once=2, starts=1, many=2)


def row(backend="dify", ratio=1.0, text="ASCII", at_once=1):
    load = Load(backend, "HTTP", text, 5, at_once)
    return Row(load, ours=1.0, bare=2.0, fresh=3.0, ratio=ratio, cpu=4.0, opened=0.0)


RUN = Run(
    "dify",
    1,
    1,
    [row()],
    [ByName("alone", 1.0, 2.0, 1.0)],
    First(800.0, 2.0, 1.0),
    [Query("the next", 1, 1, 1.0)],
    Growth(1, 0, 0),
)


@pytest.fixture(scope="module")
def service():
    with running() as service:
        yield service


def tables(text):
    """The cells of every table, row by row."""
    found = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    return [[line.strip("|").split("|") for line in table.splitlines()] for table in found]


@pytest.mark.parametrize("passages", [5, 50])
@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.backend)
def test_an_answer_has_so_many_passages_of_its_kind(case, kind, passages):
    body = answer(case, kind, passages)
    rows = [json.dumps(row, ensure_ascii=False) for row in rows_of(json.loads(body))]
    text = (TEXTS[kind].sentence * CHARACTERS)[:CHARACTERS]
    assert len(rows) == len(set(rows)) == passages
    assert [row.count(text) for row in rows] == [1] * passages
    assert body.isascii() == (kind != "Chinese")
    assert (rb"\u9000" in body) == (kind == "escaped")
    assert ("退款".encode() in body) == (kind == "Chinese")


@pytest.mark.parametrize("backend", [case.backend for case in CASES])
def test_every_service_is_asked_for_every_kind(backend):
    asked = command.loads(backend, 50)
    plain = [(scheme, "ASCII", *of) for scheme in ("HTTP", "HTTPS") for of in ((5, 1), (5, 50), (50, 1), (500, 1))]
    assert sorted(load[1:] for load in asked) == sorted(
        [*plain, ("HTTP", "Chinese", 50, 1), ("HTTP", "escaped", 50, 1)]
    )
    assert {load.backend for load in asked} == {backend}


async def test_after_idle_minutes_a_query_waits_for_one_request(service):
    found = await after_idle(service, 1, milliseconds=100)
    assert [(query.requests, query.waited_for) for query in found] == [(2, 2), (1, 1), (2, 1)]


def test_everything_is_measured_for_one_service(service, capsys):
    run = asyncio.run(command.measure(service, ["ragflow"], LEAST))
    assert [row.load for row in run.rows] == command.loads("ragflow", LEAST.at_once)
    assert [row.opened for row in run.rows] == [0.0] * len(run.rows)
    [printed] = tables(capsys.readouterr().out)
    assert len(printed) == len(run.rows) + 2
    rows, by_name, first, idle = tables(document(run))
    assert rows == printed
    assert [len(table) - 2 for table in (by_name, first, idle)] == [3, 1, 3]


def test_the_document_has_its_tables_with_all_columns():
    found = tables(document(RUN))
    assert [[len(line) for line in table] for table in found] == [[len(HEAD)] * 3, [4] * 3, [3] * 3, [4] * 3]
    assert [cell.strip() for cell in found[0][2]] == [
        *("Dify", "HTTP", "ASCII", "5", "1", "1.00", "2.00", "3.00", "**1.00**", "4.00", "0.0")
    ]


def test_the_document_that_is_there_has_the_form_of_today():
    there, today = DOCUMENT.read_text("utf-8"), document(RUN)
    assert [table[0] for table in tables(there)] == [table[0] for table in tables(today)]
    assert re.findall("^#+ .*", there, re.MULTILINE) == re.findall("^#+ .*", today, re.MULTILINE)


def test_the_medians_are_those_of_the_services():
    rows = [row("dify", 3.0), row("jinba", 1.0), row("ragflow", 1.5), row("dify", 0.5, at_once=50)]
    assert medians([*rows, row(text="Chinese", ratio=0.7)]) == (
        "- HTTP, ASCII: **1.50** with 5 passages, **0.50** with 5 passages and 50 calls at once.\n"
        "- HTTP, Chinese: **0.70** with 5 passages."
    )


@pytest.mark.parametrize(
    ("options", "writes"),
    [([], True), (["--quick"], False), (["--backend", "dify"], False), (["--quick", "--backend", "dify"], False)],
)
def test_only_a_whole_run_writes(options, writes, monkeypatch, tmp_path):
    async def measure(service, backends, effort):
        assert list(backends) == (["dify"] if "--backend" in options else list(BACKENDS))
        assert effort == (command.QUICK if "--quick" in options else command.FULL)
        return RUN

    monkeypatch.setattr(command, "measure", measure)
    monkeypatch.setattr(command, "running", nullcontext)
    monkeypatch.setattr(command, "DOCUMENT", tmp_path / "performance.md")
    monkeypatch.setattr(sys, "argv", ["benchmarks", *options])
    command.main()
    assert (tmp_path / "performance.md").exists() == writes
