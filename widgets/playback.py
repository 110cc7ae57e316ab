"""Playback of a run: live, or replayed, back and forward, step by step and in slow motion.

    source ──> RunSource ──> ViewMoment (at the head) ──> painted: a Scene ──> SceneWidget
                                ^
        seek, goto, begin, back, forward, play, slow_motion, live

The base of all views with a timeline; the head is the time that is shown. A view says how a moment
is drawn (`painted`, `headline`) and which actions are possible in it (`able`). Its state is a
ViewMoment, or one with more in it (`view_state`).

Invariant: the head is None (live, or at the end) or a time within the run.
"""

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from widgets import controls
from widgets.controls import Control
from widgets.moment import ViewMoment
from widgets.replay.simulated_run import film_of
from widgets.run_source import LiveRun, RunSource
from widgets.scene import Scene
from widgets.shared_time import TimedView
from widgets.stage import INTERVAL
from widgets.time_axis import Axis
from widgets.view import redraws

TIME = frozenset({"seek", "goto", "begin", "back", "play", "forward", "slow_motion", "live"})
SLOW_MOTION = 1 / 8
EAGER = 0.04  # seconds between two polls while a leader is about to be elected
SPANS = [("10", "10 s"), ("30", "30 s"), ("60", "1 min"), ("300", "5 min"), ("0", "all")]
NOT_WATCHED = "not watched at this time: this is what was seen before"
STALE = "not up to date: the cluster did not answer ({}), and is asked again"


Shown = TypeVar("Shown")


class Playback(TimedView[Shown]):
    ACTS: ClassVar[frozenset[str]] = TIME

    def _open(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        self.source = source
        self.join_time(source)
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
        self._drawn = None
        self._axis: Axis | None = None  # the timeline of the picture
        self.run_source.listen(self)
        self.add_events(self.run_source.film.events())
        self.draw()

    # -- for subclasses ----------------------------------------------------------

    @abstractmethod
    def view_state(self) -> Shown:
        """The moment at the head, with what else the view draws."""

    def able(self, now: bool) -> frozenset[str]:
        """The possible acts; `now`: the head is at the present of a live cluster."""
        return self.ACTS

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
            moment = self.moment()
            self.interval = EAGER if moment.live and _waits(moment) else INTERVAL
            if not more and not self.speed:
                self._looked = None
        if played:
            self.tell_time(self.head)
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

    def facts(self) -> dict[str, Any]:
        """The fields of a ViewMoment, for the moment at the head."""
        now = self.head is None and self.run_source.live
        return {
            "run_source": self.run_source,
            "at": self.run_source.end if self.head is None else self.head,
            "live": now,
            "acts": self.able(now),
            "topic": self.topic,
            "playing": self.speed > 0,
            "width": self.width,
            "height": self.height,
        }

    def moment(self) -> ViewMoment:
        return ViewMoment(**self.facts())

    def notice(self) -> str:
        if self.head is None and self.run_source.stale:
            return STALE.format(self.run_source.stale)
        at = self.run_source.end if self.head is None else self.head
        return NOT_WATCHED if self.run_source.is_gap(at) else ""

    def show(self, picture: Scene, controls: list[Control] | None = None) -> None:
        self._axis = self.axis()
        super().show(picture, controls)

    def gist(self, state: Shown) -> tuple[object, ...]:
        """What every picture of a moment depends on, whatever else its state has. The clock counts
        tenths of a second only during a wait."""
        moment = self.moment()
        lines = moment.story.lines
        tick = 100 if _waits(moment) or not moment.live else 1000
        told = (len(lines), len(lines[-1].parts) if lines else 0)
        return self.source, id(moment.state), told, moment.at // tick, self.topic, moment.playing

    def offers(self, state: Shown) -> list[Control]:
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
        self.tell_time(self.head)
        self.refresh()

    @redraws
    def slow_motion(self) -> None:
        self._slow = not self._slow
        if self.speed:
            self.speed = SLOW_MOTION if self._slow else 1.0

    def live(self) -> None:
        self.stop_at(None)

    def stop_at(self, at: int | None) -> None:
        """Show this time, in all views of the run; None: now, or the end."""
        self.follow(at)
        self.tell_time(self.head)

    @redraws
    def follow(self, at: int | None) -> None:
        """Show this time here, because another view does."""
        self.speed = 0.0
        end = self.run_source.end
        self.head = None if at is None or at >= end else max(at, self.run_source.start)


def _waits(moment: ViewMoment) -> bool:
    """Whether it waits for a session to expire, or for a leader."""
    return any(outage.ended is None for outage in moment.story.outages) or any(
        moment.status(number) != "up" and moment.believed(number) for number in moment.state.brokers
    )


class SpanPlayback(Playback[Shown]):
    """A playback in which the learner chooses how much of the past is shown."""

    ACTS: ClassVar[frozenset[str]] = TIME | {"span"}

    SPANS: ClassVar[Sequence[tuple[str, str]]] = SPANS

    def _open(self, source: Any) -> None:
        self._span: int | None = None
        super()._open(source)

    @property
    def shown(self) -> int:
        """How many seconds are shown; 0: all. At first, a minute of a live run."""
        if self._span is not None:
            return self._span
        return 60 if self.run_source.live else 0

    @redraws
    def span(self, seconds: str) -> None:
        """How much of the past is shown; 0: all of it."""
        self._span = max(int(seconds), 0)

    def gist(self, state: Shown) -> tuple[object, ...]:
        return *super().gist(state), self.shown

    def offers(self, state: Shown) -> list[Control]:
        span = controls.choice("span", "last", self.SPANS, str(self.shown))
        return [span, *super().offers(state)]
