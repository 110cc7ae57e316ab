"""Where everything stands in a QuorumView, and which time its lanes show.

wide     ┌ 1 ────┐ ┌ 2 ────┐ ┌ 3 ────┐        narrow   ┌ 1 ──────┐
         └───────┘ └───────┘ └───────┘                 └─────────┘
         1 ▒▒▒▒▒▒▒╲▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒                 ┌ 2 ──────┐
         2 ▒▒▒▒▒▒▒▒╲▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒                 └─────────┘ ...
         3 ▒▒▒▒▒▒▒▒▒╲▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒                 1 ▒▒▒▒▒╲▒│▒▒
                           head
"""

from dataclasses import dataclass
from typing import NamedTuple

from proof.quorum.film import QuorumFilm

MARGIN, GAP, ROW_GAP = 16, 12, 8  # px
LEAST_CARD = 172  # px: where less is left for each, there are more rows
CARD_HEIGHT = 104
NAME = 34  # px: the numbers left of the lanes
LANE, BAND = 52, 22  # px from one lane to the next; the height of its band
AHEAD = 0.3  # the share of the lanes that is after the head, where the run goes on


class LanePace(NamedTuple):
    """How fast time goes in the lanes."""

    ms_a_px: float  # of the run
    tick_ms: int
    has_observers: bool  # they have lanes, too
    least_ms: int = 0  # the lanes show at least so much, on a narrow page, too


SIMULATED = LanePace(0.45, 50, True)  # messages take 10 to 30 ms, and each is seen
REAL = LanePace(11, 1000, False, 8000)  # timeouts of seconds are seen, and votes as they are


@dataclass(frozen=True, slots=True)
class QuorumLayout:
    film: QuorumFilm
    at: int  # ms: the head
    end: int  # of the run until now
    now: bool  # the head is at the end, and stays there
    width: float
    pace: LanePace = SIMULATED

    @property
    def nodes(self) -> list[int]:
        """Voters first."""
        return sorted(self.film.nodes, key=lambda id: (id not in self.film.voters, id))

    @property
    def laned(self) -> list[int]:
        """The nodes that have a lane."""
        shown = self.film.nodes if self.pace.has_observers else self.film.voters
        return [id for id in self.nodes if id in shown]

    # -- cards -----------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """Cards in a row: as many as have room, and about as many in each row."""
        count = len(self.nodes)
        most = max(1, int((self.width - 2 * MARGIN + GAP) // (LEAST_CARD + GAP)))
        rows = -(-count // most)
        return -(-count // rows)

    @property
    def card_width(self) -> float:
        return (self.width - 2 * MARGIN + GAP) / self.columns - GAP

    def card(self, place: int) -> tuple[float, float]:
        """The upper left corner of the card at this place in the row of nodes."""
        row, column = divmod(place, self.columns)
        return MARGIN + column * (self.card_width + GAP), 4 + row * (CARD_HEIGHT + ROW_GAP)

    # -- lanes -----------------------------------------------------------------------------

    @property
    def top(self) -> float:
        """The upper edge of the lanes."""
        return self.card(len(self.nodes) - 1)[1] + CARD_HEIGHT + 34

    @property
    def bottom(self) -> float:
        return self.top + LANE * (len(self.laned) - 1) + BAND + 6

    @property
    def left(self) -> float:
        return MARGIN + NAME

    @property
    def right(self) -> float:
        return self.width - MARGIN

    @property
    def window(self) -> tuple[int, int]:
        """The first and the last ms that the lanes show."""
        span = round((self.right - self.left) * self.pace.ms_a_px)
        span = max(span, self.pace.least_ms)
        last = max(span, min(self.end, self.at + round(span * AHEAD)))
        return last - span, last

    def x(self, at: float) -> float:
        first, last = self.window
        share = (at - first) / (last - first)
        return self.left + min(max(share, 0), 1) * (self.right - self.left)

    def y(self, node: int) -> float:
        """The middle of a node's band among the lanes."""
        return self.top + LANE * self.laned.index(node) + BAND / 2
