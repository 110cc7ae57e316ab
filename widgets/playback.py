"""A run with a head: watched as it goes on, or gone through again, back, forward and slowly.

    source ──> Reel ──> Moment (where the head is) ──> painted: a Scene ──> Stage
                          ^
        seek, goto, begin, back, forward, play, slow_motion, live

What is common to all views that have a timeline. A view says what a moment looks like (`painted`,
`headline`), what can be done in it (`able`) and which buttons stand before those of the time
(`offers`). By itself it is a timeline and nothing above it.

Invariant: the head is None (live, or at the end) or a time within the run.
"""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from engine.cluster.stream import Happened
from widgets import controls, timeline
from widgets.controls import Control
from widgets.moment import Moment
from widgets.reel import Live, Reel
from widgets.replay.rehearsal import film_of
from widgets.scene import Scene
from widgets.stage import INTERVAL, Stage

TIME = frozenset({"seek", "goto", "begin", "back", "play", "forward", "slow_motion", "live"})
SLOW_MOTION = 1 / 8
EAGER = 0.04  # seconds between two looks while a cluster without a leader is about to have one
WIDTH = 1000


class Playback(Stage):
    ACTS: ClassVar[frozenset[str]] = TIME

    def _open(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        self.source = source
        self.reel: Reel = Live(source) if hasattr(source, "state") else Reel(film_of(source))
        self.head: int | None = None
        self.speed = 0.0  # of the head; 1 is as it was
        self.topic = ""  # only this one; "": all of them
        self._slow = False
        self._looked: float | None = None  # when the last look was, in seconds
        self._drawn: tuple[object, ...] = ()  # what the picture shows
        self.hear(self.reel.film.events())
        self.draw()

    # -- what a view is made of ----------------------------------------------------------

    def painted(self, moment: Moment) -> Scene:
        shapes = timeline.drawn(moment, 24, 0, WIDTH - 48)
        return Scene(WIDTH, timeline.HEIGHT, shapes, title="the time of a run")

    def headline(self, moment: Moment) -> str:
        """A few words above the picture."""
        return ""

    def able(self, now: bool) -> frozenset[str]:
        """Acts that make sense; `now`: at this moment of a live cluster."""
        return TIME

    def offers(self, moment: Moment) -> list[Control]:
        """What stands above, left of the time's own buttons."""
        return []

    def hear(self, events: Sequence[Happened]) -> None:
        """What happened; at first all of it, and some of that may be told once more."""

    # -- looking -------------------------------------------------------------------------

    def look(self) -> bool:
        return self.advance(time.monotonic())

    def advance(self, now: float) -> bool:
        """A look at the source; a head that plays moves on. False: nothing more to wait for."""
        reel = self.reel
        news = reel.ask()  # a broker that hangs holds up neither the head nor a click
        with self.lock:
            more = reel.take(news)
            if news is not None:
                self.hear(news.events)
            passed = INTERVAL if self._looked is None else now - self._looked
            self._looked = now
            if self.speed and self.head is not None:
                self.head += round(passed * 1000 * self.speed)
                if self.head >= self.reel.end:
                    self._stop_at(None)
            self.draw()
            if not more and not self.speed:
                self._looked = None
            return more or bool(self.speed)

    def moment(self) -> Moment:
        now = self.head is None and self.reel.live
        at = self.reel.end if self.head is None else self.head
        return Moment(self.reel, at, now, self.able(now), self.topic, self.speed > 0)

    def draw(self) -> None:
        """A picture of the moment, if it is another one than that which is shown."""
        with self.lock:
            moment = self.moment()
            waits = _waits(moment)
            self.interval = EAGER if waits and moment.live else INTERVAL
            what = (*self.gist(moment, waits), self._slow, self.head is None, self.source)
            if what == self._drawn:
                return
            self._drawn = what
            self.about = self.headline(moment)
            self.show(self.painted(moment), [*self.offers(moment), *self._buttons()])

    def gist(self, moment: Moment, waits: bool) -> tuple[object, ...]:
        """What makes a picture another one. The clock counts by tenths only while one waits."""
        lines = moment.story.lines
        tick = 100 if waits or not moment.live else 1000
        told = (len(lines), len(lines[-1].parts) if lines else 0)
        return id(moment.state), told, moment.at // tick, moment.topic, moment.playing

    def _buttons(self) -> list[Control]:
        playing = self.speed > 0
        found = [
            controls.button("begin", "◂◂", "back to the beginning"),
            controls.button("back", "◂", "a step back"),
            controls.button("play", "❙❙" if playing else "▸", "pause" if playing else "play"),
            controls.button("forward", "▸❘", "a step forward"),
            controls.button("slow_motion", "⅛×", "slow motion", pressed=self._slow),
        ]
        if self.reel.live:
            pressed = self.head is None
            found.append(controls.button("live", "● live", "back to now", pressed=pressed))
        else:
            found.append(controls.button("live", "▸▸", "to the end"))
        return found

    # -- time ----------------------------------------------------------------------------

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        with self.lock:
            scale = timeline.axis(self.reel.start, self.reel.end, self.reel.live, 0, 1)
            self._stop_at(scale.time(float(share)))

    def goto(self, at: float) -> None:
        """To when something happened, in ms since 1970, as soon as it can be seen."""
        self._stop_at(self.reel.seen(int(at)))

    def begin(self) -> None:
        self._stop_at(self.reel.start)

    def back(self) -> None:
        """To what happened before."""
        here = self.reel.end if self.head is None else self.head
        earlier = [at for at in self.reel.moments() if at < here]
        self._stop_at(earlier[-1] if earlier else self.reel.start)

    def forward(self) -> None:
        """To what happened next; after the last, to now."""
        if self.head is not None:
            here = self.head
            self._stop_at(next((at for at in self.reel.moments() if at > here), None))

    def play(self) -> None:
        """Go on from here, as fast as it was; or pause."""
        with self.lock:
            if self.speed:
                self._stop_at(self.head)
                return
            if self.head is None:  # at its end, a film begins anew; a live one goes back a little
                self.head = self.reel.start
            self.speed = SLOW_MOTION if self._slow else 1.0
            self.draw()
        self.refresh()

    def slow_motion(self) -> None:
        with self.lock:
            self._slow = not self._slow
            if self.speed:
                self.speed = SLOW_MOTION if self._slow else 1.0
            self.draw()

    def live(self) -> None:
        self._stop_at(None)

    def _stop_at(self, at: int | None) -> None:
        with self.lock:
            self.speed = 0.0
            self.head = None if at is None or at >= self.reel.end else max(at, self.reel.start)
            self.draw()


def _waits(moment: Moment) -> bool:
    """For a session to run out, or for a leader."""
    return any(outage.ended is None for outage in moment.story.outages) or any(
        moment.status(number) != "up" and moment.believed(number) for number in moment.state.brokers
    )
