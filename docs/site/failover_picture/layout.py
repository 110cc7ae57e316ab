"""The layout of the picture, and the text of an SVG element.

    ┌────────┐   ┌ broker 1 ┬ ▮▮▮▮▮▮▮▮│      ┬ session ┐
    │producer│ · ├ broker 2 ┼ ▮▮▮▮▮▮▮▮│      ┼ ━━━━━━━ ┤     a cell is a record; the line across
    └────────┘   └ broker 3 ┴ ▮▮▮▮▮▮▮▮│      ┴ ━━━━━━━ ┘     all is the high watermark
    what happens, in a sentence
    ━━━━━━▲▒▒▒▒▒★━━━━━●──────

Wide enough to be read on a phone, where it is half as large.
"""

from html import escape
from typing import Any

from docs.site.failover_picture.keyframes import LONGEST, Motion

WIDTH, HEIGHT = 720, 404
LEFT, RIGHT = 14, WIDTH - 14
PRODUCER = (LEFT, 118, 108, 84)  # x, y, width, height
LANE_X, LANE_TOP, LANE_HEIGHT, GAP = 180, 34, 76, 12
NAME_X = LANE_X + 14
LOG_X, LOG_WIDTH, BAR = LANE_X + 138, 310, 30  # of the records, and how high they are
SESSION_X, SESSION_WIDTH = LOG_X + LOG_WIDTH + 18, 44
CAPTION, LEVEL = 334, 384  # of the words, and of the time
FLIGHT = 240  # ms that a record is seen on its way
CAUGHT_UP = FLIGHT + LONGEST  # ms until a log that has caught up is seen to have


class PictureLayout:
    def __init__(self, brokers: tuple[int, ...], most: int) -> None:
        """`most`: records that there will be."""
        self.brokers, self.most = brokers, most

    def top(self, broker: int) -> float:
        return LANE_TOP + self.brokers.index(broker) * (LANE_HEIGHT + GAP)

    def middle(self, broker: int) -> float:
        return self.top(broker) + LANE_HEIGHT / 2

    @property
    def bottom(self) -> float:
        return self.top(self.brokers[-1]) + LANE_HEIGHT

    def x(self, records: float) -> float:
        """Where a log of so many ends."""
        return LOG_X + LOG_WIDTH * records / self.most


def tag(
    name: str, look: str = "", motion: Motion | None = None, inside: str = "", **facts: Any
) -> str:
    """An element; "stroke_width" is written as "stroke-width"."""
    classes = " ".join(filter(None, [look, motion.name if motion else ""]))
    attributes = {"class": classes, "style": motion.still if motion else ""} | facts
    words = "".join(
        f' {key.replace("_", "-")}="{escape(_short(it))}"'
        for key, it in attributes.items()
        if it != ""
    )
    return f"<{name}{words}>{inside}</{name}>" if inside else f"<{name}{words}/>"


def words(
    x: float, y: float, content: str, look: str = "", motion: Motion | None = None, **facts: Any
) -> str:
    return tag("text", look, motion, escape(content, quote=False), x=x, y=y, **facts)


def group(shapes: list[str], motion: Motion | None = None, **facts: Any) -> str:
    return tag("g", "", motion, "".join(shapes), **facts)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
