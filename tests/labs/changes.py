"""What a lab asks to change: each "change me" line, with the lines that may stand in its place.

    sim.slow(1, 3, ms=250)  # change me: 1?        -> sim.slow(1, 3, ms=1)
    sim.kill(1)  # change me: leave it out         -> pass
    sim.topic("orders")  # change me: replicas=2   -> sim.topic("orders", replicas=2)
    cluster.kill(dead)  # change me: stop(dead)    -> stop(dead)

An alternative is read as a learner reads it. A keyword argument takes the place of the one with its
name, or is added to the outermost call of the line. A call takes the place of a line that is a
call. Any other value takes the place of the last value of its kind in the line. In a for
line without such a value it takes the place of what is gone through. Several alternatives are
separated by commas, by semicolons or by question marks. What stands in brackets after a space is a
remark. Of lines whose alternatives are only words, in_words.py has a text and its replacement.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.labs.in_words import IN_WORDS, NOT_TRIED
from widgets import metadata_switch

MARK = re.compile(r"change me(?:: (?P<said>.*))?$")
LEFT_OUT = ("leave it out", "leave this line out")
SUBSCRIPT = re.compile(r"\[[^\[\],]*\]")
ADDED = "add "  # a statement that comes after the line
REMARK = re.compile(r" \([a-z][^()]*\)(?=$|[?;,])")


class Change(NamedTuple):
    """One alternative of a line."""

    cell: str
    line: str  # with its comment
    said: str  # the alternative, in the notebook's words
    source: str  # of the cell, changed


class Unclear(Exception):
    """An alternative that this module cannot read."""


class Node(NamedTuple):
    """A piece of a source: where it begins and ends, in bytes."""

    tree: Any  # of class ast.AST
    start: int
    end: int


def changes_of(cell: Any, lab: str) -> list[Change]:
    """All changes that a cell asks for, apart from the switch between ZooKeeper and KRaft."""
    if metadata_switch.has_switch(cell.source) or (lab, cell.id) in NOT_TRIED:
        return []
    found, words = [], IN_WORDS.get((lab, cell.id), ())
    for old, new in words:
        if cell.source.count(old) != 1:
            raise Unclear(f"{lab}, {cell.id}: {old!r} does not stand in it once")
        line = next(it for it in cell.source.split("\n") if old.split("\n")[0] in it)
        found.append(Change(cell.id, line.strip(), new, cell.source.replace(old, new)))
    for number, line in enumerate(cell.source.split("\n"), 1):
        mark = MARK.search(line)
        if mark and not any(line.strip() == each.line for each in found):
            made = list(_read(cell.source, number, mark["said"] or ""))
            if not made:
                raise Unclear(f"{lab}, {cell.id}: nothing to try in {line.strip()!r}")
            found += [Change(cell.id, line.strip(), said, source) for said, source in made]
    return found


def _read(source: str, number: int, said: str) -> Iterator[tuple[str, str]]:
    line = source.split("\n")[number - 1].strip()
    if line.startswith("#"):  # a statement that is left out: after the mark, or before it
        statement = said or line.removeprefix("#").partition("#")[0].strip()
        yield statement, _after(source, number, statement)
        return
    text = REMARK.sub("", said)
    for part in filter(None, map(str.strip, re.split(r"[?;]", text))):
        if part in LEFT_OUT:
            yield part, _without(source, number)
        elif part.startswith(ADDED):
            yield part, _after(source, number, part.removeprefix(ADDED))
        else:
            yield from _values(source, number, part)


def _without(source: str, number: int) -> str:
    """The source without the statement that begins on a line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno == number:
            return _replaced(source, _place(source, node), "pass")
    raise Unclear(f"no statement begins on line {number}")


def _default(source: str, number: int, name: str | None) -> Node | None:
    """The default of a parameter, if a function begins on this line."""
    for tree in ast.walk(ast.parse(source)):
        if isinstance(tree, ast.FunctionDef) and tree.lineno == number:
            names, defaults = [it.arg for it in tree.args.args], tree.args.defaults
            return _place(
                source, dict(zip(reversed(names), reversed(defaults), strict=False))[name]
            )
    return None


def _before(source: str, number: int, text: str) -> str:
    lines = source.split("\n")
    lines.insert(number - 1, _indent(lines[number - 1]) + text)
    return "\n".join(lines)


