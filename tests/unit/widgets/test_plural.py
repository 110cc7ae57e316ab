"""One record is "1 record": no text of widgets or labs puts a number before a plain plural."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NOUNS = ("records", "rebalances", "sessions", "members", "consumers", "brokers")


def plurals(tree: ast.AST) -> Iterator[int]:
    """The lines of texts such as f"{number} records" that are not one side of an "if"."""
    chosen = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.IfExp)
        for each in (node.body, node.orelse)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in chosen:
            before = [ast.Constant(""), *node.values]  # "3 of 4 brokers": rightly a plural
            for at, (one, other) in enumerate(zip(node.values, node.values[1:], strict=False)):
                known = str(getattr(before[at], "value", ""))
                noun = str(getattr(other, "value", "")).removeprefix(" more").strip(" ,.;").split()
                is_number = isinstance(one, ast.FormattedValue) and not known.endswith(" of ")
                if is_number and noun and noun[0].strip(",.;") in NOUNS:
                    yield node.lineno


@pytest.mark.parametrize("folder", ["widgets", "labs"])
def test_no_number_before_a_plain_plural(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in plurals(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_a_planted_one_is_found() -> None:
    assert list(plurals(ast.parse("x = f'{count} records of it'"))) == [1]
    assert not list(plurals(ast.parse("x = f'{some} of {all} records'")))
    assert not list(plurals(ast.parse("x = '1 record' if n == 1 else f'{n} records'")))
