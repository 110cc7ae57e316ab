"""State machines, drawn: what a table says is in the picture, and nothing covers anything."""

import itertools
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest

import engine
from widgets.diagram import drawing, layers
from widgets.diagram.layout import CARD, DiagramArrow, Layout
from widgets.diagram.machine import Machine, TransitionRow, machines
from widgets.scene import Scene, width_of

WORD = 14  # the height of one, with some air


class Door(Enum):
    OPEN = "open"
    SHUT = "shut"  # and anybody may open it
    LOCKED = "locked"
    GONE = "gone"


class Hand(Enum):
    PUSH = "push"
    TURN = "turn"
    BREAK = "break"


HEARD: Mapping[tuple[Door, Hand], Door] = {
    (Door.OPEN, Hand.PUSH): Door.SHUT,
    (Door.SHUT, Hand.PUSH): Door.OPEN,
    (Door.SHUT, Hand.TURN): Door.LOCKED,
    (Door.LOCKED, Hand.TURN): Door.OPEN,
} | {(door, Hand.BREAK): Door.GONE for door in Door}


def plan(door: type[Enum], steps: tuple[TransitionRow, ...]) -> Machine:
    return Machine(sys.modules[__name__], "HEARD", door, steps, True)


@pytest.fixture
def door() -> Machine:
    steps = tuple(
        TransitionRow(was.name, to.name, heard.value) for (was, heard), to in HEARD.items()
    )
    return plan(Door, steps)


@pytest.fixture(scope="module")
def known() -> list[Machine]:
    return machines(engine)


def test_what_may_happen_in_every_state_is_one_arrow(door: Machine) -> None:
    (anywhere,) = door.anywhere
    assert (anywhere.target, anywhere.words, anywhere.origin) == ("GONE", ("break",), "any state")
    assert door.arrows == {
        ("OPEN", "SHUT"): ("push",),
        ("SHUT", "OPEN"): ("push",),
        ("SHUT", "LOCKED"): ("turn",),
        ("LOCKED", "OPEN"): ("turn",),
    }


def test_the_state_itself_may_be_left_out(door: Machine) -> None:
    steps = tuple(step for step in door.steps if (step.source, step.word) != ("GONE", "break"))
    (anywhere,) = plan(Door, steps).anywhere
    assert anywhere.origin == "any other"


def test_a_meaning_stands_in_the_comment_or_in_the_docstring(door: Machine) -> None:
    assert door.meanings == {"SHUT": "and anybody may open it"}
    told = ModuleType(
        "told", "Doors.\n\n    to OPEN, GONE   one can\n                    walk through\n"
    )
    machine = Machine(told, "HEARD", Door, door.steps, True)
    assert machine.meanings["OPEN"] == machine.meanings["GONE"] == "one can walk through"


def test_tables_are_read_backwards_and_forwards_and_by_what_is_heard(known: list[Machine]) -> None:
    arrows = {machine.name: machine.arrows for machine in known}
    assert ("NEW", "ONLINE") in arrows["controller-partition_state_machine"]  # BEFORE
    assert ("ONLINE", "NEW") not in arrows["controller-partition_state_machine"]
    assert ("FETCHING", "STOPPED") in arrows["client-consuming-assigned_partition"]  # TRANSITIONS
    following = arrows["replication-follower_partition"]
    assert following["FETCHING", "SEEKING_END"] == ("out of range",)


def test_every_step_of_every_table_is_in_its_picture(known: list[Machine]) -> None:
    for machine in known:
        layout = Layout(machine)
        arrows = [*layout.straight, *layout.down, *layout.back, *layout.loops]
        names = machine.names
        drawn = {(names[it.source], names[it.target], word) for it in arrows for word in _words(it)}
        for each, _ in layout.anywhere:
            drawn |= {
                (source, each.target, word)
                for source in names
                for word in each.words
                if each.itself or source != each.target
            }
        assert drawn == {tuple(step) for step in machine.steps}, machine.name


def _words(arrow: DiagramArrow) -> list[str]:
    return arrow.words.split(", ")


def test_no_two_arrows_share_a_port_or_a_lane(known: list[Machine], door: Machine) -> None:
    for machine in [*known, door]:
        layout = Layout(machine)
        for side in (layout.back, [*layout.down, *layout.loops]):
            ports = sorted(y for it in side for y in (it.start, it.end))
            assert all(b - a >= WORD for a, b in itertools.pairwise(ports)), machine.name
        for side in (layout.back, layout.down):
            for a, b in itertools.combinations(side, 2):
                apart = max(min(a.start, a.end), min(b.start, b.end)) > min(
                    max(a.start, a.end), max(b.start, b.end)
                )
                assert apart or layout.lane(a) != layout.lane(b), machine.name


def _boxes(scene: Scene, shift: float = 0) -> list[tuple[str, float, float, float, float]]:
    """Each text's left, right, top and bottom, in the picture."""
    found = []
    for shape in scene.shapes:
        if not isinstance(shape.content, str):
            found += _boxes(Scene(0, 0, shape.content), shift=shape.where[0])
        elif shape.kind == "text":
            x, y, *how = shape.where
            wide = _wide(shape.content, shape.look)
            left = x + shift - (wide if how == [1] else wide / 2 if how == [0] else 0)
            found.append((shape.content, left, left + wide, y - 9, y + 3))
    return found


def _wide(words: str, look: str) -> float:
    if "mono" in look:
        return len(words) * (7.3 if "bold" in look else 6.1)
    return width_of(words, drawing.BOLD if look == "head" else 11)


def test_every_lane_is_beside_the_cards_and_in_the_picture(known: list[Machine]) -> None:
    for layout in map(Layout, known):
        assert all(8 <= layout.lane(it) <= layout.x - 8 for it in layout.back)
        right = layout.x + CARD
        assert all(right + 8 <= layout.lane(it) <= layout.width - 8 for it in layout.down)


def test_no_word_covers_another_or_is_cut_off(known: list[Machine], door: Machine) -> None:
    pyproject = Path(engine.__file__).parents[1] / "pyproject.toml"
    for scene in [layers.draw(pyproject), *map(drawing.draw, [*known, door])]:
        boxes = _boxes(scene)
        for word, left, right, top, bottom in boxes:
            assert left >= 0 and right <= scene.width, (scene.title, word)
            assert top >= 0 and bottom <= scene.height, (scene.title, word)
        for a, b in itertools.combinations(boxes, 2):
            apart = a[1] >= b[2] or b[1] >= a[2] or a[3] >= b[4] or b[3] >= a[4]
            assert apart, (scene.title, a[0], b[0])


def test_a_picture_keeps_only_the_looks_that_it_uses(door: Machine) -> None:
    whole = drawing.draw(door).svg()
    slim = drawing.slim(whole)
    assert ".lab-scene .card" in slim and "prefers-color-scheme: dark" in slim
    assert ".band" in whole and ".band" not in slim
    assert slim.partition("</style>")[2] == whole.partition("</style>")[2]
