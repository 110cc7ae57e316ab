"""ClusterView: a cluster to look at, to break, and to go back in time with.

    ClusterView(cluster)                          live: click a broker, a link, the timeline
    ClusterView(Recording.load("run.jsonl.gz"))   the same, of a run that is over

Everything is where it happens: a broker is the button that kills it, a link is what is cut. Below
runs the time; drag its head back and the whole picture is as it was. Faults are offered only now,
on a live cluster, for the past can't be changed; a simulator's trace can be forked instead.

Invariant: the head is None (live, or at the end) or a time within the run.
"""

import time
from typing import Any, ClassVar

from engine.links import ZOOKEEPER
from widgets import controls
from widgets.cluster_scene import about, picture
from widgets.controls import Control
from widgets.links import SLOW_MS
from widgets.moment import Moment
from widgets.reel import Live, Reel
from widgets.stage import INTERVAL, Stage
from widgets.timeline import axis

TIME = frozenset({"seek", "goto", "begin", "back", "play", "forward", "slow_motion", "live"})
BROKERS = frozenset({"kill", "pause", "resume", "restart"})
FAULTS = BROKERS | {"cut", "slow", "heal", "add_broker"}
SLOW_MOTION = 1 / 8
EAGER = 0.04  # seconds between two looks while a cluster without a leader is about to have one


class ClusterView(Stage):
    ACTS: ClassVar[frozenset[str]] = TIME | FAULTS | {"only", "fork"}

    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Cluster")
        self._open(source)

    def _open(self, source: Any) -> None:
        self.source = source
        self.reel: Reel = Live(source) if hasattr(source, "state") else Reel(source)
        self.head: int | None = None
        self.speed = 0.0  # of the head; 1 is as it was
        self.topic = ""
        self._slow = False
        self._looked: float | None = None  # when the last look was, in seconds
        self._drawn: tuple[object, ...] = ()  # what the picture shows
        self.draw()

    # -- looking -------------------------------------------------------------------------

    def look(self) -> bool:
        return self.advance(time.monotonic())

    def advance(self, now: float) -> bool:
        """A look at the source; a head that plays moves on. False: nothing more to wait for."""
        reel = self.reel
        news = reel.ask()  # a broker that hangs holds up neither the head nor a click
        with self.lock:
            more = reel.take(news)
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
        now = self.head is None
        able = set(TIME | {"only"})
        if now and self.reel.live:
            able |= {name for name in FAULTS if hasattr(self.source, name)}
        return Moment(
            self.reel,
            self.reel.end if self.head is None else self.head,
            now and self.reel.live,
            frozenset(able),
            self.topic,
            self.speed > 0,
        )

    def draw(self) -> None:
        """A picture of the moment, if it is another one than that which is shown."""
        with self.lock:
            moment = self.moment()
            waits = _waits(moment)
            self.interval = EAGER if waits and moment.live else INTERVAL
            what = (*_gist(moment, waits), self._slow, self.head is None, self.source)
            if what == self._drawn:
                return
            self._drawn = what
            self.about = about(moment)
            self.show(picture(moment), self._controls(moment))

    def _controls(self, moment: Moment) -> list[Control]:
        found = []
        if len(moment.topics) > 1:
            options = [("", "all topics"), *((it, it) for it in moment.topics)]
            found.append(controls.choice("only", "show", options, self.topic))
        if "add_broker" in moment.acts:
            found.append(controls.button("add_broker", "+ broker", "add a broker"))
        if hasattr(self.source, "fork"):
            found.append(controls.button("fork", "⑂ fork", "another future, from here on"))
        playing = self.speed > 0
        found += [
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
            scale = axis(self.reel.start, self.reel.end, self.reel.live, 0, 1)
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

    # -- faults --------------------------------------------------------------------------

    def kill(self, broker: str) -> None:
        self.source.kill(int(broker))

    def pause(self, broker: str) -> None:
        self.source.pause(int(broker))

    def resume(self, broker: str) -> None:
        self.source.resume(int(broker))

    def restart(self, broker: str) -> None:
        self.later(self.source.restart, int(broker))

    def add_broker(self) -> None:
        self.later(self.source.add_broker)

    def cut(self, ends: str) -> None:
        self.source.cut(*_ends(ends))

    def slow(self, ends: str) -> None:
        self.source.slow(*_ends(ends), SLOW_MS)

    def heal(self) -> None:
        self.source.heal()

    # -- the rest ------------------------------------------------------------------------

    def only(self, topic: str) -> None:
        """One topic, or with "" all of them."""
        with self.lock:
            self.topic = str(topic)
            self.draw()

    def fork(self) -> None:
        """A simulator's run, with another future from this moment on."""
        at = self.reel.end if self.head is None else self.head
        self._open(self.source.fork(at))


def _waits(moment: Moment) -> bool:
    """For a session to run out, or for a leader."""
    return any(outage.ended is None for outage in moment.story.outages) or any(
        moment.status(number) != "up" and moment.believed(number) for number in moment.state.brokers
    )


def _gist(moment: Moment, waits: bool) -> tuple[object, ...]:
    """What makes a picture another one. The clock counts by tenths only while one waits."""
    lines = moment.story.lines
    tick = 100 if waits or not moment.live else 1000
    told = (len(lines), len(lines[-1].parts) if lines else 0)
    return id(moment.state), told, moment.at // tick, moment.topic, moment.playing


def _ends(ends: str) -> list[int | str]:
    """ "1-3" or "1-zookeeper" """
    return [end if end == ZOOKEEPER else int(end) for end in ends.split("-")]
