"""The cases by which a cell decides a claim, in its own words, read from its source.

    ledger.decide("C056", when="acks=all",         CellCases(when="acks=all",
        borne_out={"first the copy": ...},               borne_out=["first the copy"],
        otherwise={"acks=1: at once": ...})              otherwise=["acks=1: at once"])
    ledger.decide(C001={"its own messages": ...})  CellCases(borne_out=["its own messages"])

No cell is run. Of a text that is put together only when the cell runs, the names stand for their
values: f"{what}: all were told" is read as "what: all were told".
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

KINDS = ("borne_out", "refuted", "otherwise", "older")  # as Ledger.decide has them


@dataclass
class CellCases:
    when: str = ""
    borne_out: list[str] = field(default_factory=list)
    refuted: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)


def cases_of(source: str) -> dict[str, CellCases]:
    """By claim: what this cell decides."""
    found: dict[str, CellCases] = {}
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "decide":
            continue
        given = {it.arg: it.value for it in node.keywords if it.arg}
        if node.args:
            found[_text(node.args[0])] = CellCases(
                _text(given["when"]) if "when" in given else "",
                *(list(_keys(given[kind])) if kind in given else [] for kind in KINDS),
            )
        else:
            found |= {key: CellCases(borne_out=list(_keys(it))) for key, it in given.items()}
    return found


def _keys(node: ast.expr) -> Iterator[str]:
    """The texts that are keys in a dict, or in several that are joined."""
    match node:
        case ast.Dict(keys=keys):
            yield from (_text(each) for each in keys if each)
        case ast.DictComp(key=key):
            yield _text(key)
        case ast.BinOp(left=left, right=right):
            yield from _keys(left)
            yield from _keys(right)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=values):
            return "".join(map(_text, values))
        case ast.FormattedValue(value=ast.Name(id=name)):
            return name
        case ast.Name(id=name):
            return name
    return "…"
