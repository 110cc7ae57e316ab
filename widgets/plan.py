"""Where the parties of a cluster stand, and the ways between them.

                 ZooKeeper
               /     |     \\          sessions
         broker 1 ─ broker 2 ─ broker 3          neighbours: straight
              └────────────────────┘             others: an arc below
         producers      legend      consumers

Invariant: cards never overlap each other, and stay within the width.
"""

from dataclasses import dataclass
from typing import NamedTuple

WIDTH = 748  # of the whole, the margins included
MARGIN, GAP = 14, 26
TOP = 150  # of the first row of brokers
MOST = 5  # brokers in a row
WIDEST = 300
HEADING, FOOT = 44, 26  # of a broker's card, above and below its replicas
CLIENTS = 56  # height of the cards of clients
INDENT = 12


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


KEEPER = Box(WIDTH / 2 - 120, 14, 240, 62)


def card_width(brokers: int) -> float:
    """A card of a cluster of so many."""
    row = min(max(brokers, 1), MOST)
    return min((WIDTH - 2 * MARGIN - GAP * (row - 1)) / row, WIDEST)


@dataclass(frozen=True)
class Plan:
    brokers: tuple[int, ...]
    inside: float  # height of what stands on a card

    @property
    def card(self) -> float:
        return HEADING + self.inside + FOOT

    @property
    def rows(self) -> int:
        return max(-(-len(self.brokers) // MOST), 1)

    def box(self, broker: int) -> Box:
        row, place = divmod(self.brokers.index(broker), MOST)
        width = card_width(len(self.brokers))
        many = min(len(self.brokers), MOST)
        left = (WIDTH - many * width - (many - 1) * GAP) / 2
        return Box(left + place * (width + GAP), TOP + row * (self.card + GAP), width, self.card)

    @property
    def floor(self) -> float:
        """Below all brokers."""
        return TOP + self.rows * (self.card + GAP) - GAP

    @property
    def arcs(self) -> float:
        """The depth that the longest arc needs."""
        if self.rows > 1:
            return 40
        return 18 * min(len(self.brokers) - 1, MOST) if len(self.brokers) > 2 else 0

    @property
    def clients(self) -> float:
        return self.floor + self.arcs + 24

    @property
    def height(self) -> float:
        return self.clients + CLIENTS + MARGIN

    @property
    def producers(self) -> Box:
        return Box(MARGIN, self.clients, 226, CLIENTS)

    @property
    def consumers(self) -> Box:
        return Box(WIDTH - MARGIN - 226, self.clients, 226, CLIENTS)

    def pairs(self) -> list[tuple[int, int]]:
        """Every two brokers that are linked in the picture; in one row all of them."""
        return [
            (one, other)
            for place, one in enumerate(self.brokers)
            for other in self.brokers[place + 1 :]
            if self.rows == 1 or self.beside(one, other)
        ]

    def beside(self, one: int, other: int) -> bool:
        return abs(self.brokers.index(one) - self.brokers.index(other)) == 1 and (
            self.box(one).y == self.box(other).y
        )

    def session(self, broker: int) -> str:
        """From ZooKeeper to a broker; to the second row it passes behind the first."""
        box, start, turn = self.box(broker), KEEPER.bottom, TOP - 38
        if box.middle == KEEPER.middle:
            return f"M{KEEPER.middle:g} {start:g}V{box.y:g}"
        bend = f"C{KEEPER.middle:g} {turn:g} {box.middle:g} {turn:g} {box.middle:g} {TOP:g}"
        return f"M{KEEPER.middle:g} {start:g}{bend}V{box.y:g}"

    def way(self, one: int, other: int) -> str:
        """From one broker to another."""
        here, there = self.box(one), self.box(other)
        if self.beside(one, other):
            y = here.y + min(84, here.height / 2)
            ends = (here.right, there.x) if here.x < there.x else (here.x, there.right)
            return f"M{ends[0]:.1f} {y:.1f}L{ends[1]:.1f} {y:.1f}"
        depth = self.dip(one, other)
        return (
            f"M{here.middle:.1f} {here.bottom:.1f}"
            f"C{here.middle:.1f} {here.bottom + depth:.1f} {there.middle:.1f} "
            f"{there.bottom + depth:.1f} {there.middle:.1f} {there.bottom:.1f}"
        )

    def dip(self, one: int, other: int) -> float:
        """How far below the brokers an arc's handles lie; it reaches three quarters of it."""
        return 24 * abs(self.brokers.index(one) - self.brokers.index(other))

    def middle(self, one: int, other: int) -> tuple[float, float]:
        """Of the way between two."""
        here, there = self.box(one), self.box(other)
        x = (here.middle + there.middle) / 2
        if self.beside(one, other):
            return x, here.y + min(84, here.height / 2)
        return x, here.bottom + 0.75 * self.dip(one, other)

    def written(self, broker: int) -> str:
        """From the producers to a leader."""
        box, start = self.box(broker), self.producers
        return _rise(start.middle, start.y, box.middle - 12, box.bottom)

    def read(self, broker: int) -> str:
        """From a leader to the consumers."""
        box, end = self.box(broker), self.consumers
        return _rise(box.middle + 12, box.bottom, end.middle, end.y)


def _rise(x1: float, y1: float, x2: float, y2: float) -> str:
    half = (y1 + y2) / 2
    return f"M{x1:.1f} {y1:.1f}C{x1:.1f} {half:.1f} {x2:.1f} {half:.1f} {x2:.1f} {y2:.1f}"
