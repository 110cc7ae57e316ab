"""One picture of a simulated cluster, and its messages to a page and from it.

    page                                           worker with Python
    {"begin": "kraft"}  ────────────────────────>  a new cluster, and its picture
    {"model": {"act": "kill", "on": "2"}} ──────>  ClusterView, as from JupyterLab
    {"speed": 0.1}  {"step": -100}  ────────────>  how fast its time passes
    {"acks": "1"}  ─────────────────────────────>  of the records that are sent from now on
    {"fork": "all"}  ───────────────────────────>  from the moment that is shown, with these acks
    <──────────────────  {"traits": {"scene": ...}}  what has changed, for stage.js
    <──────────────────  {"state": {"at": 12340, "violation": "", ...}}

The page's clock calls `tick` ten times a second. A tick has at most TICK_MS, so a page that was in
the background for an hour goes on where it was.

All that was done to the cluster is noted with its time. A fork begins with a new cluster of the
same seed, and does the same at the same times, up to its moment: so it is the same run until then.

Invariant: while its time stands still, nothing happens in the cluster.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from engine.sim.world import START
from widgets.cluster_view import FAULTS, ClusterView
from widgets.moment import ViewMoment
from widgets.playground.calm_run import PlaygroundCluster

TICK_MS = 250  # of the page's clock that a tick makes up for, at most
WARM_MS = 4000  # until the first picture: brokers have found each other, and records are stored
REPLAY_MS = 100  # between two states that are kept of what is done again
ACKS = "acks"  # the act that is not one of the picture
TRAITS = ("scene", "controls", "name", "about", "said", "trouble")


class ReplayedAct(NamedTuple):
    at: int  # ms since the world began
    act: str
    on: tuple[Any, ...]


class PlaygroundView(ClusterView):
    """While the clock stands, its picture is of the very moment, as the clock of the page is."""

    stands = False

    def gist(self, moment: ViewMoment) -> tuple[object, ...]:
        return *super().gist(moment), self.stands and moment.at


class PlaygroundSession:
    def __init__(self, send: Callable[[str], object]) -> None:
        """`send`: a message for the page, as JSON."""
        self._send = send
        self._asked = 0.0  # ms of the page's clock
        self._speed = 1.0
        self._width = 0.0
        self.begin("zookeeper")

    def begin(self, mode: str) -> None:
        """Start with a new cluster, `zookeeper` or `kraft`, and its picture."""
        self._forked = ""  # where this run has left another one, in words
        self._acts: list[ReplayedAct] = []
        self._open(kraft=mode == "kraft")
        self._show()

    def _open(self, *, kraft: bool) -> None:
        self.cluster = PlaygroundCluster(kraft=kraft)
        self.cluster.pass_time(WARM_MS)
        self.view = PlaygroundView(self.cluster)
        self.view.stands = not self._speed
        if self._width:
            self.view.fit(self._width)

    def _show(self) -> None:
        self.view.observe(self._changed, TRAITS)
        self._send(json.dumps({"traits": {name: getattr(self.view, name) for name in TRAITS}}))
        self._tell()

    def hear(self, message: str) -> None:
        """Carry out a message of the page."""
        told: dict[str, Any] = json.loads(message)
        if "begin" in told:
            self.view.close()
            self.begin(str(told["begin"]))
        elif "speed" in told:
            self._go(float(told["speed"]))
        elif "step" in told:
            self._go(0.0)
            self._step(float(told["step"]))
        elif "acks" in told:
            self._act(ACKS, str(told["acks"]))
        elif "fork" in told:
            self._fork(str(told["fork"]))
        elif "model" in told:
            self._of_picture(told["model"])
        self._tell()

    def tick(self, now_ms: float) -> None:
        """Let the cluster's time pass. `now_ms`: the page's clock."""
        passed, self._asked = min(now_ms - self._asked, TICK_MS), now_ms
        live = self.view.head is None  # while somebody looks at the past, the present waits
        self._pass(passed * self._speed if live else 0.0)

    def _go(self, speed: float) -> None:
        """How fast time passes; 0: the clock stands."""
        self._speed, self.view.stands = speed, not speed
        self.view.draw()

    def _pass(self, ms: float) -> None:
        self.cluster.pass_time(ms)
        self.view.advance(self._asked / 1000)
        self._tell()

    def _step(self, ms: float) -> None:
        """Move by some ms: through what was seen, or from the present on into new time."""
        if self.view.head is None and ms > 0:
            self._pass(ms)
        else:
            self.view.stop_at(round(self._shown + ms))

    @property
    def _shown(self) -> int:
        """The time of the moment that the picture shows, ms since 1970."""
        head = self.view.head
        return self.view.run_source.end if head is None else head

    def _of_picture(self, content: dict[str, Any]) -> None:
        if "width" in content:
            self._width = float(content["width"])
            self.view.fit(self._width)
        elif "act" in content:
            self._act(str(content["act"]), *([content["on"]] if "on" in content else []))
            self.view.advance(self._asked / 1000)

    def _act(self, act: str, *on: Any) -> None:
        if act in FAULTS or act == ACKS:
            self._acts.append(ReplayedAct(self.cluster.now, act, on))
        if act == ACKS:
            self.cluster.choose_acks(*on)
        else:
            self.view.do(act, *on)

    # -- another future --------------------------------------------------------------------

    def _fork(self, acks: str) -> None:
        """Go on from the moment that is shown: a new cluster does again what was done until it."""
        until, shown = self._shown - START, self._shown - self.view.run_source.start
        done = [act for act in self._acts if act.at <= until]
        self.view.close()
        self._acts = []
        self._open(kraft=self.cluster.kraft)
        for act in done:
            self._replay(act.at)
            self._act(act.act, *act.on)
        self._replay(until)
        self._act(ACKS, acks)
        self.view.advance(self._asked / 1000)
        self._forked = f"The same run up to {shown / 1000:.1f} s, from there on with acks={acks}."
        self._show()

    def _replay(self, until: int) -> None:
        while (left := until - self.cluster.now) > 0 and self.cluster.violation is None:
            self.cluster.pass_time(min(left, REPLAY_MS))
            self.view.run_source.poll(self.view)

    # -- for the page ----------------------------------------------------------------------

    def _changed(self, change: Any) -> None:
        self._send(json.dumps({"traits": {change["name"]: change["new"]}}))

    def _tell(self) -> None:
        cluster, broken = self.cluster, self.cluster.violation
        state = {
            "at": self._shown - self.view.run_source.start,  # as its timeline counts
            "past": self.view.head is not None,
            "speed": self._speed,
            "violation": f"{broken.invariant.replace('_', ' ')}: {broken.text}" if broken else "",
            "checked": cluster.checked,
            "kraft": cluster.kraft,
            "acks": cluster.acks,
            "acknowledged": cluster.acknowledged,
            "lost": cluster.lost,
            "forked": self._forked,
        }
        self._send(json.dumps({"state": state}))
