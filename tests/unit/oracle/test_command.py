"""`python -m engine oracle`: asks, judges and counts; and tells a program what it asks."""

import io
import json
import sys

import pytest

from engine.cli import main
from oracle.exam import exam


def run(*arguments: str) -> int:
    return main.main(["oracle", *arguments])


def test_it_judges_each_answer_and_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One answer is right, one wrong; to the third question nonsense comes, and then nothing."""
    one, two, three = questions = exam(7, 3)
    wrong = (two.right + 1) % len(two.options)
    lines = f"{one.right + 1}\n{wrong + 1}\nseven\n99\n\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert run("--seed", "7", "--questions", "3") == 0
    told = capsys.readouterr().out
    assert f"Right. {one.why}" in told
    assert two.options[wrong].belief in told
    assert told.count("Type a number from 1 to 4") == 2
    assert f"It is: {three.options[three.right].text}" in told
    assert "1 of 3 right." in told
    assert f"see {two.section}" in told
    assert all(question.asks in told for question in questions)


def test_the_end_of_the_input_ends_the_exam(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run("--seed", "7", "--questions", "3") == 0
    assert "0 of 0 right." in capsys.readouterr().out


def test_a_program_gets_questions_and_only_if_it_asks_the_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--seed", "7", "--questions", "5", "--json") == 0
    asked = json.loads(capsys.readouterr().out)
    assert run("--seed", "7", "--questions", "5", "--json", "--reveal") == 0
    revealed = json.loads(capsys.readouterr().out)
    assert [it["options"] for it in asked] == [it["options"] for it in revealed]
    assert not any({"right", "answer", "why"} & set(it) for it in asked)
    assert all(it["options"][it["right"]] == it["answer"] for it in revealed)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--reveal"], "--reveal goes with --json"),
        (["--level", "4"], "there is no level 4, only 1, 2, 3"),
        (["--questions", "0"], "--questions"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == main.USAGE
    assert told in capsys.readouterr().err
