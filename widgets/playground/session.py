"""One picture of a simulated cluster, and its messages to a page and from it.

    page                                           worker with Python
    {"begin": "kraft"}  ────────────────────────>  a new cluster, and its picture
    {"model": {"act": "kill", "on": "2"}} ──────>  ClusterView, as from JupyterLab
    {"speed": 0.1}  {"step": 100}  ─────────────>  how fast its time passes
    <──────────────────  {"traits": {"scene": ...}}  what has changed, for stage.js
    <──────────────────  {"state": {"at": 12340, "violation": "", ...}}

The page's clock calls `tick` ten times a second. A tick has at most TICK_MS, so a page that was in
the background for an hour goes on where it was.

Invariant: while its time stands still, nothing happens in the cluster.
"""

import json
from collections.abc import Callable
from typing import Any

from widgets.cluster_view import ClusterView
from widgets.playground.simulated_cluster import SimulatedCluster

TICK_MS = 250  # of the page's clock that a tick makes up for, at most
WARM_MS = 4000  # until the first picture: brokers have found each other, and records are stored
TRAITS = ("scene", "controls", "name", "about", "said", "trouble")


class PlaygroundSession:
    def __init__(self, send: Callable[[str], object]) -> None:
        """`send`: a message for the page, as JSON."""
        self._send = send
        self._asked = self._sent = 0.0  # ms of the page's clock
        self._speed = 1.0
        self._width = 0.0
        self.begin("zookeeper")

    def begin(self, mode: str) -> None:
        """Start with a new cluster, `zookeeper` or `kraft`, and its picture."""
        self.cluster = SimulatedCluster(kraft=mode == "kraft")
        self.cluster.pass_time(WARM_MS)
        self.view = ClusterView(self.cluster)
        if self._width:
            self.view.fit(self._width)
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
            self._speed = float(told["speed"])
        elif "step" in told:
            self._speed = 0.0
            self.view.live()
            self._pass(float(told["step"]))
        elif "model" in told:
            self._of_picture(told["model"])
        self._tell()

    def tick(self, now_ms: float) -> None:
        """Let the cluster's time pass. `now_ms`: the page's clock."""
        passed, self._asked = min(now_ms - self._asked, TICK_MS), now_ms
        live = self.view.head is None  # while somebody looks at the past, the present waits
        self._pass(passed * self._speed if live else 0.0)

    def _pass(self, ms: float) -> None:
        self.cluster.pass_time(ms)
        self.view.advance(self._asked / 1000)
        self._tell()

    def _of_picture(self, content: dict[str, Any]) -> None:
        if "width" in content:
            self._width = float(content["width"])
            self.view.fit(self._width)
        elif "act" in content:
            self.view.do(str(content["act"]), *([content["on"]] if "on" in content else []))
            self.view.advance(self._asked / 1000)

    def _changed(self, change: Any) -> None:
        self._send(json.dumps({"traits": {change["name"]: change["new"]}}))

    def _tell(self) -> None:
        state = {
            "at": self.cluster.world.now,
            "speed": self._speed,
            "violation": self.cluster.violation,
            "checked": self.cluster.checked,
            "kraft": self.cluster.kraft,
        }
        self._send(json.dumps({"state": state}))
