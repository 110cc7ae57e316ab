"""Links from a page to the lines of a function, and their numbers, which move when code does.

    [`Log.append`](../engine/storage/log.py#L89-L110)
      │                                     └──────── where it stands: written by this script
      └ what is meant: a function, a class, a method or a constant

    python -m tests.docs.lines          writes the numbers anew, in every page

Invariant: what a link shows begins with the very `def`, `class` or name that it speaks of.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[`([\w.]+)`\]\(([^)#\s]+\.py)#(L\d+(?:-L\d+)?)\)")
ANY = re.compile(r"\.py#L\d+")  # however it is written
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Pointer(NamedTuple):
    page: Path
    name: str
    file: Path
    lines: str  # as they are written

    @property
    def true_lines(self) -> str:
        first, last = span(ast.parse(self.file.read_text(encoding="utf-8")), self.name)
        return f"L{first}" if first == last else f"L{first}-L{last}"


def pages(root: Path = ROOT) -> list[Path]:
    """Every page of the project."""
    found = [*root.glob("*.md"), *(root / ".github").rglob("*.md")]
    for folder in ("docs", "labs", "bench", "binder", "tests"):
        found += (root / folder).rglob("*.md")
    return sorted(path for path in found if ".ipynb_checkpoints" not in path.parts)


def pointers(page: Path) -> Iterator[Pointer]:
    for name, file, lines in LINK.findall(page.read_text(encoding="utf-8")):
        yield Pointer(page, name, (page.parent / file).resolve(), lines)


def span(tree: ast.Module, name: str) -> tuple[int, int]:
    """From where to where a name is defined. `Log.append` is in `Log`, which may be anywhere."""
    body: list[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next((node for node in body if part in names(node)), None)
        if found is None:
            raise LookupError(f"there is no {name}")
        body = found.body if isinstance(found, Definition) else []
    assert found is not None
    return found.lineno, found.end_lineno or found.lineno


def names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [each.id for each in targets if isinstance(each, ast.Name)]
    return []


def renewed(page: Path) -> str:
    """A page's text with the numbers of now."""

    def link(found: re.Match[str]) -> str:
        name, file, lines = found.groups()
        true = Pointer(page, name, (page.parent / file).resolve(), lines).true_lines
        return f"[`{name}`]({file}#{true})"

    return LINK.sub(link, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for page in pages():
        text = renewed(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: its links point where the code is now")
