"""The map of ideas: a card for each in three columns, and arrows between neighbours.

    ┌───────────┐   ┌────────────┐   ┌────────────┐
    │ leader    │<──│ epoch      │──>│ generation │    a card: the idea, and what it is in short
    │ takes ... │   │ who came.. │   │ the group's│    ✓: its section's question is answered
    └─────┬─────┘   └─────┬──────┘   └────────────┘
          v               v

It is 372 px wide, so that it can be read on a phone as it is.

Invariant: an arrow leads to a card above, below or beside its own.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from widgets.ideas.idea import Idea
from widgets.scene import ABOUT, UP_TO, Scene, SceneShape, group, path, rect, text, wrap
from widgets.text_column import TextColumn

WIDTH, CARD, HIGH = 372, 108, 80  # px
ACROSS, DOWN = 20, 22  # px between two cards
EDGE = 4
HEAD = {(0, 1): "M0 0l-8 -4v8z", (0, -1): "M0 0l8 -4v8z"}  # of an arrow, by its direction
HEAD |= {(1, 0): "M0 0l-4 -8h8z", (-1, 0): "M0 0l-4 8h8z"}
CENTRE = "epoch"  # what all three columns have to do with


def idea_map(ideas: Mapping[str, Idea], answered: Collection[str] = ()) -> Scene:
    """`answered`: the ideas that get a mark."""
    mapped = [idea for idea in ideas.values() if idea.map]
    rows = 1 + max(idea.map.place[0] for idea in mapped if idea.map)
    shapes = [*_arrows(mapped), *(_card(idea, idea.name in answered) for idea in mapped)]
    height = 2 * EDGE + rows * HIGH + (rows - 1) * DOWN
    names = ", ".join(idea.name for idea in mapped)
    return Scene(WIDTH, height, shapes, title=f"A map of Kafka's ideas: {names}")


def _corner(row: int, column: int) -> tuple[int, int]:
    return EDGE + column * (CARD + ACROSS), EDGE + row * (HIGH + DOWN)


def _card(idea: Idea, answered: bool) -> SceneShape:
    assert idea.map
    names = wrap(idea.name, CARD + 4, 14, bold=True)
    told = wrap(idea.map.short, CARD - 16, 11)
    y = (HIGH - 17 * len(names) - 14 * len(told)) / 2 + 12
    look = "paper segment open" if idea.name == CENTRE else "card"
    inside = [rect("card", 0, 0, CARD, HIGH, 8, look=look)]
    column = TextColumn(CARD / 2, y, 0, 17, ABOUT)
    column.put("name", names, "head")
    column.line = 14
    column.put("short", told, "soft")
    inside += column.shapes
    if answered:
        inside.append(text("mark", CARD - 5, 15, "✓", UP_TO, look="bold ok"))
    words = f"{idea.name}: {idea.words}" + (" Answered." if answered else "")
    x, top = _corner(*idea.map.place)
    return group(idea.name, x, top, inside, label=words)


def _arrows(ideas: Iterable[Idea]) -> Iterator[SceneShape]:
    places = {idea.name: idea.map for idea in ideas if idea.map}
    for name, place in places.items():
        for other in place.leads:
            (row, column), (to_row, to_column) = place.place, places[other].place
            down, across = to_row - row, to_column - column
            assert (down, across) in HEAD, f"{name} does not lead to its neighbour {other}"
            x, y = _corner(row, column)
            begin = x + (1 + across) * CARD / 2, y + (1 + down) * HIGH / 2
            end = begin[0] + across * ACROSS, begin[1] + down * DOWN
            line = f"M{begin[0]:g} {begin[1]:g}L{end[0] - 5 * across:g} {end[1] - 5 * down:g}"
            yield path(f"{name} to {other}", line, look="link")
            yield path(f"{name} at {other}", HEAD[down, across], *end, look="soft")
