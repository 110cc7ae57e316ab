"""Where everything stands in a QuorumView, and which time its lanes show.

wide     ┌ 1 ────┐ ┌ 2 ────┐ ┌ 3 ────┐        narrow   ┌ 1 ──────┐
         └───────┘ └───────┘ └───────┘                 └─────────┘
         1 ▒▒▒▒▒▒▒╲▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒                 ┌ 2 ──────┐
         2 ▒▒▒▒▒▒▒▒╲▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒                 └─────────┘ ...
         3 ▒▒▒▒▒▒▒▒▒╲▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒                 1 ▒▒▒▒▒╲▒│▒▒
                           head
"""

from dataclasses import dataclass

from proof.quorum.film import QuorumFilm

MARGIN, GAP, ROW_GAP = 16, 12, 8  # px
LEAST_CARD = 172  # px: where less is left for each, there are more rows
CARD_HEIGHT = 104
NAME = 34  # px: the numbers left of the lanes
LANE, BAND = 52, 22  # px from one lane to the next; the height of its band
TICK_MS = 50
MS_A_PX = 0.45  # ms of the run for each px of the lanes
AHEAD = 0.3  # the share of the lanes that is after the head, where the run goes on


@dataclass(frozen=True, slots=True)
class QuorumLayout:
    film: QuorumFilm
    at: int  # ms: the head
    end: int  # of the run until now
    now: bool  # the head is at the end, and stays there
    width: float

    @property
    def nodes(self) -> list[int]:
        return sorted(self.film.nodes)

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
        return self.top + LANE * (len(self.nodes) - 1) + BAND + 6

    @property
    def left(self) -> float:
        return MARGIN + NAME

    @property
    def right(self) -> float:
        return self.width - MARGIN

    @property
    def window(self) -> tuple[int, int]:
        """The first and the last ms that the lanes show."""
        span = round((self.right - self.left) * MS_A_PX)
        last = max(span, min(self.end, self.at + round(span * AHEAD)))
        return last - span, last

    def x(self, at: float) -> float:
        first, last = self.window
        share = (at - first) / (last - first)
        return self.left + min(max(share, 0), 1) * (self.right - self.left)

    def y(self, node: int) -> float:
        """The middle of a node's band among the lanes."""
        return self.top + LANE * self.nodes.index(node) + BAND / 2
