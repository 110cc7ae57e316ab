"""Where things stand, and the moment that is drawn: the argument of the whole layout.

    20      230                    700   718      752 ─── 806          940
    name    data, in one line   session  watched  fires    a broker

Of the past one sees a change and what was known until the next.
"""

from dataclasses import dataclass, field
from functools import cached_property

from engine.cluster.mirror import Change, Kind, Znode
from widgets.reel import Reel
from widgets.story import Line, Story
from widgets.znodes.history import History, Tree
from widgets.znodes.rows import Choice, Row, row_of, visible
from widgets.znodes.words import SORTS, brief, told

WIDTH = 960
LEFT, DATA, RIGHT, EYE, END, CHIPS = 20, 230, 700, 718, 752, 806
TOP, ROW, INDENT = 14, 22, 17
CHIP, GAP = 46, 8  # a broker's height, and the space below it
BROKERS, OTHERS, LINE = 8, 2, 16  # shown at most; the line that counts the rest
MARKS = 2000  # changes on the timeline, the last
NEWS = 2400  # ms for which a change is news


class Course(Reel):
    """Of a history, what the timeline has to know."""

    def __init__(self, history: History, start: int, end: int, live: bool) -> None:
        self.live = live
        self.story = Story()
        self._start, self._end = start, end
        for change in history.steps[-MARKS:]:
            sort, words = SORTS[change.kind], told(change, history)
            self.story.lines.append(Line(change.at, sort, words, brief(change), str(change.number)))

    @property
    def start(self) -> int:
        return self._start

    @property
    def end(self) -> int:
        return self._end


@dataclass(frozen=True)
class Sight:
    """One moment, and what the reader wants to see of it."""

    history: History
    number: int  # of the last change that is seen
    live: bool  # it is now, and goes on
    start: int  # ms since 1970
    now: int
    at: int  # of what is seen
    choice: Choice = field(default_factory=Choice)
    chosen: str = ""  # a path that is shown in full
    who: int = 0  # a session whose watches are shown
    notes: tuple[str, ...] = ()  # what can't be seen, and why
    acts: frozenset[str] = frozenset()
    moving: bool = True  # the source goes on: the time line grows

    @cached_property
    def tree(self) -> Tree:
        """Of the past: with the watches that were set in answer to the change."""
        return self.history.at(self.history.settled(self.number))

    @cached_property
    def news(self) -> list[Change]:
        """What has just changed: of the past the change that one stands at."""
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
    def rows(self) -> list[Row]:
        return visible(self.tree, self.choice, self.gone)

    @cached_property
    def gone(self) -> dict[str, Znode | None]:
        nodes = self.tree.nodes
        lost = {it.path: it.znode for it in self.news if it.kind is Kind.DELETED}
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
        """Below those who are told."""
        return TOP + (CHIP + GAP) * len(self.sessions)

    @property
    def unseen(self) -> int:
        """Brokers for which there is no room."""
        return len(self.tree.sessions) - sum(broker >= 0 for broker in self.sessions.values())

    def level(self, path: str) -> float | None:
        """Of the row on which a change of this path is seen; a search may leave none."""
        return self.levels.get(row_of(path, self.levels))

    @cached_property
    def sessions(self) -> dict[int, int]:
        """Who is told: the brokers with their latest sessions, and others who watch."""
        brokers = sorted(self.tree.sessions.items())
        found = {session: broker for broker, session in brokers[:BROKERS]}
        others = {who for watchers in self.tree.watchers.values() for who in watchers}
        return found | dict.fromkeys(sorted(others - {*self.history.owners})[:OTHERS], -1)
