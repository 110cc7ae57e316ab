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
from engine.errors import ApiException, ErrorCode
from widgets import controls, palette
from widgets.controls import Control
from widgets.scene import ABOUT, Scene, text, wrap
from widgets.shared_time import SharedTime
from widgets.stage import SceneWidget
from widgets.znodes.history import ZnodeHistory, recorded
from widgets.znodes.layout import Course, ZnodeViewState
from widgets.znodes.rows import FEW, TreeSelection
from widgets.znodes.scene import about, picture

PACE = 0.9  # seconds from step to step, when it plays
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


class ZooKeeperTree(SceneWidget):
    _css = palette.for_pages("znodes.css")

    ACTS: ClassVar[frozenset[str]] = frozenset(
        {"expand", "collapse", "more", "unfold", "scroll", "choose", "who", "shut", "find"}
        | {"begin", "back", "play", "forward", "live", "seek", "goto", "step_to"}
    )

    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or HOST:PORT of a ZooKeeper."""
        super().__init__(name="ZooKeeper")
        self.history = ZnodeHistory()
        self.choice = TreeSelection()
        self.head: int | None = None
        self.playing = False
        self.chosen, self.watcher = "", 0
        self.clock = time.monotonic
        self._due = 0.0  # the next step, if it plays
        self._drawn: object = None
        self.shared = SharedTime.of(source)
        self.shared.join(self)
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
            steps = self.playing and self.clock() >= self._due
            if steps:
                self._due = self.clock() + PACE
                self._go_on()
            self.draw()
            if source and source.trouble != self._told:  # the error of an act stays
                self.trouble = self._told = source.trouble
        if steps:
            self.shared.tell(self, self._time)
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

    def draw(self) -> None:
        """Draw the moment, if its picture differs from the one shown."""
        with self.lock:
            if not self.history.changes and not self._znodes:
                self.about = ""
                return self.show(self._without_znodes(), [])
            view_state = self.view_state()
            news = [change.number for change in view_state.news]
            what = (
                *(
                    view_state.number,
                    news,
                    view_state.live,
                    view_state.at // TICK,
                    self.chosen,
                    self.watcher,
                ),
                *(view_state.notes, self.playing, repr(self.choice), self.width),
            )
            if what == self._drawn:
                return
            self._drawn = what
            self.about = about(view_state)
            self.show(picture(view_state), self._controls())

    def _without_znodes(self) -> Scene:
        lines = wrap(HOW, self.width - 40, 11)
        hint = [
            text(f"hint {place}", self.width / 2, 36 + 16 * place, part, ABOUT, look="soft")
            for place, part in enumerate(lines)
        ]
        return Scene(self.width, 50 + 16 * len(lines), hint, title=HOW, says=HOW)

    def _controls(self) -> list[Control]:
        steps, now = self.history.steps, self.head is None
        found = [
            controls.text("find", "find", self.choice.wanted, "part of a path", typed=True),
            controls.button("begin", "◂◂", "back to the beginning", off=not steps),
            controls.button("back", "◂", "a change back", off=not steps, more="back"),
            controls.button(
                "play", "❙❙" if self.playing else "▸", "pause" if self.playing else "play",
                off=not steps,
            ),
            controls.button("forward", "▸❘", "a change forward", off=now),
        ]  # fmt: skip
        if self._znodes:
            found.append(controls.button("live", "● live", "back to now", pressed=now))
        else:
            found.append(controls.button("live", "▸▸", "to the end", off=now))
        return found

    # -- selection --------------------------------------------------------------------

    def expand(self, path: str) -> None:
        """Show its children."""
        with self.lock:
            self.choice.closed.discard(path)
            self.choice.opened.add(path)
            self.draw()

    def collapse(self, path: str) -> None:
        with self.lock:
            self.choice.opened.discard(path)
            self.choice.unfolded.discard(path)
            self.choice.closed.add(path)
            self.draw()

    def more(self, path: str) -> None:
        """Some more children of a znode that has many."""
        with self.lock:
            self.choice.limits[path] = self.choice.limits.get(path, FEW) + FEW
            self.draw()

    def unfold(self, path: str) -> None:
        """Show those of its children in which nothing has changed, too; until it is closed."""
        with self.lock:
            self.choice.unfolded.add(path)
            self.draw()

    def scroll(self, first: float) -> None:
        """Show other rows, from this one on. After the next selection it follows changes again."""
        with self.lock:
            self.choice.first = max(int(first), 0)
            self.draw()

    def find(self, wanted: str) -> None:
        """Show only paths that contain this; with "" the tree again."""
        with self.lock:
            self.choice.first = None
            self.choice.wanted = str(wanted).strip()
            self.draw()

    def choose(self, path: str) -> None:
        """Show a znode in full; a second call with the same one closes it."""
        if path not in self.view_state().tree.nodes:
            raise ApiException(
                ErrorCode.invalid_request, f"there is no znode {path} at this moment"
            )
        with self.lock:
            self.chosen, self.watcher = ("" if path == self.chosen else path), 0
            self.choice.first = None
            self.draw()

    def who(self, session: str) -> None:
        """Show the watches of a session."""
        with self.lock:
            again = int(session) == self.watcher
            self.chosen, self.watcher = "", 0 if again else int(session)
            self.draw()

    def shut(self) -> None:
        with self.lock:
            self.chosen, self.watcher = "", 0
            self.draw()

    # -- time ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Before the first change."""
        self._stop_at(self.history.began)

    def back(self) -> None:
        here = self.history.last if self.head is None else self.head
        if self.head is None:  # the last change is shown already
            here += 1
        before = self.history.before(here)
        self._stop_at(self.history.began if before is None else before)

    def forward(self) -> None:
        """To the next change; after the last, to now."""
        if self.head is not None:
            self._stop_at(self.history.after(self.head))

    def play(self) -> None:
        """Play change by change, from here or from the beginning; or pause."""
        with self.lock:
            self.playing = not self.playing
            if self.playing and self.head is None:
                self.head = self.history.began
            self._due = self.clock() + PACE
            self.draw()
        self.refresh()

    def live(self) -> None:
        self._stop_at(None)

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        at = self.course().axis().time(float(share))
        self._stop_at(None if at >= self._end else max(self.history.until(at), self.history.began))

    def course(self) -> Course:
        view_state = self.view_state()
        return Course(self.history, view_state.start, view_state.now, view_state.moving)

    def goto(self, at: float) -> None:
        """To the change at a time, in ms since 1970."""
        self._stop_at(max(self.history.until(int(at)), self.history.began))

    def step_to(self, number: float) -> None:
        """To a change."""
        self._stop_at(min(max(int(number), self.history.began), self.history.last))

    def _go_on(self) -> None:
        assert self.head is not None, "what plays has a head"
        self.head = self.history.after(self.head)
        self.playing = self.head is not None

    def _stop_at(self, number: int | None) -> None:
        with self.lock:
            self.playing = False
            self.choice.first = None
            self.head = number if self.history.changes else None
            self.draw()
        self.shared.tell(self, self._time)

    @property
    def _time(self) -> int | None:
        """Of the moment that is shown; None: now, or the end."""
        return None if self.head is None else self.view_state().at

    def follow(self, at: int | None) -> None:
        """Show this time here, because another view does."""
        with self.lock:
            self.playing = False
            self.head = None
            if at is not None and at < self._end and self.history.changes:
                self.head = max(self.history.until(at), self.history.began)
            self.draw()

    def close(self) -> None:
        self.shared.leave(self)
        super().close()
        if self._own:
            self._own.close()
