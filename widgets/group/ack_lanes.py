"""AckLanes: how far a listener was when its process died, what was committed, what comes again.

             0   1   2   3   4   5   6   7   8   9
    BATCH   [■] [■] [■] [■] [■]|[■] [■]✗                 2 come again
                               [2] [2] [□] [□] [□]
            ■ processed  | committed  ✗ died  2 again  □ for the first time

    AckLanes({"BATCH": AckRun(processed=range(7), commits=[5], again=range(5, 10))})

A lane is the life of one group in one partition. Above are the records of the process that died,
and a line for each offset that it committed, the last one thick; below are those of its successor.
A record is shown by its offset, so a lane shows no record that was deleted.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from widgets.scene import ABOUT, FROM, UP_TO, Scene, SceneShape, group, line, rect, text, width_of
from widgets.stage import SceneWidget

MARGIN, NARROW = 16, 620  # px
CELL, BETWEEN = 15, 4  # px: the height of a cell, and from the upper to the lower row
PITCH = 2 * CELL + BETWEEN + 16  # px, from lane to lane
TOP = 34  # px: where the lanes begin, below the offsets
ENDS = 18  # px at the right of the cells, for the cross of a process that dies in the last record
PROCESSED, TWICE, FIRST, COMMITTED = "leader", "hop", "follower", "watermark"


class AckRun(NamedTuple):
    """One partition and one group, in offsets."""

    processed: Sequence[int]  # until the process died
    commits: Sequence[int]  # by that process, in order; each is the offset of the next record
    again: Sequence[int]  # what its successor processed

    @property
    def twice(self) -> list[int]:
        return sorted({*self.processed} & {*self.again})

    @property
    def lost(self) -> list[int]:
        """Passed over by a commit, though nobody has processed them."""
        every = {*self.processed, *self.again}
        return [each for each in range(max(every, default=0)) if each not in every]

    @property
    def words(self) -> str:
        number = len(self.twice)
        said = f"{number} come{'s' if number == 1 else ''} again" if number else "none comes again"
        return f"{said}, {len(self.lost)} lost" if self.lost else said


class AckLanes(SceneWidget):
    def __init__(self, runs: Mapping[str, AckRun], *, title: str = "What comes again") -> None:
        super().__init__(name=title)
        self.runs = dict(runs)
        self.draw()

    def draw(self) -> None:
        with self.lock:
            self.show(self._scene())

    # -- the picture -----------------------------------------------------------------------

    def _scene(self) -> Scene:
        narrow = self.width < NARROW
        names = max((width_of(name, 12, bold=True) for name in self.runs), default=0)
        words = max((width_of(run.words, 12) for run in self.runs.values()), default=0)
        left = MARGIN if narrow else MARGIN + names + 18
        right = self.width - MARGIN - (0 if narrow else words + 12)
        axis = OffsetAxis(self._records(), left, right - ENDS)
        shapes = [
            text(f"offset {each}", axis.middle(each), 20, str(each), ABOUT, look="tiny")
            for each in range(axis.records)
            if each % axis.step == 0
        ]
        y, pitch = float(TOP), PITCH + (20 if narrow else 0)
        for name, run in self.runs.items():
            if narrow:
                shapes.append(text(f"name {name}", MARGIN, y + 10, name, look="bold"))
                shapes.append(text(f"says {name}", self.width - MARGIN, y + 10, run.words, UP_TO))
            else:
                shapes.append(text(f"name {name}", MARGIN, y + CELL + 6, name, look="bold"))
                shapes.append(text(f"says {name}", right + 12, y + CELL + 6, run.words))
            lane = axis.lane(run)
            label = f"{name}: {run.words}; committed was {committed(run)}"
            shapes.append(group(f"lane {name}", 0, y + (20 if narrow else 0), lane, label=label))
            y += pitch
        legend, bottom = _legend(y + 6, self.width)
        said = "; ".join(f"{name}: {run.words}" for name, run in self.runs.items())
        return Scene(self.width, bottom, [*shapes, *legend], title=f"{self.name}. {said}")

    def _records(self) -> int:
        every = [each for run in self.runs.values() for each in (*run.processed, *run.again)]
        return max(every, default=0) + 1


class OffsetAxis:
    """From offsets to px, and the cells there."""

    def __init__(self, records: int, left: float, right: float) -> None:
        self.records, self.left = records, left
        self.wide = (right - left) / records
        room = width_of(str(records), 11) + 8
        self.step = 1 if self.wide >= room else -int(-room // self.wide)  # offsets that are named

    def x(self, offset: int) -> float:
        return self.left + offset * self.wide

    def middle(self, offset: int) -> float:
        return self.x(offset) + self.wide / 2

    def lane(self, run: AckRun) -> list[SceneShape]:
        shapes = [self._cell("first", each, 0, PROCESSED) for each in run.processed]
        low, last = CELL + BETWEEN, committed(run)
        for each in run.again:
            look = TWICE if each in run.processed else FIRST
            shapes.append(self._cell("second", each, low, look))
            if look == TWICE and self.wide > 12:
                shapes.append(
                    text(f"twice {each}", self.middle(each), low + 11.5, "2", ABOUT, look="bold")
                )
        for each in {*run.commits}:
            look = f"{COMMITTED} thick" if each == last else COMMITTED
            x = self.x(each)
            shapes.append(line(f"commit {each}", x, -4, x, CELL + 4, look=look))
        if run.processed:
            x = self.x(max(run.processed) + 1) + 5
            shapes.append(text("died", x, 12, "✗", look="head bad"))
        return shapes

    def _cell(self, row: str, offset: int, y: float, look: str) -> SceneShape:
        gap = 1.5 if self.wide > 6 else 0.25
        place = self.x(offset) + gap
        return rect(f"{row} {offset}", place, y, self.wide - 2 * gap, CELL, 2, look=look)


def committed(run: AckRun) -> int | None:
    """Where a successor begins, if no other group member has committed since."""
    return run.commits[-1] if run.commits else None


def _legend(y: float, width: float) -> tuple[list[SceneShape], float]:
    """What each sign means, in as many lines as the width needs; and where the last one ends."""
    shapes, x = list[SceneShape](), float(MARGIN)
    for key, words in (
        ("processed", "processed until the process died"),
        ("committed", "committed, at last the thick one"),
        ("died", "died"),
        ("again", "processed again"),
        ("first", "processed for the first time"),
    ):
        room = 24 + width_of(words, 11) + 16
        if x > MARGIN and x + room - 16 > width - MARGIN:
            x, y = float(MARGIN), y + 20
        shapes.append(_sign(key, x, y))
        if key == "again":
            shapes.append(text("sign 2", x + 8, y + 11.5, "2", ABOUT, look="bold"))
        shapes.append(text(f"legend {key}", x + 24, y + 11.5, words, FROM, look="tiny"))
        x += room
    return shapes, y + CELL + 12


def _sign(key: str, x: float, y: float) -> SceneShape:
    if key == "committed":
        return line(f"sign {key}", x + 8, y - 1, x + 8, y + CELL + 1, look=f"{COMMITTED} thick")
    if key == "died":
        return text(f"sign {key}", x + 8, y + 12, "✗", ABOUT, look="head bad")
    look = {"processed": PROCESSED, "again": TWICE, "first": FIRST}[key]
    return rect(f"sign {key}", x, y, 16, CELL, 2, look=look)
