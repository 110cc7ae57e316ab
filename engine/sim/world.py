"""A whole cluster in one process, on a clock that runs as fast as it can.

    world = World(seed=7, brokers=3)
    world.create("orders", [[1, 2, 3]], **{"min.insync.replicas": "2"})
    world.until(lambda: world.leader(ORDERS) == 1)
    world.client.send(ORDERS, "a")
    world.kill(1)
    world.run(20_000)                      # 20 seconds, in a moment

            client ──┐
       broker-1 ─────┤
       broker-2 ─────┼── Network ── zookeeper          Clock, Random
       broker-3 ─────┘              or controller-1, controller-2, controller-3

All decisions are made by the engine's own code; time, the network, ZooKeeper and the disks are
simulated. All random choices come from one seed, so the same seed and the same steps make the same
history, to the last event. To go back in time, start again with the same seed and stop earlier.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, NamedTuple

from engine.broker.rules import KAFKAS, Rules
from engine.cluster.topics import dotted
from engine.config.kraft import by_role
from engine.model import Event, TopicPartition
from engine.sim.client import REQUEST_TIMEOUT_MS, Client, Seen
from engine.sim.clock import Clock
from engine.sim.metadata import KnownState, SimulatedMetadata
from engine.sim.network import UNACKNOWLEDGED_MS, Network
from engine.sim.node import SimulatedBroker
from engine.sim.peer import machine
from engine.sim.process import SimulatedProcess
from engine.sim.quorum.controller_node import NodeBuilt, unchanged
from engine.sim.quorum.metadata import QuorumMetadata
from engine.sim.request_repeats import RequestRepeats
from engine.sim.zookeeper_metadata import ZookeeperMetadata

START = 1_700_000_000_000  # what the clock says when the world begins: ms since 1970
NO_NODE = 0  # in place of a broker, for events of ZooKeeper and faults


class Happened(NamedTuple):
    at: int  # ms since the world began
    broker: int  # that reported it; 0: none
    event: Event


class World:
    def __init__(
        self,
        seed: int = 0,
        brokers: int | Sequence[int] = 3,
        *,
        delay: tuple[int, int] = (1, 1),
        config: Mapping[str, str] | None = None,
        each: Mapping[int, Mapping[str, str]] | None = None,  # one broker's own configuration
        patience: int = UNACKNOWLEDGED_MS,  # ms until a connection that carries nothing breaks
        zookeepers: int = 1,
        controllers: int | None = None,  # without ZooKeeper: so many; 0: the brokers are
        rules: Rules = KAFKAS,
        built: NodeBuilt = unchanged,  # called with each node of a quorum
    ) -> None:
        self.random = Random(seed)
        self.clock = Clock(START)
        self.network = Network(self.clock, self.random, delay, patience)
        self.events: list[Happened] = []
        self.nodes: dict[int, SimulatedBroker] = {}
        self._config = dict(config or {})
        of_brokers = self._config if controllers is None else by_role(self._config).broker
        self._rules, self._built = rules, built
        ids = range(1, brokers + 1) if isinstance(brokers, int) else brokers
        self.metadata: SimulatedMetadata = (
            ZookeeperMetadata(
                *(self.clock, self.network, zookeepers, seed),
                *(self.random, self.nodes, self.note),
            )
            if controllers is None
            else QuorumMetadata(
                *(self.clock, self.network, controllers, ids, self._config, rules, built),
                *(self._note, self.note),
            )
        )
        self._config = of_brokers
        self.repeats = RequestRepeats(self.clock, self.network, self.note)
        self._producer_ids = count(1000)
        self.client = self.add_client("client")
        for broker in ids:
            self.add(broker, **(each or {}).get(broker, {}))

    # -- time ----------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Milliseconds since the world began."""
        return self.clock.now - START

    def run(self, milliseconds: int) -> None:
        self.clock.run_until(self.clock.now + milliseconds)

    def until(self, condition: Callable[[], bool], limit: int = 60_000) -> bool:
        """Run until the condition holds; False if it does not within so many milliseconds."""
        end = self.clock.now + limit
        while not condition():
            due = self.clock.due()
            if due is None or due > end:
                self.clock.run_until(end)
                return condition()
            self.clock.step()
        return True

    # -- brokers -------------------------------------------------------------------------

    def add(self, broker: int, **settings: str) -> None:
        """A new machine, with an empty disk, and the broker on it started."""
        given = {**self._config, **self.metadata.settings(broker), **dotted(settings)}
        quorum = self.metadata
        combined = quorum.controllers.get(broker) if isinstance(quorum, QuorumMetadata) else None
        self.nodes[broker] = SimulatedBroker(
            broker,
            self.clock,
            self.network,
            self._note,
            self._rules,
            combined,
            self._built,
            **given,
        )
        self.start(broker)

    def add_client(self, name: str, timeout: int = REQUEST_TIMEOUT_MS) -> Client:
        """One more machine, with a client on it; `timeout`: ms for an answer."""
        process = SimulatedProcess(self.clock, self.network, name)
        return Client(process, self._answering, lambda: next(self._producer_ids), timeout)

    def __getitem__(self, broker: int) -> SimulatedBroker:
        return self.nodes[broker]

    def start(self, broker: int) -> None:
        self.note("broker.started", broker=broker)
        self.nodes[broker].start()

    def kill(self, broker: int) -> None:
        self.nodes[broker].kill()
        self.note("broker.killed", broker=broker)

    def power_cut(self, broker: int) -> None:
        lost = self.nodes[broker].power_cut()
        self.note("broker.lost-power", broker=broker, records=lost)

    def stop(self, broker: int) -> None:
        """A controlled shutdown, which takes some time."""
        self.note("broker.stopping", broker=broker)
        self.nodes[broker].running.stop()

    def pause(self, broker: int) -> None:
        self.nodes[broker].running.process.pause()
        self.note("broker.paused", broker=broker)

    def resume(self, broker: int) -> None:
        self.note("broker.resumed", broker=broker)
        self.nodes[broker].running.process.resume()

    # -- the network ---------------------------------------------------------------------

    def cut(self, one: int | str, other: int | str, *, both: bool = True) -> None:
        self.network.cut(_name(one), _name(other), both=both)
        self.note("link.cut", one=one, other=other, both=both)

    def heal(self, one: int | str | None = None, other: int | str | None = None) -> None:
        """Remove all faults of these links: cuts, delays and losses."""
        pair = [None if each is None else _name(each) for each in (one, other)]
        self.note("link.healed", one=one, other=other)
        self.network.heal(*pair)

    def slow(self, one: int | str, other: int | str, delay: int, *, both: bool = True) -> None:
        """Every message takes this many milliseconds."""
        self.note("link.slowed", one=one, other=other, ms=delay)
        self.network.way(_name(one), _name(other)).delay = (delay, delay)
        if both:
            self.slow(other, one, delay, both=False)

    def scatter(self, one: int | str, other: int | str, delay: tuple[int, int]) -> None:
        """Every message has its own delay, so messages overtake each other."""
        self.note("link.scattered", one=one, other=other, ms=delay)
        for way in (
            self.network.way(_name(one), _name(other)),
            self.network.way(_name(other), _name(one)),
        ):
            way.delay, way.ordered = delay, False

    def lose(self, one: int | str, other: int | str, share: float, *, both: bool = True) -> None:
        """Lose this share of the messages."""
        self.note("link.loses", one=one, other=other, share=share)
        self.network.way(_name(one), _name(other)).loss = share
        if both:
            self.lose(other, one, share, both=False)

    # -- state ---------------------------------------------------------------------------

    def consume(
        self, partition: TopicPartition, offset: int, broker: int, **how: Any
    ) -> Seen | None:
        """Fetch from a broker as a consumer, and wait for the answer."""
        seen: list[Seen] = []
        self.client.consume(partition, offset, broker, seen.append, **how)
        self.until(lambda: bool(seen))
        return seen[0] if seen else None

    # -- administration, and the state of the metadata ---------------------------------------

    @property
    def zookeeper(self) -> ZookeeperMetadata:
        """For what only a world with ZooKeeper has."""
        assert isinstance(self.metadata, ZookeeperMetadata), "this world has no ZooKeeper"
        return self.metadata

    @property
    def quorum(self) -> QuorumMetadata:
        """For what only a world without ZooKeeper has."""
        assert isinstance(self.metadata, QuorumMetadata), "this world has ZooKeeper"
        return self.metadata

    @property
    def controller(self) -> int | None:
        """The broker that is controller; without ZooKeeper, the active controller's node id."""
        return self.metadata.controller

    def create(self, topic: str, replicas: Sequence[Sequence[int]], **config: str) -> None:
        """Create a topic; the controller elects its leaders soon after."""
        self.metadata.create(topic, replicas, dotted(config))

    def delete(self, topic: str) -> None:
        self.metadata.delete(topic)

    def configure(self, topic: str, **config: str) -> None:
        """Change a topic's configuration."""
        self.metadata.configure(topic, dotted(config))

    def elect(
        self, partition: TopicPartition, done: Callable[[Any], object], *, unclean: bool = False
    ) -> None:
        self.metadata.elect(partition, done, unclean=unclean)

    def reassign(
        self, moves: Mapping[TopicPartition, tuple[int, ...] | None], done: Callable[[Any], object]
    ) -> None:
        self.metadata.reassign(moves, done)

    def state(self, partition: TopicPartition) -> KnownState | None:
        return self.metadata.state(partition)

    def leader(self, partition: TopicPartition) -> int:
        """By ZooKeeper, or the quorum; -1: none."""
        state = self.state(partition)
        return state.leader if state else -1

    def isr(self, partition: TopicPartition) -> tuple[int, ...]:
        state = self.state(partition)
        return state.isr if state else ()

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        return self.metadata.replicas(partition)

    # -- inside --------------------------------------------------------------------------

    def _answering(self) -> list[int]:
        """The brokers that would answer a client: it finds them without trying the others."""
        up = [each for each in self.nodes.values() if each.current is not None]
        return [each.id for each in up if not each.running.process.paused]

    def note(self, kind: str, **facts: Any) -> None:
        """Note something that was done to the cluster or to a client."""
        self._note(NO_NODE, Event(kind, self.clock.now, facts))

    def report(self, event: Event) -> None:
        """Note an event of a client."""
        self._note(NO_NODE, event)

    def _note(self, broker: int, event: Event) -> None:
        self.events.append(Happened(self.now, broker, event))


def _name(end: int | str) -> str:
    return machine(end) if isinstance(end, int) else end
