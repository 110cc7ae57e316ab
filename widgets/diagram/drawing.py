"""Draws a layout in the style of the lab's views: cards, lines, heads of arrows.

    grey   onwards        blue   back        dashed   from any state
    ●      where it begins

The result is a Scene, so its SVG stands alone and follows the reader's light or dark theme. It
keeps only the rules of the style sheet that it uses, so a new style for another view changes no
byte here.
"""

import re
from collections.abc import Iterator
from math import ceil
from xml.sax.saxutils import escape

from widgets import palette
from widgets.diagram.layout import CARD, EDGE, SMALL, TOP, DiagramArrow, Layout, stub
from widgets.diagram.machine import Machine
from widgets.scene import UP_TO, Scene, SceneShape, circle, group, path, rect, text, width_of

BEND = 11  # the radius of a corner
BOLD = 17  # as wide as this size is what is set at 14, in bold
HEAD = 7  # how long the head of an arrow is
HEADS = {  # by where it points to
    ">": "M0 0l-8 -4v8z",
    "<": "M0 0l8 -4v8z",
    "v": "M0 0l-4 -8h8z",
    "^": "M0 0l-4 8h8z",
}
ON, BACK, ANY = ("link", "soft"), ("link lead", "leader"), ("slow", "crown")


def draw(machine: Machine) -> Scene:
    layout = Layout(machine)
    source = f"{machine.source}, {machine.table}"
    width = ceil(max(layout.width, width_of(machine.title, BOLD) + 2 * EDGE))
    drawn = [*_arrows(layout), *_cards(layout, machine)]
    shapes = [
        rect("all", 0.5, 0.5, width - 1, layout.height - 1, 10, look="paper"),
        text("title", EDGE, 30, machine.title, look="head"),
        group("machine", (width - layout.width) / 2, 0, drawn),
        text("source", width - EDGE, layout.height - 12, source, UP_TO, look="tiny mono"),
    ]
    said = "; ".join(f"{a} to {b}" for a, b in machine.arrows)
    return Scene(width, layout.height, shapes, title=f"{machine.title}: {said}")


def _cards(layout: Layout, machine: Machine) -> Iterator[SceneShape]:
    x = layout.x
    yield circle("begin", x + 22, TOP - 22, 4, look="soft")
    yield path("begins", f"M{x + 22} {TOP - 18}V{TOP - HEAD}", look=ON[0])
    yield path("enters", HEADS["v"], x + 22, TOP, look=ON[1])
    for card in layout.cards:
        words = card.lines
        y = card.y + (card.height - 15 * len(words)) / 2 + 4
        known = str(machine.states[card.name].value)
        yield rect(card.name, x, card.y, CARD, card.height, 8, look="card")
        yield text(f"{card.name} name", x + 14, y, card.name, look="bold mono")
        if _plain(known) != _plain(card.name) and known not in " ".join(words):
            after = x + 14 + 7.5 * len(card.name) + 12
            yield text(f"{card.name} value", after, y, known, look="soft")
        for number, line in enumerate(words, 1):
            yield text(f"{card.name} {number}", x + 14, y + 15 * number, line, look="soft")


def _plain(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower())


def _arrows(layout: Layout) -> Iterator[SceneShape]:
    for arrow in layout.straight:
        yield from _straight(layout, arrow)
    for arrow in layout.down:
        yield from _bow(layout, arrow, layout.x + CARD, 1, ON)
    for arrow in layout.back:
        yield from _bow(layout, arrow, layout.x, -1, BACK)
    for arrow in layout.loops:
        yield from _loop(layout, arrow)
    for each, y in layout.anywhere:
        words, key = stub(each), f"any {each.target} {each.words}"
        start = layout.x - width_of(words, SMALL) - 14
        yield path(key, f"M{start:.1f} {y}H{layout.x - HEAD}", look=ANY[0])
        yield path(f"{key} head", HEADS[">"], layout.x, y, look=ANY[1])
        yield text(f"{key} words", layout.x - 12, y - 5, words, UP_TO, look="soft")


def _straight(layout: Layout, arrow: DiagramArrow) -> Iterator[SceneShape]:
    """Through the gap between two cards: down on one side of the middle, back up on the other."""
    upper, lower = sorted((arrow.source, arrow.target))
    top = layout.cards[upper].y + layout.cards[upper].height
    bottom = layout.cards[lower].y
    down = arrow.source == upper
    x = layout.x + CARD / 2 + (12 if down else -12)
    key, (line, head) = f"{arrow.source} {arrow.target}", ON if down else BACK
    first, last, points = (top, bottom - HEAD, "v") if down else (bottom, top + HEAD, "^")
    yield path(key, f"M{x} {first}V{last}", look=line)
    yield path(f"{key} head", HEADS[points], x, bottom if down else top, look=head)
    if arrow.words:
        place = (x + 9,) if down else (x - 9,)
        how = () if down else (UP_TO,)
        yield text(f"{key} words", *place, (top + bottom) / 2 + 4, arrow.words, *how, look="soft")


def _bow(
    layout: Layout, arrow: DiagramArrow, side: float, out: int, looks: tuple[str, str]
) -> Iterator[SceneShape]:
    """Out to its lane, along it, and in again."""
    lane, bend = layout.lane(arrow), BEND * out
    falls = 1 if arrow.end > arrow.start else -1
    sweep = int(out * falls > 0)
    drawn = (
        f"M{side} {arrow.start}H{lane - bend:.1f}"
        f"a{BEND} {BEND} 0 0 {sweep} {bend} {BEND * falls}V{arrow.end - BEND * falls}"
        f"a{BEND} {BEND} 0 0 {sweep} {-bend} {BEND * falls}H{side + HEAD * out}"
    )
    key = f"{arrow.source} {arrow.target}"
    yield path(key, drawn, look=looks[0])
    yield path(f"{key} head", HEADS["<" if out > 0 else ">"], side, arrow.end, look=looks[1])
    if arrow.words:
        how = () if out > 0 else (UP_TO,)
        yield text(f"{key} words", side + 8 * out, arrow.start - 5, arrow.words, *how, look="soft")


def _loop(layout: Layout, arrow: DiagramArrow) -> Iterator[SceneShape]:
    side, key = layout.x + CARD, f"{arrow.source} itself"
    high = arrow.end - arrow.start
    yield path(
        key,
        f"M{side} {arrow.start}h{10}a{high / 2} {high / 2} 0 0 1 0 {high}H{side + HEAD}",
        look=ON[0],
    )
    yield path(f"{key} head", HEADS["<"], side, arrow.end, look=ON[1])
    if arrow.words:
        yield text(f"{key} words", side + 8, arrow.start - 5, arrow.words, look="soft")


# -- the style sheet ---------------------------------------------------------------------------


def slim(svg: str) -> str:
    """With those looks only of which every class occurs in the picture."""
    used = {"lab-scene"}
    for found in re.findall(r'class="([^"]*)"', svg):
        used.update(found.split())

    def rule(found: re.Match[str]) -> str:
        selectors = found[1].split(",")
        kept = [it.strip() for it in selectors if set(re.findall(r"\.([a-z-]+)", it)) <= used]
        return f"{', '.join(kept)} {{{found[2]}}}\n" if kept else ""

    looks = palette.looks()
    kept = re.sub(r"\s*([^{}]+)\{([^{}]*)\}\s*", rule, looks)
    return svg.replace(escape(looks), escape(kept), 1)
