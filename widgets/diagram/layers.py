"""The layers of the engine, from the table by which `make check` checks imports.

    layers = ["(cli) : (sim)", "(broker) | (client)", "storage"]     in pyproject.toml

One row a layer. A package may import from the rows below its own; "|" parts siblings that never
import each other, ":" siblings that may, in one direction. The purpose of a package
is the first line of its docstring.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from widgets.scene import ABOUT, Scene, SceneShape, path, rect, text, wrap

WIDTH = 940
LEFT, TOP = 20, 54
GAP, STEP = 18, 24  # between siblings, between layers
SMALL = 11


def rows(pyproject: Path) -> list[tuple[str, list[str]]]:
    """From above: how its siblings are parted, and their names."""
    tool = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]
    contracts = tool["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["id"] == "layers")
    found = []
    for layer in layers:
        names = re.findall(r"\w+", layer)
        if names != ["__main__"]:  # which only starts cli
            found.append(("|" if "|" in layer else ":", names))
    return found


def purpose(engine: Path, name: str) -> str:
    """The first sentence of a package or a module, without its full stop."""
    file = engine / name / "__init__.py"
    file = file if file.exists() else engine / f"{name}.py"
    told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return told.partition("\n\n")[0].replace("\n", " ").replace("`", "").rstrip(".")


def draw(pyproject: Path) -> Scene:
    shapes: list[SceneShape] = [text("title", LEFT, 30, "The layers of engine/", look="head")]
    y = float(TOP)
    for sign, names in rows(pyproject):
        wide = (WIDTH - 2 * LEFT - GAP * (len(names) - 1)) / len(names)
        said = [
            wrap(purpose(pyproject.parent / "engine", name), wide - 24, SMALL) for name in names
        ]
        high = 34 + 15 * max(map(len, said))
        shapes += _row(y, high, wide, sign, list(zip(names, said, strict=True)))
        y += high + STEP
    last = y - STEP + 20
    shapes.insert(0, rect("all", 0.5, 0.5, WIDTH - 1, last - 1, 10, look="paper"))
    return Scene(WIDTH, last, shapes, title="The layers of the engine: imports point down")


def _row(
    y: float, high: float, wide: float, sign: str, cards: list[tuple[str, list[str]]]
) -> Iterator[SceneShape]:
    for place, (name, said) in enumerate(cards):
        x = LEFT + place * (wide + GAP)
        yield rect(name, x, y, wide, high, 8, look="card")
        yield text(f"{name} name", x + 12, y + 21, name, look="bold mono")
        for number, line in enumerate(said, 1):
            yield text(f"{name} {number}", x + 12, y + 21 + 15 * number, line, look="soft")
        if place:
            yield text(f"{name} sign", x - GAP / 2, y + high / 2 + 4, sign, ABOUT, look="bold")
    if y > TOP:
        yield path(f"{y} above", f"M{WIDTH / 2} {y - STEP}V{y - 7}", look="link")
        yield path(f"{y} head", "M0 0l-4 -8h8z", WIDTH / 2, y, look="soft")
