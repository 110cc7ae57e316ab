"""The table in docs/reliability.md names every place that changes a file, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
STORAGE = ROOT / "engine" / "storage"
TIDY = {"flush", "flush_path"}  # these change nothing
ROW = re.compile(r"\| `([a-z_]+\.[\w.]+)` \| ([a-z_, ]+) \| \S.* \|")


def changing() -> set[str]:
    tree = ast.parse((STORAGE / "files.py").read_text())
    return {it.name for it in tree.body if isinstance(it, ast.FunctionDef)} - TIDY


def uses(path: Path) -> Iterator[tuple[str, str]]:
    """Where in a module a function of files.py is named, called or not."""

    def walk(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                inner = (*names, child.name)
            match child:
                case ast.Attribute(value=ast.Name(id="files"), attr=name):
                    yield ".".join((path.stem, *inner)), name
            yield from walk(child, inner)

    return walk(ast.parse(path.read_text()), ())


def found() -> dict[str, set[str]]:
    places: dict[str, set[str]] = {}
    for path in sorted((ROOT / "engine").rglob("*.py")):
        for place, name in uses(path) if path.name != "files.py" else ():
            if name in changing():
                places.setdefault(place, set()).add(name)
    return places


def test_the_table_has_every_place_that_changes_a_file() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text()
    told = {match[1]: set(match[2].split(", ")) for match in ROW.finditer(text)}
    assert told == found()


def test_nothing_in_storage_goes_round_it() -> None:
    """No other module opens a file to write, or renames or removes one."""
    direct = re.compile(
        r"\bshutil\b|os\.(remove|unlink|rename|replace|truncate|ftruncate|rmdir|pwrite|writev)\b"
        r"|\.(unlink|rmdir|write_bytes|write_text|touch)\(|open\(\"[wax]"
    )
    packages = [ROOT / "engine" / name for name in ("storage", "replication")]
    modules = [path for it in packages for path in it.rglob("*.py") if path.name != "files.py"]
    assert [path.name for path in modules if direct.search(path.read_text())] == []
