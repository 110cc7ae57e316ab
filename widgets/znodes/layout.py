"""The moment that is drawn, and the positions: the argument of the whole layout.

    20      230                    700   718      752 ─── 806          940
    name    data, in one line   session  watched  fires    a broker

In the past, the picture shows a change and what was known until the next one.
"""

from dataclasses import dataclass, field
from functools import cached_property

from engine.cluster.znode_changes import ChangeKind, ZnodeChange, ZnodeState
from widgets.run_source import RunSource
from widgets.story import Story, StoryLine
from widgets.znodes.history import ZnodeHistory, ZnodeTreeView
from widgets.znodes.rows import TreeSelection, ZnodeRow, row_of, visible
from widgets.znodes.words import SORTS, brief, told

WIDTH = 960
LEFT, DATA, RIGHT, EYE, END, CHIPS = 20, 230, 700, 718, 752, 806
TOP, ROW, INDENT = 14, 22, 17
CHIP, GAP = 46, 8  # a broker's height, and the space below it
BROKERS, OTHERS, LINE = 8, 2, 16  # shown at most; the line that counts the rest
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

    @cached_property
    def rows(self) -> list[ZnodeRow]:
        return visible(self.tree, self.choice, self.gone)

    @cached_property
    def gone(self) -> dict[str, ZnodeState | None]:
        nodes = self.tree.nodes
        lost = {it.path: it.znode for it in self.news if it.kind is ChangeKind.DELETED}
        return {path: znode for path, znode in lost.items() if path not in nodes}

    @cached_property
    def levels(self) -> dict[str, float]:
        """The upper edge of each row."""
        return {row.path: TOP + ROW * place for place, row in enumerate(self.rows)}

    @property
    def bottom(self) -> float:
        return max(TOP + ROW * len(self.rows), self.foot + (LINE if self.unseen else 0)) + 6

    @property
    def foot(self) -> float:
        """The y below the sessions."""
        return TOP + (CHIP + GAP) * len(self.sessions)

    @property
    def unseen(self) -> int:
        """Brokers for which there is no room."""
        return len(self.tree.sessions) - sum(broker >= 0 for broker in self.sessions.values())

    def level(self, path: str) -> float | None:
        """The y of the row that shows a change of this path; during a search there may be none."""
        return self.levels.get(row_of(path, self.levels))

    @cached_property
    def sessions(self) -> dict[int, int]:
        """The sessions: the latest of each broker, and others with watches."""
        brokers = sorted(self.tree.sessions.items())
        found = {session: broker for broker, session in brokers[:BROKERS]}
        others = {who for watchers in self.tree.watchers.values() for who in watchers}
        return found | dict.fromkeys(sorted(others - {*self.history.owners})[:OTHERS], -1)
