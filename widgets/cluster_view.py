"""ClusterView: shows a cluster, breaks it on request, and goes back in its time.

    ClusterView(cluster)                          live: click a broker, a link, the timeline
    ClusterView(Recording.load("run.jsonl.gz"))   the same, for a finished run
    ClusterView(Trace.of(seed=7))                 a simulated run, message by message

A click on a broker kills it, a click on a link cuts it. The timeline is at the bottom; drag its
head back, and the whole picture shows that moment. Faults are possible only at the present of a
live cluster, since the past can't be changed; a simulator's trace can be forked instead.

playback.py moves the head, as in every view with a timeline.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from engine.errors import invalid_request
from engine.links import ZOOKEEPER
from widgets import cluster_strip, controls
from widgets.broker_card import COORDINATOR_MS, ERROR, FAILED
from widgets.cluster_scene import about, picture
from widgets.controls import Control
from widgets.links import SLOW_MS
from widgets.moment import ViewMoment
from widgets.playback import TIME, Playback
from widgets.progress.record import progress_file
from widgets.replay import messages
from widgets.replay.simulated_run import SimulatedRun
from widgets.scene import Scene
from widgets.view import redraws

PATIENCE = 0.5  # seconds to wait for a fork before a message says that it is being made


def _ends(ends: str) -> list[int | str]:
    """The two ends of a link, from its name: "1-3", "1-zookeeper" or "1-controllers"."""
    return [_end(end) for end in ends.split("-")]


def _end(end: str) -> int | str:
    return end if str(end).startswith((ZOOKEEPER, "controller")) else int(end)


# Faults of a cluster: the arguments, from what a click on the page was about. An end of a link is a
# broker, by its number, or a server of ZooKeeper or a controller, by its name.
ARGUMENTS: Mapping[str, Callable[[str], Sequence[object]]] = {
    "kill": lambda end: [_end(end)],
    "pause": lambda end: [_end(end)],
    "resume": lambda end: [_end(end)],
    "cut": _ends,
    "slow": lambda ends: [*_ends(ends), SLOW_MS],
    "heal": _ends,
    "fail_requests": lambda broker: [int(broker), FAILED, ERROR],
    "drop_next_answer": lambda broker: [int(broker), FAILED],
    "slow_coordinator": lambda broker: [int(broker), COORDINATOR_MS],
    "heal_requests": lambda broker: [int(broker)],
}
FAULTS = frozenset(ARGUMENTS) | {"restart", "add_broker"}
BREAKS = FAULTS - {"resume", "restart", "heal", "heal_requests", "add_broker"}


class ClusterView(Playback[ViewMoment]):
    ACTS: ClassVar[frozenset[str]] = TIME | FAULTS | {"only", "fork"}

    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Cluster")
        self._forking: float | None = None  # when a fork was begun, in seconds
        self._failure: Exception | None = None  # of the thread that makes a fork
        self._open(source)

    def do(self, act: str, *on: Any) -> None:
        super().do(act, *on)
        if act in BREAKS and not self.trouble and (kept := progress_file()):
            kept.broke(act)

    def view_state(self) -> ViewMoment:
        return self.moment()

    def painted(self, moment: ViewMoment) -> Scene:
        if 0 < moment.height < cluster_strip.LOW:
            return cluster_strip.picture(moment)
        return messages.added(picture(moment), moment)

    def headline(self, moment: ViewMoment) -> str:
        return self._progress or about(moment)

    def gist(self, moment: ViewMoment) -> tuple[object, ...]:
        """With messages, each millisecond has its own picture."""
        exact = moment.at if isinstance(self.run_source.film, SimulatedRun) else 0
        return *super().gist(moment), exact, self._progress

    def able(self, now: bool) -> frozenset[str]:
        faults = {name for name in FAULTS if now and hasattr(self.source, name)}
        return TIME | {"only"} | faults

    def offers(self, moment: ViewMoment) -> list[Control]:
        found = []
        if len(moment.topics) > 1:
            options = [("", "all topics"), *((it, it) for it in moment.topics)]
            found.append(controls.choice("only", "show", options, self.topic))
        if "add_broker" in moment.acts:
            found.append(controls.button("add_broker", "+ broker", "add a broker"))
        if hasattr(self.source, "fork"):
            found += self._futures()
        return found + super().offers(moment)

    # -- faults --------------------------------------------------------------------------

    def act(self, name: str) -> Callable[..., object]:
        """A fault is a method of the cluster; the page names whom it is about."""
        if name not in ARGUMENTS:
            return super().act(name)
        fault, arguments = getattr(self.source, name), ARGUMENTS[name]
        return lambda whom: fault(*arguments(whom))

    def restart(self, broker: str) -> None:
        self.later(self.source.restart, _end(broker))

    def add_broker(self) -> None:
        self.later(self.source.add_broker)

    # -- the rest ------------------------------------------------------------------------

    @redraws
    def only(self, topic: str) -> None:
        """Show one topic, or with "" all of them."""
        self.topic = str(topic)

    # -- another future --------------------------------------------------------------------

    def fork(self, run: str = "") -> None:
        """A simulator's run, with another future from this moment on; or with the number of one
        that was made already, that one."""
        at, done = self.run_source.end if self.head is None else self.head, threading.Event()
        film: Any = self.run_source.film
        if run:
            return self._turn_to(film.runs[int(run)], at)
        with self.lock:
            if self._forking is not None:
                raise invalid_request("a fork is being made: wait for it")
            self._forking = time.monotonic()
        self.later(self._fork, film, at, done)
        done.wait(PATIENCE)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self.draw()

    def _fork(self, film: Any, at: int, done: threading.Event) -> None:
        try:
            self._turn_to(film.fork(at), at)
        except Exception as error:  # shown in the widget, or raised if the caller still waits
            self._failure = error
            raise
        finally:
            self._forking = None
            done.set()
            self.draw()

    def _turn_to(self, film: Any, at: int) -> None:
        with self.lock:
            topic, slow = self.topic, self._slow
            self._open(film)
            self.topic, self._slow = topic, slow
            self.follow(at)

    def poll(self) -> bool:
        return super().poll() or self._forking is not None

    @property
    def _progress(self) -> str:
        # Read once: another thread takes it away when the fork is made.
        if (begun := self._forking) is None or time.monotonic() - begun < PATIENCE:
            return ""
        return f"another future is being simulated: {time.monotonic() - begun:.1f} s so far"

    def _futures(self) -> list[Control]:
        """The runs made so far, and one more."""
        film, found = self.run_source.film, []
        if isinstance(film, SimulatedRun) and len(film.runs) > 1:
            options = [(str(place), run.name) for place, run in enumerate(film.runs)]
            found.append(controls.choice("fork", "run", options, str(film.runs.index(film))))
        words, off = "another future, from here on", self._forking is not None
        return [*found, controls.button("fork", "↱ fork", words, off=off)]
