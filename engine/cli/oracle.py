"""What will happen? Questions on clusters that a simulator makes; the run decides.

    oracle --seed 7 --questions 20          asks, one after the other; type the number of an answer
    oracle --seed 7 --level 3               only hard ones
    oracle --seed 7 --json                  the questions and their options, for a program
    oracle --seed 7 --json --reveal         also which option is right, and why

The same seed asks the same questions. An empty line is no answer; Ctrl-D ends the exam, and the
score is told.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from engine.cli.main import UsageError
from engine.cli.options import add_options, positive
from oracle.exam import LEVELS, exam, scores
from oracle.situation import OracleQuestion


def add_arguments(parser: ArgumentParser) -> None:
    add_options(
        parser,
        {
            "seed N": (int, 0, "of the questions (default: %(default)s)"),
            "questions M": (positive, 20, "how many (default: %(default)s)"),
            "level L": (int, None, "only of this level: 1 is easy, 3 is hard"),
            "json": "print the questions, and ask nothing",
            "reveal": "with --json: also the right answers",
        },
    )


def run(options: Namespace) -> int:
    if options.reveal and not options.json:
        raise UsageError("--reveal goes with --json")
    if options.level is not None and options.level not in LEVELS:
        raise UsageError(f"there is no level {options.level}, only {', '.join(map(str, LEVELS))}")
    levels = LEVELS if options.level is None else (options.level,)
    questions = exam(options.seed, options.questions, levels)
    if options.json:
        print(json.dumps([_plain(each, options.reveal) for each in questions], indent=1))
    else:
        _examine(questions)
    return 0


def _plain(question: OracleQuestion, reveal: bool) -> dict[str, object]:
    table = question.table
    plain: dict[str, object] = {
        "kind": question.kind,
        "level": question.level,
        "idea": question.idea,
        "situation": question.facts,
        "replicas": table and [dict(zip(table.head, row, strict=True)) for row in table.rows],
        "happens": question.happens,
        "question": question.asks,
        "options": [option.text for option in question.options],
    }
    if reveal:
        right = question.options[question.right]
        plain |= {"right": question.right, "answer": right.text, "why": question.why}
    return plain


def _examine(questions: list[OracleQuestion]) -> None:
    answered = []
    for number, question in enumerate(questions, 1):
        print(f"\n{number} of {len(questions)}: {question.idea}, level {question.level}\n")
        print(text(question))
        choice = _choice(len(question.options))
        if choice is None:
            break
        print(question.verdict(choice))
        answered.append((question, choice))
    print(_score(answered))


def text(question: OracleQuestion) -> str:
    """As it stands in a terminal."""
    lines = [*question.facts]
    if question.table is not None:
        lines += ["", str(question.table)]
    lines += ["", question.happens, question.asks, ""]
    lines += [f"  {number}  {option.text}" for number, option in enumerate(question.options, 1)]
    return "\n".join(lines)


def _choice(count: int) -> int | None:
    """The place of the chosen option; -1: no answer; None: the end."""
    while True:
        print(f"1 to {count}: ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print()
            return None
        if not line.strip():
            return -1
        if line.strip().isdecimal() and 1 <= int(line) <= count:
            return int(line) - 1
        print(f"Type a number from 1 to {count}, or nothing.")


def _score(answered: Iterable[tuple[OracleQuestion, int]]) -> str:
    rows = scores(answered)
    right, asked = sum(row.right for row in rows), sum(row.asked for row in rows)
    lines = [f"\n{right} of {asked} right."]
    for row in rows:
        again = f"   see {', '.join(row.sections)}" if row.sections else ""
        lines.append(f"  {row.idea:<16} {row.right} of {row.asked}{again}")
    return "\n".join(lines)
