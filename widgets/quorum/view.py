"""QuorumView: a quorum of controllers: simulated, of a real cluster, or recorded.

    QuorumView(SimulatedQuorum(voters=3))        time passes when you let it
    QuorumView(cluster)                          the controllers of a cluster without ZooKeeper
    QuorumView(Recording.load("run.jsonl.gz"))   those of a run that is over

A click on a controller kills, pauses or starts it, or cuts it off; the timeline goes back to each
moment, and what was done later stays done. In a simulated quorum +0.1 s and +1 s let time pass, and
a cell that acts on the same quorum is seen here, too. The views of a cluster share one clock.

Invariant: the head is None (at the end, where one can act) or a time of the run.
"""

import time
from collections.abc import Callable
from typing import Any, ClassVar

from proof.quorum.film import QuorumFilm
from proof.quorum.simulated_quorum import SimulatedQuorum
from widgets import controls
from widgets.controls import Control
from widgets.quorum.cluster_quorum import ClusterQuorum
from widgets.quorum.layout import REAL, SIMULATED, QuorumLayout
from widgets.quorum.scene import headline, picture
from widgets.run_source import LiveRun
from widgets.scene import Act, Scene
from widgets.shared_time import TimedView
from widgets.view import redraws

SPEED = 0.12  # of a simulated run when it is played: a second in eight
TIME = frozenset({"seek", "begin", "back", "play", "forward", "live", "wait"})
FAULTS = frozenset({"kill", "start", "pause", "resume", "isolate", "resign", "heal"})
UP = (Act("kill", None, "kill"), Act("pause", None, "pause"), Act("isolate", None, "cut it off"))
RESIGN = Act("resign", None, "stop in order", "apart")
RESTART = Act("resign", None, "restart in order", "apart")
PAUSED = (Act("resume", None, "let it go on"), Act("kill", None, "kill"))
DOWN = (Act("start", None, "start"),)


