"""QuorumView: a simulated quorum, in which time passes when you let it.

    quorum = SimulatedQuorum(voters=3)
    QuorumView(quorum)

A click on a controller kills, pauses or starts it, or cuts it off; +0.1 s and +1 s let time pass;
the timeline goes back to each moment, and what was done later stays done. A cell that acts on the
same quorum is seen here, too.

Invariant: the head is None (at the end, where one can act) or a time of the run.
"""

import time
from collections.abc import Callable
from typing import ClassVar

from proof.quorum.simulated_quorum import SimulatedQuorum
from widgets import controls
from widgets.controls import Control
from widgets.quorum.layout import QuorumLayout
from widgets.quorum.scene import headline, picture
from widgets.scene import Act
from widgets.stage import SceneWidget

SPEED = 0.12  # of the run when it is played: a second in eight
TIME = frozenset({"seek", "begin", "back", "play", "forward", "live", "wait"})
FAULTS = frozenset({"kill", "start", "pause", "resume", "isolate", "resign", "heal"})
UP = (Act("kill", None, "kill"), Act("pause", None, "pause"), Act("isolate", None, "cut it off"))
RESIGN = Act("resign", None, "stop in order", "apart")
PAUSED = (Act("resume", None, "let it go on"), Act("kill", None, "kill"))
DOWN = (Act("start", None, "start"),)


class QuorumView(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = TIME | FAULTS

    def __init__(self, quorum: SimulatedQuorum) -> None:
        super().__init__(name="Quorum")
        self.quorum = quorum
        self.head: int | None = None
        self._turned: float | None = None  # when the head was moved last, while the run is played
        self._drawn: object = None
        self.draw()

    # -- looking ---------------------------------------------------------------------------

    def plan(self) -> QuorumLayout:
        end = self.quorum.now
        at = end if self.head is None else self.head
        return QuorumLayout(self.quorum.film, at, end, self.head is None, self.width)

    def poll(self) -> bool:
        with self.lock:
            if self._turned is not None and self.head is not None:
                before, self._turned = self._turned, time.monotonic()
                self.head += max(1, round((self._turned - before) * 1000 * SPEED))
                if self.head >= self.quorum.now:
                    self.head = self._turned = None
            self.draw()
        return True

    def draw(self) -> None:
        """Draw the moment, if its picture differs from the one shown."""
        with self.lock:
            plan = self.plan()
            events = len(self.quorum.film.events)
            what = (plan.at, plan.end, plan.now, self.width, self._turned is None, events)
            if what == self._drawn:
                return
            self._drawn, self.about = what, headline(plan)
            self.show(picture(plan, self._offers), self._controls())

    def _offers(self, id: int) -> tuple[Act, ...]:
        """What can be done to a node: only now, not in the past."""
        if self.head is not None:
            return ()
        node = self.quorum.node(id)
        able = {"up": UP, "paused": PAUSED, "down": DOWN}[node.life]
        acts = (*able, RESIGN) if node.life == "up" and node.leader == id else able
        return tuple(act._replace(on=str(id)) for act in acts)

    def _controls(self) -> list[Control]:
        playing, now = self._turned is not None, self.head is None
        found = [
            controls.button("begin", "◂◂", "back to the beginning"),
            controls.button("back", "◂", "an event back", more="back"),
            controls.button("play", "❙❙" if playing else "▸", "pause" if playing else "play"),
            controls.button("forward", "▸❘", "an event on"),
            controls.button("live", "● now", "back to now", pressed=now),
            controls.button("wait", "+0.1 s", "let 0.1 seconds pass", on="0.1", off=not now),
            controls.button("wait", "+1 s", "let a second pass", on="1", off=not now),
        ]
        if self.quorum.world.network.ways:
            found.append(controls.button("heal", "heal", "make all ways whole", off=not now))
        return found

    # -- time ------------------------------------------------------------------------------

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        at = round(float(share) * self.quorum.now)
        self._go(None if at >= self.quorum.now else at)

    def begin(self) -> None:
        self._go(0)

    def back(self) -> None:
        here = self.quorum.now if self.head is None else self.head
        self._go(max((at for at in self._times() if at < here), default=0))

    def forward(self) -> None:
        """To the next event; after the last, to now."""
        if self.head is not None:
            self._go(min((at for at in self._times() if at > (self.head or 0)), default=None))

    def live(self) -> None:
        self._go(None)

    def play(self) -> None:
        """Play slowly from here, or from the beginning if this is the end; or pause."""
        with self.lock:
            if self._turned is not None:
                self._turned = None
            else:
                self.head = 0 if self.head is None else self.head
                self._turned = time.monotonic()
            self.draw()
        self.refresh()

    def wait(self, seconds: str) -> None:
        with self.lock:
            self.quorum.run(float(seconds))
            self.draw()

    def _times(self) -> set[int]:
        return {event.at for event in self.quorum.film.events}

    def _go(self, head: int | None) -> None:
        with self.lock:
            self.head, self._turned = head, None
            self.draw()

    # -- faults ----------------------------------------------------------------------------

    def kill(self, id: str) -> None:
        self._act(self.quorum.kill, id)

    def start(self, id: str) -> None:
        self._act(self.quorum.start, id)

    def pause(self, id: str) -> None:
        self._act(self.quorum.pause, id)

    def resume(self, id: str) -> None:
        self._act(self.quorum.resume, id)

    def isolate(self, id: str) -> None:
        self._act(self.quorum.isolate, id)

    def resign(self, id: str) -> None:
        self._act(self.quorum.resign, id)

    def heal(self) -> None:
        with self.lock:
            self.quorum.heal()
            self.draw()

    def _act(self, fault: Callable[[int], None], id: str) -> None:
        with self.lock:
            fault(int(id))
            self._drawn = None
            self.draw()
