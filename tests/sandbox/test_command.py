"""`python -m sandbox`, as a newcomer runs it."""

import pytest

from adapters import BACKENDS
from sandbox.__main__ import QUESTION, main


def test_it_searches_every_service_through_the_engine(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert QUESTION in printed
    for backend in BACKENDS.values():
        assert f"\n{backend.product}  " in printed
    assert printed.count("  1  0.") == len(BACKENDS)


def test_another_question_and_number(capsys):
    assert main(["怎么重置智能灯？", "--top-k", "1"]) == 0
    printed = capsys.readouterr().out
    assert "智能灯重置.md" in printed
    assert "  2  0." not in printed


def test_a_wrong_option_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["--serve-nothing"])
    assert "usage" in capsys.readouterr().err
