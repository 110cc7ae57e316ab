"""A simulated cluster for ClusterView, which takes it for a live one.

    page's clock ──> pass_time(100) ──> World.clock: all that happens in 100 ms
    ClusterView  ──> state(), events()   as of engine.Cluster
                 ──> kill(2), pause(3), cut(1, "controllers"), slow(1, 2, 500) ...

A producer and readers are at work, as in a storm of `engine simulate`, but nothing breaks by
itself. Twice a second the invariants of the storms are checked. The first one that does not hold
stops the clock: what is on the screen is the moment in which it broke.

Left out: forks, consumer groups on request, and faults of single requests.
"""

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.link_faults import FIRST_CONTROLLER
from engine.cluster.state import ClusterState
from engine.errors import invalid_request
from engine.sim.picture import Picture
from engine.sim.world import World
from proof.storms.invariants import ALWAYS, Violation, check
from proof.storms.run import Run

SEED = 7  # with three brokers and a consumer group
ENDLESS_S = 1e6  # nobody looks for so long
TURN_MS = 500  # between two batches of records, and two checks
NAMED = {"zookeeper", "controllers"}  # ends of a link that are no brokers


class CalmRun(Run):
    """A run of the storms without a storm: what breaks is broken by hand."""

    def _turn(self) -> None:
        self.observed.observe()
        check(self.observed, ALWAYS)
        self.workload.send()
        self.group_workload.turn()
        self.world.clock.after(TURN_MS, self._turn)


class SimulatedCluster:
    def __init__(self, seed: int = SEED, *, kraft: bool = False) -> None:
        self.kraft = kraft
        self.violation = ""  # the invariant that does not hold any more
        self.checked = [invariant.__name__.replace("_", " ") for invariant in ALWAYS]
        self._world = CalmRun(seed, ENDLESS_S, kraft=kraft).world
        self._picture = Picture(self._world)

    @property
    def world(self) -> World:
        return self._world

    def pass_time(self, ms: float) -> None:
        """All that happens in so many milliseconds, unless an invariant has broken."""
        if self.violation:
            return
        try:
            self._world.run(round(ms))
        except Violation as violation:
            self.violation = str(violation)

    # -- what a view asks ------------------------------------------------------------------

    def state(self) -> ClusterState:
        return self._picture.take()

    def events(self, after: int = 0) -> list[ClusterEvent]:
        return [
            ClusterEvent(kind, at, broker or None, data, number)
            for number, (_, broker, (kind, at, data)) in enumerate(
                self._world.events[after:], after + 1
            )
        ]

    # -- faults ----------------------------------------------------------------------------

    def kill(self, node: int | str) -> None:
        if isinstance(node, int):
            self._world.kill(node)
        else:
            self._world.metadata.kill_server(self._server(node))

    def pause(self, node: int | str) -> None:
        if isinstance(node, int):
            self._world.pause(node)
        else:
            self._world.metadata.silence_server(self._server(node))

    def resume(self, node: int | str) -> None:
        if isinstance(node, int):
            self._world.resume(node)
        else:
            self._world.metadata.restart_server(self._server(node))

    def restart(self, node: int | str) -> None:
        if isinstance(node, int):
            if self._world.nodes[node].current is not None:
                self._world.kill(node)
            self._world.start(node)
        else:
            self._world.metadata.restart_server(self._server(node))

    def cut(self, one: int | str, other: int | str) -> None:
        for machine in self._machines(other):
            self._world.cut(one, machine)

    def slow(self, one: int | str, other: int | str, ms: int) -> None:
        for machine in self._machines(other):
            self._world.slow(one, machine, ms)

    def heal(self, one: int | str, other: int | str) -> None:
        for machine in self._machines(other):
            self._world.heal(one, machine)

    def _machines(self, end: int | str) -> list[int | str]:
        """The machines at this end of a link."""
        return [*self._world.metadata.machines] if end in NAMED else [end]

    def _server(self, name: str) -> int:
        """The number in a name like controller-101."""
        kind, _, number = name.partition("-")
        if not self.kraft:
            raise invalid_request(
                "this ZooKeeper is one server, which stays: cut its links instead"
            )
        assert kind == "controller", f"{name} is no broker and no controller"
        return FIRST_CONTROLLER - 1 + int(number)