class QuorumView(TimedView[QuorumLayout]):
    ACTS: ClassVar[frozenset[str]] = TIME | FAULTS

    def __init__(self, source: Any, *, is_over: bool = False) -> None:
        """`source`: a SimulatedQuorum, an engine.Cluster without ZooKeeper, or a Recording.
        `is_over`: a simulated run that is only looked at."""
        super().__init__(name="Quorum")
        self.is_over = is_over
        is_simulated = isinstance(source, SimulatedQuorum)
        self.quorum: SimulatedQuorum | None = source if is_simulated else None
        self.real: ClusterQuorum | None = None if is_simulated else ClusterQuorum(source)
        self.join_time(source)
        if self.real is not None:
            self.real.run_source.listen(self)
        self.head: int | None = None
        self._turned: float | None = None  # when the head was moved last, while the run is played
        self.draw()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if self.real is not None and isinstance(self.real.run_source, LiveRun):
            self.real.run_source.record()
        return super()._repr_mimebundle_(**options)

    # -- looking ---------------------------------------------------------------------------

    @property
    def _run(self) -> SimulatedQuorum | ClusterQuorum:
        known = self.quorum or self.real
        assert known is not None, "there is one of the two"
        return known

    @property
    def film(self) -> QuorumFilm:
        return self._run.film

    @property
    def end(self) -> int:
        """Of the run until now, in its own ms."""
        return self._run.now

    def view_state(self) -> QuorumLayout:
        end = self.end
        at = end if self.head is None else self.head
        pace = SIMULATED if self.quorum else REAL
        return QuorumLayout(self.film, at, end, self.head is None, self.width, pace)

    def poll(self) -> bool:
        return self.advance(time.monotonic())

    def advance(self, now: float) -> bool:
        """Look at the run again, and move a head that plays. False: nothing more will come."""
        # Without the lock: a controller that hangs delays no click.
        more = not self.is_over if self.real is None else self.real.run_source.poll(self)
        with self.lock:
            if self.real is not None:
                self.real.update()
            if self._turned is not None and self.head is not None:
                before, self._turned = self._turned, now
                speed = SPEED if self.quorum else 1
                self.head += max(1, round((self._turned - before) * 1000 * speed))
                if self.head >= self.end:
                    self.head = self._turned = None
            self.draw()
            playing = self._turned is not None
        if playing:
            self.tell_time(self._time)
        return more or playing

    def gist(self, state: QuorumLayout) -> tuple[object, ...]:
        return state.at, state.end, state.now, len(state.film.events)

    def headline(self, state: QuorumLayout) -> str:
        return headline(state)

    def painted(self, state: QuorumLayout) -> Scene:
        return picture(state, self._offers)

    def _offers(self, id: int) -> tuple[Act, ...]:
        """What can be done to a node: only now, not in the past."""
        if self.head is not None or self.is_over or (self.real is not None and not self._is_live):
            return ()
        node = self.film.nodes[id][-1]
        able = {"up": UP, "paused": PAUSED, "down": DOWN}[node.life]
        if node.life == "up" and node.leader == id:
            able = (*able, RESIGN if self.quorum else RESTART)
        if id not in self.film.voters and self.real is not None:
            able = tuple(act for act in able if act.name != "isolate")
        return tuple(act._replace(on=str(id)) for act in able)

    @property
    def _is_live(self) -> bool:
        return self.real is not None and self.real.run_source.live

    def offers(self, state: QuorumLayout) -> list[Control]:
        playing, now = self._turned is not None, self.head is None
        shown = now if self._is_live else None
        found = controls.time_buttons("an event", playing=playing, now=shown, more="back")
        if self.quorum and not self.is_over:
            found[-1:] = [
                controls.button("live", "● now", "back to now", pressed=now),
                controls.button("wait", "+0.1 s", "let 0.1 seconds pass", on="0.1", off=not now),
                controls.button("wait", "+1 s", "let a second pass", on="1", off=not now),
            ]
            is_cut = bool(self.quorum.world.network.ways)
        else:
            is_cut = self.real is not None and self._is_live and self.real.is_cut
        if is_cut:
            found.append(controls.button("heal", "heal", "make all ways whole", off=not now))
        return found

    # -- time ------------------------------------------------------------------------------

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        at = round(float(share) * self.end)
        self._go(None if at >= self.end else at)

    def begin(self) -> None:
        self._go(0)

    def back(self) -> None:
        here = self.end if self.head is None else self.head
        self._go(max((at for at in self._times() if at < here), default=0))

    def forward(self) -> None:
        """To the next event; after the last, to now."""
        if self.head is not None:
            self._go(min((at for at in self._times() if at > (self.head or 0)), default=None))

    def live(self) -> None:
        self._go(None)

    def play(self) -> None:
        """Play from here, a simulated run slowly; from the beginning if this is the end; or
        pause."""
        with self.lock:
            if self._turned is not None:
                self._turned = None
            else:
                self.head = 0 if self.head is None else self.head
                self._turned = time.monotonic()
            self.draw()
        self.refresh()

    @redraws
    def wait(self, seconds: str) -> None:
        assert self.quorum is not None, "time is let pass in a simulated quorum only"
        self.quorum.run(float(seconds))

    def _times(self) -> set[int]:
        return {event.at for event in self.film.events}

    def _go(self, head: int | None) -> None:
        with self.lock:
            self.head, self._turned = head, None
            self.draw()
        self.tell_time(self._time)

    @property
    def began(self) -> int:
        """When the run's own time began, in the time of all views of it."""
        return 0 if self.real is None else self.real.start

    @property
    def _time(self) -> int | None:
        return None if self.head is None else self.head + self.began

    @redraws
    def follow(self, at: int | None) -> None:
        """Show this time here, because another view does."""
        self._turned = self.head = None
        if at is not None and at - self.began < self.end:
            self.head = max(at - self.began, 0)

    # -- faults ----------------------------------------------------------------------------

    def kill(self, id: str) -> None:
        self._act("kill", id)

    def start(self, id: str) -> None:
        self._act("start" if self.quorum else "restart", id, slow=True)

    def pause(self, id: str) -> None:
        self._act("pause", id)

    def resume(self, id: str) -> None:
        self._act("resume", id)

    def isolate(self, id: str) -> None:
        if self.real is not None:
            self.real.isolate(int(id))
        else:
            self._act("isolate", id)

    def resign(self, id: str) -> None:
        """Stop the leader in order: it tells the others. A real one is started again."""
        self._act("resign" if self.quorum else "restart", id, slow=True)

    @redraws
    def heal(self) -> None:
        healed: Any = self.quorum or (self.real and self.real.cluster)
        healed.heal()
        self._drawn = None

    def _act(self, name: str, id: str, *, slow: bool = False) -> None:
        """`slow`: a real process takes its time for that."""
        if self.quorum is not None:
            with self.lock:
                act: Callable[[int], None] = getattr(self.quorum, name)
                act(int(id))
                self._drawn = None
                self.draw()
            return
        assert self.real is not None, "there is one of the two"
        assert self.real.cluster is not None, "a recording offers no faults"
        done: Callable[[int | str], None] = getattr(self.real.cluster, name)
        if slow:
            self.later(done, self.real.name(int(id)))
        else:
            done(self.real.name(int(id)))
