"""Playback of a run: live, or replayed, back and forward, step by step and in slow motion.

    source ──> RunSource ──> ViewMoment (at the head) ──> painted: a Scene ──> SceneWidget
                                ^
        seek, goto, begin, back, forward, play, slow_motion, live

The base of all views with a timeline; the head is the time that is shown. A view says how a moment
is drawn (`painted`, `headline`), which actions are possible in it (`able`) and which buttons stand
before those of the timeline (`offers`). By itself this class shows the timeline only.

Invariant: the head is None (live, or at the end) or a time within the run.
"""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from widgets import controls, timeline
from widgets.controls import Control
from widgets.moment import ViewMoment
from widgets.replay.simulated_run import film_of
from widgets.run_source import LiveRun, RunSource
from widgets.scene import Scene
from widgets.shared_time import SharedTime
from widgets.stage import INTERVAL, SceneWidget
from widgets.time_axis import Axis

TIME = frozenset({"seek", "goto", "begin", "back", "play", "forward", "slow_motion", "live"})
SLOW_MOTION = 1 / 8
EAGER = 0.04  # seconds between two polls while a leader is about to be elected
NOT_WATCHED = "not watched at this time: this is what was seen before"
STALE = "not up to date: the cluster did not answer ({}), and is asked again"


class Playback(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = TIME

    def _open(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        self.source = source
        self.shared = self._joined(source)
        self.run_source: RunSource = (
            LiveRun.of(source) if hasattr(source, "state") else RunSource(film_of(source))
        )
        if isinstance(self.run_source, LiveRun):
            self.lock = self.run_source.lock
        self._event = 0  # the number of the last event that was added
        self._until = 0  # the time of the last state that was seen
        self.head: int | None = None
        self.speed = 0.0  # of the head; 1: real time
        self.topic = ""  # only this one; "": all of them
        self._slow = False
        self._looked: float | None = None  # when the source was polled last, in seconds
        self._drawn: tuple[object, ...] = ()  # the `gist` of the picture
        self._axis: Axis | None = None  # the timeline of the picture
        self.run_source.listen(self)
        self.add_events(self.run_source.film.events())
        self.draw()

    def _joined(self, source: Any) -> SharedTime:
        found, before = SharedTime.of(source), getattr(self, "shared", None)
        if before is not None:  # this was another run
            before.leave(self)
        found.join(self)
        return found

    def close(self) -> None:
        self.shared.leave(self)
        super().close()

    # -- for subclasses ----------------------------------------------------------

    def painted(self, moment: ViewMoment) -> Scene:
        shapes = timeline.drawn(moment, 24, 0, moment.width - 48)
        return Scene(moment.width, timeline.HEIGHT, shapes, title="the time of a run")

    def headline(self, moment: ViewMoment) -> str:
        """A few words above the picture."""
        return ""

    def able(self, now: bool) -> frozenset[str]:
        """The possible acts; `now`: the head is at the present of a live cluster."""
        return TIME

    def offers(self, moment: ViewMoment) -> list[Control]:
        """The buttons above, left of the timeline's own."""
        return []

    def axis(self) -> Axis:
        """The time that can be dragged through, from 0 to 1."""
        return self.run_source.axis()

    def add_events(self, events: Sequence[ClusterEvent]) -> None:
        """Called with new events; at first with all, and some of those may come again."""

    def see(self, state: ClusterState) -> None:
        """Called with each recorded state, also with those from when no view was on the screen."""

    def record(self) -> None:
        """Record a live run from now on; if it is not called, from when a page shows it."""
        if isinstance(self.run_source, LiveRun):
            self.run_source.record()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        self.record()
        return super()._repr_mimebundle_(**options)

    # -- polling -------------------------------------------------------------------------

    def poll(self) -> bool:
        return self.advance(time.monotonic())

    def advance(self, now: float) -> bool:
        """Poll the source, and move a head that plays. False: nothing more will come."""
        run_source = self.run_source
        # Without the lock, so that a broker that hangs delays neither the head nor a click.
        more, played = run_source.poll(self), False
        with self.lock:
            self._catch_up()
            passed = INTERVAL if self._looked is None else now - self._looked
            self._looked = now
            if self.speed and self.head is not None:
                self.head = self.axis().later(self.head, passed * 1000 * self.speed)
                played = True
                if self.head >= self.run_source.end:
                    self.speed, self.head = 0.0, None
            self.draw()
            if not more and not self.speed:
                self._looked = None
        if played:
            self.shared.tell(self, self.head)
        return more or bool(self.speed)

    def _catch_up(self) -> None:
        """Take in what was recorded since the last time, by this view or by others."""
        events = self.run_source.events(self._event)
        if events:
            self._event = events[-1].number
            self.add_events(events)
        if self.run_source.live:
            for state in self.run_source.between(self._until, self.run_source.end)[1:]:
                self.see(state)
            self._until = self.run_source.end

    def moment(self) -> ViewMoment:
        now = self.head is None and self.run_source.live
        at = self.run_source.end if self.head is None else self.head
        able, playing = self.able(now), self.speed > 0
        where = self.run_source, at, now, able, self.topic, playing, self.width
        return ViewMoment(*where, height=self.height)

    def draw(self) -> None:
        """Draw the moment, if its picture differs from the one shown."""
        with self.lock:
            moment = self.moment()
            waits = _waits(moment)
            self.interval = EAGER if waits and moment.live else INTERVAL
            what = (
                *self.gist(moment, waits),
                self.width,
                self.height,
                self._slow,
                self.head is None,
                self.run_source.stale,
                self.source,
            )
            if what == self._drawn:
                return
            self._drawn, self._axis = what, self.axis()
            missed = self.run_source.is_gap(moment.at)
            self.about = NOT_WATCHED if missed else self.headline(moment)
            if self.head is None and self.run_source.stale:
                self.about = STALE.format(self.run_source.stale)
            self.show(self.painted(moment), [*self.offers(moment), *self._buttons()])

    def gist(self, moment: ViewMoment, waits: bool) -> tuple[object, ...]:
        """Pictures differ if this differs. The clock counts by tenths only during a wait."""
        lines = moment.story.lines
        tick = 100 if waits or not moment.live else 1000
        told = (len(lines), len(lines[-1].parts) if lines else 0)
        return id(moment.state), told, moment.at // tick, moment.topic, moment.playing

    def _buttons(self) -> list[Control]:
        now = self.head is None if self.run_source.live else None
        found = controls.time_buttons("a step", playing=self.speed > 0, now=now, more="back")
        slow = controls.button("slow_motion", "⅛×", "slow motion", pressed=self._slow, more="slow")
        return [*found[:-1], slow, found[-1]]

    # -- time ----------------------------------------------------------------------------

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1. That of a live run may have grown since it was
        drawn: the place is one of the timeline that the learner sees."""
        self.stop_at((self._axis or self.axis()).time(float(share)))

    def goto(self, at: float) -> None:
        """To the time of an event, in ms since 1970, or to the first state that shows it."""
        self.stop_at(self.run_source.seen(int(at)))

    def begin(self) -> None:
        self.stop_at(self.run_source.start)

    def back(self) -> None:
        """To the previous event."""
        here = self.run_source.end if self.head is None else self.head
        earlier = (at for at in self.times() if at < here)
        self.stop_at(max(earlier, default=self.run_source.start))

    def forward(self) -> None:
        """To the next event; after the last, to now."""
        if self.head is not None:
            here = self.head
            self.stop_at(min((at for at in self.times() if at > here), default=None))

    def times(self) -> Sequence[int]:
        """The times at which a step back or forward stops."""
        return self.run_source.moments()

    def play(self) -> None:
        """Play from here in real time, through compressed time faster; or pause."""
        with self.lock:
            if self.speed:
                self.speed = 0.0
            else:
                if self.head is None:  # at the end: from the beginning
                    self.head = self.run_source.start
                self.speed = SLOW_MOTION if self._slow else 1.0
            self.draw()
        self.shared.tell(self, self.head)
        self.refresh()

    def slow_motion(self) -> None:
        with self.lock:
            self._slow = not self._slow
            if self.speed:
                self.speed = SLOW_MOTION if self._slow else 1.0
            self.draw()

    def live(self) -> None:
        self.stop_at(None)

    def stop_at(self, at: int | None) -> None:
        """Show this time, in all views of the run; None: now, or the end."""
        self.follow(at)
        self.shared.tell(self, self.head)

    def share_clock(self, view: "Playback") -> None:
        """With a view of another run: where one of the two goes back, the other goes along."""
        self.shared.leave(self)
        self.shared = view.shared
        self.shared.join(self)

    def follow(self, at: int | None) -> None:
        """Show this time here, because another view does."""
        with self.lock:
            self.speed = 0.0
            self.head = (
                None if at is None or at >= self.run_source.end else max(at, self.run_source.start)
            )
            self.draw()


def _waits(moment: ViewMoment) -> bool:
    """Whether it waits for a session to expire, or for a leader."""
    return any(outage.ended is None for outage in moment.story.outages) or any(
        moment.status(number) != "up" and moment.believed(number) for number in moment.state.brokers
    )
