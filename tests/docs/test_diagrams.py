"""The diagrams in docs/ are those that the code has now, and no state machine is without one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
from widgets.diagram.layers import rows
from widgets.diagram.machine import machines
from widgets.diagram.page import files

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "diagrams"
COMMAND = "run: make docs"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return files(ROOT / "pyproject.toml")


def test_each_picture_is_what_the_code_says_now(made: dict[str, str]) -> None:
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert sorted(kept) == sorted(made), COMMAND
    assert [name for name in made if kept[name] != made[name]] == [], COMMAND


def tables(path: Path) -> Iterator[str]:
    """Dictionaries of a module whose annotation reads as a state machine's, found by another eye
    than the script's: in the text."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            match node.annotation:
                case ast.Subscript(value=ast.Name(id="Mapping" | "dict"), slice=ast.Tuple() as of):
                    key, value = map(ast.unparse, of.elts)
                    if value == f"frozenset[{key}]" or key.startswith(f"tuple[{value}, "):
                        yield node.target.id


def test_every_table_of_transitions_in_the_engine_has_a_picture() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "engine").rglob("*.py")
        for name in tables(path)
    }
    drawn = {(machine.source, machine.table) for machine in machines(engine)}
    assert found
    assert drawn >= found, COMMAND


def test_the_picture_of_the_layers_has_every_package(made: dict[str, str]) -> None:
    folder = ROOT / "engine"
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    single = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    assert {name for _, names in rows(ROOT / "pyproject.toml") for name in names} == (
        packages | single
    )
    assert [name for name in packages | single if f">{name}</text>" not in made["layers.svg"]] == []
