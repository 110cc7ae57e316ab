"""The positions of a state machine's cards and arrows: one column, and lanes on both sides of it.

           ╭───────┐ FIRST  ├ ──╮       straight down    to the next state, or up from it
           │       └───┬────┘   │       on the right     further down, past others
           │           v        │       on the left      back up
           │       ┌────────┐   │       at a card        a step to itself, or from any state
    again  ╰───────┤ SECOND │<──╯
                   └────────┘

The states have the order of their Enum, usually the order in which they follow one another. So an
arrow on the left goes back, and shapes never overlap:

Invariant: an arrow leaves and reaches a card at a port of its own, with room for its label.
Invariant: two arrows that run beside each other have lanes of their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from widgets.diagram.machine import Anywhere, Machine
from widgets.scene import width_of, wrap

CARD = 300  # wide
GAP = 40  # between two cards
PORT = 19  # from one to the next: the height of a word
LANE = 16  # from one to the next
EDGE = 18  # around all
TOP = 66  # of the first card, below the title
SMALL = 11  # the size of labels


@dataclass
class DiagramArrow:
    source: int  # the places of the cards, from above
    target: int
    words: str
    lane: int = 0
    start: float = 0  # y
    end: float = 0


@dataclass
class StateCard:
    name: str
    lines: list[str]  # what it means
    y: float = 0
    height: float = 0
    left: list[tuple[DiagramArrow | Anywhere, bool]] = field(
        default_factory=list
    )  # and: does it leave?
    right: list[tuple[DiagramArrow, bool]] = field(default_factory=list)


class Layout:
    def __init__(self, machine: Machine) -> None:
        names = machine.names
        told = machine.meanings
        self.cards = [
            StateCard(name, wrap(told[name], CARD - 28, SMALL) if name in told else [])
            for name in names
        ]
        arrows = [
            DiagramArrow(names.index(source), names.index(target), ", ".join(words))
            for (source, target), words in machine.arrows.items()
        ]
        self.straight = [it for it in arrows if abs(it.source - it.target) == 1]
        self.loops = [it for it in arrows if it.source == it.target]
        self.down = [it for it in arrows if it.target - it.source > 1]
        self.back = [it for it in arrows if it.source - it.target > 1]
        self.anywhere: list[tuple[Anywhere, float]] = []  # and its y
        self._ports(machine.anywhere)
        _lanes(self.down)
        _lanes(self.back)
        self._place()
        words = [it.words for it in self.back]
        words += [stub(each) for each in machine.anywhere]
        self.left = _side(words, self.back)
        self.right = _side([it.words for it in self.down + self.loops], self.down + self.loops)
        self.width = 2 * EDGE + self.left + CARD + self.right
        self.height = self.cards[-1].y + self.cards[-1].height + EDGE + 18

    @property
    def x(self) -> float:
        """The left side of the cards."""
        return EDGE + self.left

    def lane(self, arrow: DiagramArrow) -> float:
        """Its x, beyond the words."""
        if arrow in self.back:
            return EDGE + LANE * (_most(self.back) - arrow.lane)
        return self.x + CARD + self.right - LANE * (_most(self.down) - arrow.lane)

    def _ports(self, anywhere: Iterable[Anywhere]) -> None:
        """In an order in which the arrows of a card do not cross."""
        for place, card in enumerate(self.cards):
            card.right = [(it, False) for it in sorted(self.down, key=_far) if it.target == place]
            leave = [it for it in self.down if it.source == place]
            card.right += [(it, True) for it in sorted(leave, key=_far, reverse=True)]
            card.right += [(it, True) for it in self.loops if it.source == place]
            card.left += [(each, False) for each in anywhere if each.target == card.name]
            card.left += [(it, True) for it in sorted(self.back, key=_far) if it.source == place]
            reach = [it for it in self.back if it.target == place]
            card.left += [(it, False) for it in sorted(reach, key=_far, reverse=True)]

    def _place(self) -> None:
        y = float(TOP)
        for card in self.cards:
            slots = max(len(card.left), len(card.right) + sum(map(self._loops, card.right)))
            text = 36 + 15 * len(card.lines) - (4 if card.lines else 0)
            card.y, card.height = y, max(text, PORT * slots + 12)
            y += card.height + GAP
            self._level(card)

    def _loops(self, port: tuple[DiagramArrow, bool]) -> bool:
        return port[0] in self.loops  # which needs a second port, to come back

    def _level(self, card: StateCard) -> None:
        """The y of each port: those of a side in the middle of the card."""
        at = card.y + (card.height - PORT * len(card.left)) / 2 + PORT - 6
        for one, leaves in card.left:
            if isinstance(one, Anywhere):
                self.anywhere.append((one, at))
            else:
                _set(one, leaves, at)
            at += PORT
        slots = len(card.right) + sum(map(self._loops, card.right))
        at = card.y + (card.height - PORT * slots) / 2 + PORT - 6
        for arrow, leaves in card.right:
            _set(arrow, leaves, at)
            if arrow in self.loops:
                at += PORT
                arrow.end = at - 4
            at += PORT


def stub(each: Anywhere) -> str:
    """The words at an arrow from anywhere."""
    heard = ", ".join(word for word in each.words if word)
    return f"{each.origin}: {heard}" if heard else each.origin


def _set(arrow: DiagramArrow, leaves: bool, y: float) -> None:
    if leaves:
        arrow.start = y
    else:
        arrow.end = y


def _far(arrow: DiagramArrow) -> int:
    return abs(arrow.source - arrow.target)


def _most(arrows: list[DiagramArrow]) -> int:
    return max((it.lane for it in arrows), default=0)


def _lanes(arrows: list[DiagramArrow]) -> None:
    """The shortest nearest to the cards; those that are beside each other in different lanes."""
    placed: list[DiagramArrow] = []
    for arrow in sorted(arrows, key=lambda it: (_far(it), it.source, it.target)):
        beside = {it.lane for it in placed if _overlap(arrow, it)}
        arrow.lane = next(lane for lane in range(len(arrows)) if lane not in beside)
        placed.append(arrow)


def _overlap(a: DiagramArrow, b: DiagramArrow) -> bool:
    first, last = sorted((a.source, a.target))
    from_, to = sorted((b.source, b.target))
    return first <= to and from_ <= last


def _side(words: list[str], arrows: list[DiagramArrow]) -> float:
    """How wide: the words, and behind them the lanes."""
    if not words:
        return 0
    return max(width_of(each, SMALL) for each in words) + 26 + LANE * _most(arrows)
