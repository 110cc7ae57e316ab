"""A simulated cluster for ClusterView, which takes it for a live one.

    page's clock ──> pass_time(100) ──> World.clock: all that happens in 100 ms
    ClusterView  ──> state(), events()   as of engine.Cluster
                 ──> kill(2), pause(3), cut(1, "controllers"), slow(1, 2, 500) ...

Left out: consumer groups on request, and faults of single requests.
"""

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.link_faults import FIRST_CONTROLLER
from engine.cluster.state import ClusterState
from engine.errors import invalid_request
from engine.sim.picture import Picture
from engine.sim.quorum.metadata import QuorumMetadata
from engine.sim.world import World

NAMED = {"zookeeper", "controllers"}  # ends of a link that are no brokers


class SimulatedCluster:
    def __init__(self, world: World) -> None:
        self.world = world
        self.kraft = isinstance(world.metadata, QuorumMetadata)
        self._picture = Picture(world)

    @property
    def now(self) -> int:
        """Milliseconds of simulated time since the cluster began."""
        return self.world.now

    def pass_time(self, ms: float) -> None:
        """All that happens in so many milliseconds."""
        self.world.run(round(ms))

    # -- what a view asks ------------------------------------------------------------------

    def state(self) -> ClusterState:
        return self._picture.take()

    def events(self, after: int = 0) -> list[ClusterEvent]:
        return [
            ClusterEvent(kind, at, broker or None, data, number)
            for number, (_, broker, (kind, at, data)) in enumerate(
                self.world.events[after:], after + 1
            )
        ]

    # -- faults ----------------------------------------------------------------------------

    def kill(self, node: int | str) -> None:
        if isinstance(node, int):
            self.world.kill(node)
        else:
            self.world.metadata.kill_server(self._server(node))

    def pause(self, node: int | str) -> None:
        if isinstance(node, int):
            self.world.pause(node)
        else:
            self.world.metadata.silence_server(self._server(node))

    def resume(self, node: int | str) -> None:
        if isinstance(node, int):
            self.world.resume(node)
        else:
            self.world.metadata.restart_server(self._server(node))

    def restart(self, node: int | str) -> None:
        if isinstance(node, int):
            if self.world.nodes[node].current is not None:
                self.world.kill(node)
            self.world.start(node)
        else:
            self.world.metadata.restart_server(self._server(node))

    def cut(self, one: int | str, other: int | str) -> None:
        for machine in self._machines(other):
            self.world.cut(one, machine)

    def slow(self, one: int | str, other: int | str, ms: int) -> None:
        for machine in self._machines(other):
            self.world.slow(one, machine, ms)

    def heal(self, one: int | str, other: int | str) -> None:
        for machine in self._machines(other):
            self.world.heal(one, machine)

    def _machines(self, end: int | str) -> list[int | str]:
        """The machines at this end of a link."""
        return [*self.world.metadata.machines] if end in NAMED else [end]

    def _server(self, name: str) -> int:
        """The number in a name like controller-101."""
        kind, _, number = name.partition("-")
        if not self.kraft:
            raise invalid_request(
                "this ZooKeeper is one server, which stays: cut its links instead"
            )
        assert kind == "controller", f"{name} is no broker and no controller"
        return FIRST_CONTROLLER - 1 + int(number)
