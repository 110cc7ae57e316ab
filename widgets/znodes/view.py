"""ZooKeeperTree: the znodes of Kafka, and the sessions that are notified of changes.

    ZooKeeperTree(cluster)                       live, in a session of its own
    ZooKeeperTree("127.0.0.1:2181")              any other ZooKeeper
    ZooKeeperTree(Recording.load("run.jsonl"))   recorded with cluster.record(path, znodes=True)

It only reads. Nothing in the tree can be changed here.

Invariant: the head is None (now, or the end) or the number of a change.
"""

import time
from typing import Any, ClassVar

from engine.cluster.znode_watcher import ZnodeWatcher
from engine.errors import invalid_request
from widgets import controls, palette
from widgets.controls import Control
from widgets.scene import ABOUT, Scene
from widgets.step_view import STEP_ACTS, StepView
from widgets.text_column import TextColumn
from widgets.view import redraws
from widgets.znodes.history import ZnodeHistory, recorded
from widgets.znodes.layout import Course, ZnodeViewState
from widgets.znodes.rows import FEW, TreeSelection
from widgets.znodes.scene import about, picture

TICK = 1000  # ms between two pictures without a change
HOW = (
    "This recording knows nothing of znodes: cluster.record(path, znodes=True) makes one that does."
)
UNNAMED = (
    "Not drawn: watches on children, by which the controller hears of new brokers and topics. "
    "ZooKeeper does not tell whose they are."
)
OVER = "The cluster is over: this is what was there."
OURSELVES = "The session of this picture, and its watch on the whole tree, are left out."