def _after(source: str, number: int, statement: str) -> str:
    """The source with one more statement below a line. A line that is a comment becomes it."""
    lines = source.split("\n")
    line = lines[number - 1]
    place = slice(number - line.lstrip().startswith("#"), number)
    lines[place] = [_indent(line) + statement]
    return "\n".join(lines)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _values(source: str, number: int, part: str) -> Iterator[tuple[str, str]]:
    subscripts = _nodes(source, number, ast.Subscript)
    if SUBSCRIPT.fullmatch(part) and subscripts and not _nodes(source, number, ast.List):
        yield part, _with_subscript(source, subscripts, part)
        return
    entries = _parsed(f"{{{part}}}")
    if isinstance(entries, ast.Dict) and None not in entries.keys:
        for key, value in zip(entries.keys, entries.values, strict=True):
            yield (
                f"{ast.unparse(key)}: {ast.unparse(value)}",
                _with_entry(source, number, key, value),
            )
        return
    read = _parsed(f"_({part})")
    if not isinstance(read, ast.Call):
        raise Unclear(f"only words: {part!r}")
    for value in read.args:
        yield ast.unparse(value), _with_value(source, number, value)
    for keyword in read.keywords:
        yield ast.unparse(keyword), _with_keyword(source, number, keyword)


def _parsed(text: str) -> Any:
    """The expression; None, if these are words."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _with_subscript(source: str, subscripts: list[Node], part: str) -> str:
    place = max(subscripts, key=lambda it: it.end)
    start = _place(source, place.tree.value).end
    return _replaced(source, Node(place.tree, start, place.end), part)


def _with_value(source: str, number: int, value: ast.expr) -> str:
    if isinstance(value, ast.Call):
        nodes = _nodes(source, number, ast.Call)
        if not nodes:
            raise Unclear(f"line {number} is no call")
        alike = [it for it in nodes if ast.dump(it.tree.func) == ast.dump(value.func)]
        place = min(alike or nodes, key=lambda it: (it.start, -it.end))
    else:
        nodes = [it for it in _nodes(source, number, ast.AST) if _kind(it.tree) == _kind(value)]
        nodes = nodes or _iterated(source, number)
        if not nodes:
            raise Unclear(f"nothing like {ast.unparse(value)} on line {number}")
        place = max(nodes, key=lambda it: (it.end, -it.start))
    return _replaced(source, place, ast.unparse(value))


def _with_entry(source: str, number: int, key: Any, value: ast.expr) -> str:
    dicts = _nodes(source, number, ast.Dict)
    if not dicts:
        raise Unclear(f"no dictionary on line {number}")
    place = max(dicts, key=lambda it: (it.end, -it.start))
    entries = {ast.unparse(it): at for at, it in enumerate(place.tree.keys) if it is not None}
    at = entries.get(ast.unparse(key))
    if at is not None:
        return _replaced(source, _place(source, place.tree.values[at]), ast.unparse(value))
    text = f", {ast.unparse(key)}: {ast.unparse(value)}}}"
    return _replaced(source, Node(place.tree, place.end - 1, place.end), text)


def _with_keyword(source: str, number: int, keyword: ast.keyword) -> str:
    text = ast.unparse(keyword)
    for node in _nodes(source, number, ast.keyword):
        if node.tree.arg == keyword.arg:
            return _replaced(source, node, text)
    default = _default(source, number, keyword.arg)
    if default is not None:
        return _replaced(source, default, ast.unparse(keyword.value))
    calls = _nodes(source, number, ast.Call)
    if not calls:  # a line of a call that has several
        return _before(source, number, f"{text},")
    call = min(calls, key=lambda it: it.start)
    comma = "" if source.encode()[: call.end - 1].endswith((b",", b"(")) else ", "
    return _replaced(source, Node(call.tree, call.end - 1, call.end), f"{comma}{text})")


def _nodes(source: str, number: int, kind: type[ast.AST]) -> list[Node]:
    """All nodes of a class that stand on one line."""
    return [
        _place(source, node)
        for node in ast.walk(ast.parse(source))
        if getattr(node, "lineno", 0) == getattr(node, "end_lineno", 0) == number
        and isinstance(node, kind)
    ]


def _iterated(source: str, number: int) -> list[Node]:
    """What a loop that begins on this line goes through."""
    return [
        _place(source, node.iter)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.For) and node.lineno == number
    ]


def _kind(node: ast.AST) -> str:
    """What a value is: a number, also where it is computed, or the class of its expression."""
    if isinstance(node, ast.UnaryOp):
        return "not" if isinstance(node.op, ast.Not) else _kind(node.operand)
    if isinstance(node, ast.BinOp):
        return "number" if _kind(node.left) in ("number", "Attribute", "Name") else _kind(node.left)
    if isinstance(node, ast.Constant):
        return "number" if isinstance(node.value, int | float) else type(node.value).__name__
    return type(node).__name__


def _place(source: str, node: Any) -> Node:
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return Node(
        node,
        starts[node.lineno - 1] + node.col_offset,
        starts[node.end_lineno - 1] + node.end_col_offset,
    )


def _replaced(source: str, node: Node, text: str) -> str:
    content = source.encode()
    return (content[: node.start] + text.encode() + content[node.end :]).decode()
