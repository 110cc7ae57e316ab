"""A run of one of the oracle's situations, with all its states and messages, for the views.

    created ── prepare ──> the situation ── strike ──> what happens ── observe ──> the outcome
                           ^ `asked`: here the question stands

A situation lets the virtual clock run by itself, so the clock is watched: what has changed is kept
after each of its actions. A fork is the same run until then, and other delays of messages from
there on. The outcome stays the same: a question is asked only if it does not depend on luck.
"""

from collections.abc import Callable

from engine.sim.clock import Clock
from engine.sim.simulation import Simulation
from engine.sim.world import START
from oracle.cluster_situation import ClusterSituation
from proof.storms.run import Fork
from proof.storms.trace import Recipe, Trace


class WatchedClock(Clock):
    watch: Callable[[], None]

    def step(self) -> bool:
        done = super().step()
        self.watch()
        return done

    def run_until(self, time: int) -> None:
        while (due := self.due()) is not None and due <= time:
            self.step()
        self.now = max(self.now, time)


class SituationTrace(Trace):
    def __init__(self, situation: ClusterSituation, forks: tuple[Fork, ...] = ()) -> None:
        self.recipe = Recipe(seed=0, forks=forks)
        self.violation = None
        self._situation = situation
        sim = situation.begin(0, self._begin)
        self.asked = sim.now
        situation.strike(sim)
        situation.observe(sim)
        self.end = sim.now

    def _begin(self, sim: Simulation) -> None:
        world, clock = sim.world, sim.world.clock
        self._watch(world)
        self._seen = len(world.events)
        self._keep(world)
        clock.__class__ = WatchedClock
        clock.watch = lambda: self._keep(world)  # type: ignore[attr-defined]
        for at, seed in self.recipe.forks:
            clock.at(START + at, world.random.seed, seed)

    def fork(self, at: int, seed: int) -> "SituationTrace":
        forks = [each for each in self.recipe.forks if each.at < at]
        return SituationTrace(self._situation, (*forks, Fork(at, seed)))