class ZooKeeperTree(StepView[ZnodeViewState]):
    PACE, STEP = 0.9, "a change"

    _css = palette.for_pages("znodes.css")

    ACTS: ClassVar[frozenset[str]] = frozenset(
        {"expand", "collapse", "more", "unfold", "scroll", "choose", "who", "shut", "find"}
        | STEP_ACTS
        | {"goto", "step_to"}
    )

    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or HOST:PORT of a ZooKeeper."""
        super().__init__(name="ZooKeeper")
        self.history = ZnodeHistory()
        self.choice = TreeSelection()
        self.chosen, self.watcher = "", 0
        self.join_time(source)
        self._told = ""  # the source's last error
        self._own = ZnodeWatcher(source) if isinstance(source, str) else None
        self._znodes: ZnodeWatcher | None = self._own
        if hasattr(source, "znodes"):
            self._znodes = source.znodes()
        if self._znodes:
            self.history.add(self._znodes.changes())
        else:
            self.history.add(recorded(source))
        self._start = self._end = self._now()
        if self.history.changes:
            self._start = self.history.changes[0].at
        if not self._znodes:
            self._start, self._end = min(self._start, source.start), source.end
        self.draw()

    # -- looking -------------------------------------------------------------------------

    def poll(self) -> bool:
        source = self._znodes
        news = source.changes(self.history.last) if source else []
        with self.lock:
            self.history.add(it for it in news if it.number > self.history.last)
            steps = self._step_on(self.clock())
            self.draw()
            if source and source.trouble != self._told:  # the error of an act stays
                self.trouble = self._told = source.trouble
        if steps:
            self.tell_time(self._time)
        return self.playing or bool(source and not source.closed)

    def _now(self) -> int:
        """The end of a recording, the last change of a stopped cluster, or the present."""
        if self._znodes and not self._znodes.closed:
            return time.time_ns() // 1_000_000
        return self.history.changes[-1].at if self.history.changes else 0

    def view_state(self) -> ZnodeViewState:
        moving = bool(self._znodes and not self._znodes.closed)
        self._end = max(self._end, self._now())
        number = self.history.last if self.head is None else self.head
        at = self._end if self.head is None else self.history.changes[max(number, 1) - 1].at
        return ZnodeViewState(
            self.history,
            number,
            self.head is None and moving,
            self._start,
            self._end,
            max(at, self._start),
            self.choice,
            self.chosen,
            self.watcher,
            tuple(self._notes()),
            self.ACTS,
            moving,
            self.width,
        )

    def _notes(self) -> list[str]:
        source = self._znodes
        if source is None:
            return [UNNAMED]
        reading = f"Reading: {len(self.history.now.nodes):,} znodes up to now."
        ours = [OVER if source.closed else OURSELVES]
        if server := "" if source.closed else source.server:
            ours.append(f"Read from {server}.")
        known = [source.no_watches or UNNAMED]
        return [*([reading] if source.reading and not source.closed else []), *known, *ours]

    def gist(self, state: ZnodeViewState) -> tuple[object, ...]:
        news = [change.number for change in state.news]
        chosen = self.chosen, self.watcher, repr(self.choice)
        return state.number, news, state.live, state.at // TICK, *chosen, state.notes

    def painted(self, state: ZnodeViewState) -> Scene:
        return picture(state) if self._has_znodes else self._without_znodes()

    def headline(self, state: ZnodeViewState) -> str:
        return about(state) if self._has_znodes else ""

    @property
    def _has_znodes(self) -> bool:
        return bool(self.history.changes or self._znodes)

    def _without_znodes(self) -> Scene:
        hint = TextColumn(self.width / 2, 36, self.width - 40, 16, ABOUT).write("hint", HOW, "soft")
        return Scene(self.width, hint.y + 14, hint.shapes, title=HOW, says=HOW)

    def offers(self, state: ZnodeViewState) -> list[Control]:
        if not self._has_znodes:
            return []
        steps, now = self.history.steps, self.head is None
        find = controls.text("find", "find", self.choice.wanted, "part of a path", typed=True)
        time = controls.time_buttons(
            self.STEP, playing=self.playing, now=now if self._znodes else None, more="back",
            off=not steps,
        )  # fmt: skip
        if now:  # there is nothing after it
            time[3:] = [it if "pressed" in it else it | {"off": True} for it in time[3:]]
        return [find, *time]

    # -- selection --------------------------------------------------------------------

    @redraws
    def expand(self, path: str) -> None:
        """Show its children."""
        self.choice.closed.discard(path)
        self.choice.opened.add(path)

    @redraws
    def collapse(self, path: str) -> None:
        self.choice.opened.discard(path)
        self.choice.unfolded.discard(path)
        self.choice.closed.add(path)

    @redraws
    def more(self, path: str) -> None:
        """Some more children of a znode that has many."""
        self.choice.limits[path] = self.choice.limits.get(path, FEW) + FEW

    @redraws
    def unfold(self, path: str) -> None:
        """Show those of its children in which nothing has changed, too; until it is closed."""
        self.choice.unfolded.add(path)

    @redraws
    def scroll(self, first: float) -> None:
        """Show other rows, from this one on. After the next selection it follows changes again."""
        self.choice.first = max(int(first), 0)

    @redraws
    def find(self, wanted: str) -> None:
        """Show only paths that contain this; with "" the tree again."""
        self.choice.first = None
        self.choice.wanted = str(wanted).strip()

    @redraws
    def choose(self, path: str) -> None:
        """Show a znode in full; a second call with the same one closes it."""
        if path not in self.view_state().tree.nodes:
            raise invalid_request(f"there is no znode {path} at this moment")
        self.chosen, self.watcher = ("" if path == self.chosen else path), 0
        self.choice.first = None

    @redraws
    def who(self, session: str) -> None:
        """Show the watches of a session."""
        again = int(session) == self.watcher
        self.chosen, self.watcher = "", 0 if again else int(session)

    @redraws
    def shut(self) -> None:
        self.chosen, self.watcher = "", 0

    # -- time ----------------------------------------------------------------------------

    @property
    def _first(self) -> int:
        """Before the first change."""
        return self.history.began

    @property
    def _last(self) -> int:
        return self.history.last

    def _before(self) -> int:
        here = self.history.last + 1 if self.head is None else self.head
        before = self.history.before(here)
        return self.history.began if before is None else before

    def _after(self) -> int | None:
        return None if self.head is None else self.history.after(self.head)

    def _set(self, to: int | None) -> None:
        self.head = to if self.history.changes else None

    def _go(self, to: int | None) -> None:
        self.choice.first = None
        super()._go(to)
        self.tell_time(self._time)

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        at = self.course().axis().time(float(share))
        self._go(None if at >= self._end else max(self.history.until(at), self.history.began))

    def course(self) -> Course:
        view = self.view_state()
        return Course(self.history, view.start, view.now, view.moving)

    def goto(self, at: float) -> None:
        """To the change at a time, in ms since 1970."""
        self._go(max(self.history.until(int(at)), self.history.began))

    def step_to(self, number: float) -> None:
        """To a change."""
        self._go(min(max(int(number), self.history.began), self.history.last))

    @property
    def _time(self) -> int | None:
        """Of the moment that is shown; None: now, or the end."""
        return None if self.head is None else self.view_state().at

    @redraws
    def follow(self, at: int | None) -> None:
        """Show this time here, because another view does."""
        self._turn = self.head = None
        if at is not None and at < self._end and self.history.changes:
            self.head = max(self.history.until(at), self.history.began)

    def close(self) -> None:
        super().close()
        if self._own:
            self._own.close()
