"""The moment that is drawn, and the positions: the argument of the whole layout.

    left    data                   right  eye     end        x of chips
    name    data, in one line    session  watched  fires     a broker

On a page of less than 720 px the brokers stand above the tree, in rows. In the past, the picture
shows a change and what was known until the next one.
"""

from dataclasses import dataclass, field
from functools import cached_property

from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.cluster.znode_changes import ChangeKind, ZnodeChange, ZnodeState
from widgets.run_source import RunSource
from widgets.story import Story, StoryLine
from widgets.znodes.history import ZnodeHistory, ZnodeTreeView
from widgets.znodes.rows import TreeSelection, ZnodeRow, row_of, visible, window
from widgets.znodes.words import SORTS, brief, told

WIDTH = 960  # usual
BESIDE = 720  # px: on a narrower page the brokers are above the tree
TOP, ROW = 14, 22
CHIP, GAP = 46, 8  # a broker's height, and the space beside and below it
LEAST = 104  # the width of a broker, at least
BROKERS, OTHERS, LINE = 6, 1, 16  # shown at most; the line that counts the rest
ROWS, ROWS_OPEN = 18, 11  # of the tree, on the page; and while something is shown in full
MARKS = 2000  # the last changes on the timeline
NEWS = 2400  # ms for which a change is highlighted


class Course(RunSource):
    """The data of a history for the timeline."""

    def __init__(self, history: ZnodeHistory, start: int, end: int, live: bool) -> None:
        self.live = live
        self.story = Story()
        self._start, self._end = start, end
        for change in history.steps[-MARKS:]:
            sort, words = SORTS[change.kind], told(change, history)
            self.story.lines.append(
                StoryLine(change.at, sort, words, brief(change), str(change.number))
            )
        self._busy = sorted(line.at for line in self.story.lines)

    @property
    def start(self) -> int:
        return self._start

    @property
    def end(self) -> int:
        return self._end


@dataclass(frozen=True)
class ZnodeViewState:
    """One moment, and the user's selection."""

    history: ZnodeHistory
    number: int  # of the last change that is shown
    live: bool  # the present of a live source
    start: int  # ms since 1970
    now: int
    at: int  # the time of the moment
    choice: TreeSelection = field(default_factory=TreeSelection)
    chosen: str = ""  # a path that is shown in full
    who: int = 0  # a session whose watches are shown
    notes: tuple[str, ...] = ()  # what can't be shown, and why
    acts: frozenset[str] = frozenset()
    moving: bool = True  # the source is live: the timeline grows
    width: float = WIDTH  # px

    @cached_property
    def tree(self) -> ZnodeTreeView:
        """In the past, with the watches that were set after the change."""
        return self.history.at(self.history.settled(self.number))

    @cached_property
    def news(self) -> list[ZnodeChange]:
        """The latest changes; in the past, the change at the head."""
        if not self.live:
            last = self.history.changes[self.number - 1 : self.number]
            return [change for change in last if change.kind in SORTS]
        found = []
        for change in reversed(self.history.steps):
            if change.at < self.now - NEWS:
                break
            found.append(change)
        return found[::-1]

    # -- rows ----------------------------------------------------------------------------

    @cached_property
    def every(self) -> list[ZnodeRow]:
        """All rows, also those for which there is no room."""
        return visible(self.tree, self.choice, self.gone)

    @cached_property
    def rows(self) -> list[ZnodeRow]:
        """Those on the page; as long as nobody scrolls, the row of the last change is one."""
        room = ROWS_OPEN if self.chosen or self.who else ROWS
        return window(self.every, room, self.choice.first, self._followed)

    @property
    def _followed(self) -> str:
        if self.chosen:
            return self.chosen
        steps = [it for it in self.history.steps if it.number <= self.number and it.path]
        return row_of(steps[-1].path, {row.path for row in self.every}) if steps else "/"

    @cached_property
    def gone(self) -> dict[str, ZnodeState | None]:
        nodes = self.tree.nodes
        lost = {it.path: it.znode for it in self.news if it.kind is ChangeKind.DELETED}
        return {path: znode for path, znode in lost.items() if path not in nodes}

    @cached_property
    def levels(self) -> dict[str, float]:
        """The upper edge of each row."""
        return {row.path: self.top + ROW * place for place, row in enumerate(self.rows)}

    def level(self, path: str) -> float | None:
        """The y of the row that shows a change of this path; during a search there may be none."""
        paths = [row.path for row in self.every]
        found = row_of(path, paths)
        if found in self.levels or found not in paths:
            return self.levels.get(found)
        at = paths.index(found)
        first = next(place for place, each in enumerate(paths) if each in self.levels)
        hidden = self.rows[0] if at < first else self.rows[-1]
        return self.levels[hidden.path]

    # -- columns -------------------------------------------------------------------------

    @property
    def wide(self) -> bool:
        return self.width >= BESIDE

    @property
    def left(self) -> float:
        return 20 if self.wide else 12

    @property
    def indent(self) -> float:
        return 17 if self.wide else 11

    @property
    def end(self) -> float:
        """Of the tree."""
        return self.chips - 40 if self.wide else self.width - 18

    @property
    def eye(self) -> float:
        """Where the number of watches begins."""
        return self.end - 34

    @property
    def right(self) -> float:
        """Of the data, and of the session."""
        return self.eye - (14 if self.wide else 8)

    @property
    def data(self) -> float:
        """Where the data begin, if the name ends before it."""
        return self.left + 0.36 * (self.right - self.left)

    # -- brokers -------------------------------------------------------------------------

    @property
    def chips(self) -> float:
        """The x of the first broker."""
        return self.width - self.left + 6 - self.chip_width if self.wide else self.left - 4

    @property
    def across(self) -> int:
        """How many brokers stand in a row."""
        room = self.width - 2 * self.left + 8
        return 1 if self.wide else int((room + GAP) // (LEAST + GAP))

    @property
    def chip_width(self) -> float:
        room = self.width - 2 * self.left + 8
        return 166 if self.wide else (room - GAP * (self.across - 1)) / self.across

    def chip(self, place: int) -> tuple[float, float]:
        """The upper left corner of a broker."""
        row, column = divmod(place, self.across)
        return self.chips + column * (self.chip_width + GAP), TOP + row * (CHIP + GAP)

    @property
    def foot(self) -> float:
        """The y below the sessions."""
        return TOP + (CHIP + GAP) * -(-len(self.sessions) // self.across)

    @property
    def _brokers_end(self) -> float:
        return self.foot + LINE * (bool(self.unseen) + bool(self.kraft_controller))

    @property
    def top(self) -> float:
        """Of the tree."""
        return TOP if self.wide else self._brokers_end + 8

    @property
    def bottom(self) -> float:
        tree = self.top + ROW * len(self.rows)
        return (max(tree, self._brokers_end) if self.wide else tree) + 6

    @property
    def unseen(self) -> int:
        """Brokers for which there is no room."""
        return len(self.tree.sessions) - sum(broker >= 0 for broker in self.sessions.values())

    @property
    def kraft_controller(self) -> str:
        """In a migration a controller of KRaft has /controller, without a session; "": no."""
        node = self.tree.controller
        return controller(node - FIRST_CONTROLLER + 1) if node >= FIRST_CONTROLLER else ""

    @cached_property
    def sessions(self) -> dict[int, int]:
        """The sessions: the latest of each broker, and others with watches."""
        brokers = sorted(self.tree.sessions.items())
        found = {session: broker for broker, session in brokers[:BROKERS]}
        others = {who for watchers in self.tree.watchers.values() for who in watchers}
        return found | dict.fromkeys(sorted(others - {*self.history.owners})[:OTHERS], -1)
