"""A storm: random faults, by a seed.

    turn ──> harm    with some probability: one of the faults of this storm
         ──> mend    with some probability: heal links, resume and restart brokers

Each storm leaves some kinds of faults out and has many of others, since many different storms find
more than one that has all kinds. A broker is killed with all that it wrote (`kill`), or loses what
it had not flushed (`power`); it is paused, stopped in order, or loses its session; links are cut in
both directions or in one, are slow, lose messages, or let them overtake each other.

In every third storm nonsense is written to ZooKeeper, too: into the state of a partition, the
assignment or the configuration of its topic, the controller's own nodes, requests and notes. It
stays until it is mended.

In every fifth storm ZooKeeper has three servers, which are killed or silenced, and come back; often
a majority of them is away. So it is with the controllers of a cluster without ZooKeeper; these
lose their power, too. In every fourth of these storms the brokers are the controllers.

Kafka's promises hold only for a limited number of faults. So here
- at most two brokers of three are away, for any reason;
- power fails only while all replicas are in sync and no broker is stopping, and no other fault is
  added before the broker has left the ISR: the last replica must not be the one that lost records,
  and nobody may write back an ISR that still has the broker;
- a machine without power takes longer to come back than a session lasts.
`Power` can lift the last two: docs/reliability.md shows the consequences. And no request comes a
second time in a later transaction, unless the defect `late-request` asks for it.
"""

from collections.abc import Collection, Sequence
from random import Random

from engine.config import BrokerConfig
from engine.config.kraft import KRaftBrokerConfig
from engine.model import NO_BROKER, TopicPartition
from engine.sim.node import SimulatedBroker
from engine.sim.world import World
from engine.sim.zookeeper_metadata import ZookeeperMetadata
from engine.wire.apis import Api
from engine.zookeeper import znodes
from proof.storms.defects import Power

Link = tuple[int | str, int | str]
KINDS = (
    "kill", "power", "pause", "stop", "expire", "elect", "move",
    "cut", "cut_one_way", "slow", "lose", "scatter",
)  # fmt: skip
LIKELY = (0, 1, 1, 2, 6)  # how much of each a storm has: nothing, a little, a lot
MOST_AWAY = 2
REPLICAS = 3
BRIEF = 200  # ms
HARMS = (0.25, 0.5, 0.9)  # the probability of a fault in a turn; each storm picks one
MENDS = (0.1, 0.3, 0.6, 1.0)  # and of its end
WRITES = 0.1  # the probability that nonsense is written in a turn
REPEATS = 0.2  # ... that a request of a transaction comes a second time
OF_TRANSACTIONS = Api.ADD_PARTITIONS_TO_TXN, Api.END_TXN, Api.WRITE_TXN_MARKERS
LEAVES = 0.15  # ... that one of ZooKeeper's servers is killed or silenced
NODES = (
    znodes.CONTROLLER, znodes.CONTROLLER_EPOCH, znodes.topic_path("extra"),
    znodes.REASSIGN_PARTITIONS, znodes.PREFERRED_ELECTION,
    f"{znodes.ISR_CHANGE}9999999999", f"{znodes.LOG_DIR_EVENT}9999999999",
)  # fmt: skip
NONSENSE = b"{", b"null", b"[]", b"\xff"
UNKNOWN = {"preallocate": "true", "retention.ms": "for ever"}
DELAYS = (30, 100, 500, 2000, 5000)  # ms


class Storm:
    def __init__(
        self,
        world: World,
        partitions: Sequence[TopicPartition],
        clients: Sequence[str],
        chance: Random,
        power: Power = Power.CAREFUL,
        others: Random | None = None,  # for the nonsense in ZooKeeper; None: there is none
        servers: Random | None = None,  # for ZooKeeper's servers, or controllers; None: no faults
        repeats: Random | None = None,  # for requests that come twice; None: none does
        kinds: Collection[str] = KINDS,  # of faults that may happen
        most: int | None = None,  # faults; None: as many as come
    ) -> None:
        self.is_over = False
        self._world = world
        self._fails = power
        self._partitions = partitions
        self._chance = chance
        self._others = others
        self._servers = servers
        self._repeats = repeats
        # By path: the data before, and the nonsense.
        self._written: dict[str, tuple[bytes | None, bytes]] = {}
        self._ends: list[int | str] = [*world.nodes, *world.metadata.machines, *clients]
        self._session = min(session_ms(node.config) for node in world.nodes.values())
        self._paused: set[int] = set()
        self._without_power: dict[int, int] = {}  # brokers, and when their power is back
        self._harms, self._mends = chance.choice(HARMS), chance.choice(MENDS)
        weights = [chance.choice(LIKELY) for _ in KINDS]
        self._weights = [
            weight if kind in kinds else 0 for kind, weight in zip(KINDS, weights, strict=True)
        ]
        if kinds is not KINDS and not any(self._weights):
            self._weights = [int(kind in kinds) for kind in KINDS]
        self._most = most
        self.faults = 0  # so far

    def turn(self) -> None:
        if self.is_over:
            self.mend(1)
            return
        if self._chance.random() < self._harms and self._may_harm and any(self._weights):
            kind = self._chance.choices(KINDS, self._weights)[0]
            if self._most is None or self.faults < self._most:
                self.faults += 1
                getattr(self, f"_{kind}")()
        if self._others is not None and self._others.random() < WRITES and self._may_harm:
            self._write(self._others)
        if self._servers is not None and self._servers.random() < LEAVES and self._may_harm:
            self._leave(self._servers)
        if self._repeats is not None and self._repeats.random() < REPEATS:
            api, after = self._repeats.choice(OF_TRANSACTIONS), self._repeats.choice(DELAYS)
            self._world.repeats.repeat(api, after)
        self.mend(self._mends / 2)

    # -- brokers -------------------------------------------------------------------------

    @property
    def _away(self) -> int:
        down = sum(node.current is None for node in self._world.nodes.values())
        return down + len(self._paused)

    @property
    def _may_harm(self) -> bool:
        """Whether a fault is allowed now: every broker that lost its power has left the ISR."""
        return self._fails is not Power.CAREFUL or not any(
            broker in self._world.isr(each)
            for broker in self._without_power
            for each in self._partitions
        )

    def _victim(self) -> int | None:
        """A broker that is up and not paused, if one more may be away."""
        up = [broker for broker in self._world.nodes if self._is_up(broker)]
        return self._chance.choice(up) if up and self._away < MOST_AWAY else None

    def _is_up(self, broker: int) -> bool:
        return self._world[broker].current is not None and broker not in self._paused

    def may_restart(self, broker: int) -> bool:
        """Whether an operator may stop or kill this broker now, in the middle of the storm."""
        return self._is_up(broker) and self._away < MOST_AWAY and self._may_harm

    def _kill(self) -> None:
        if broker := self._victim():
            self._world.kill(broker)

    def _power(self) -> None:
        broker, world = self._victim(), self._world
        if broker and (self._fails is Power.ANYTIME or self._is_calm):
            if self._fails is not Power.ANYTIME:
                world.heal()
            world.power_cut(broker)
            brief = self._fails is Power.BRIEFLY
            self._without_power[broker] = world.now + (BRIEF if brief else 2 * self._session)

    @property
    def _is_calm(self) -> bool:
        """All brokers are up, none is stopping or paused, every replica is in sync, and ZooKeeper
        has all its servers, or the quorum its controllers: no session is about to end."""
        if not self._world.metadata.is_whole:
            return False
        stays = all(self._stays(node) for node in self._world.nodes.values())
        return (stays and not self._paused) and all(
            set(self._world.isr(each)) == set(self._world.replicas(each))
            for each in self._partitions
        )

    def _stays(self, node: SimulatedBroker) -> bool:
        """Whether a broker runs, is not stopping, and the cluster knows the process that runs."""
        running = node.current
        if running is None or running.is_stopping:
            return False
        epoch = node.broker.replicas.broker_epoch if node.broker is not None else NO_BROKER
        return self._world.metadata.is_settled(node.id, epoch)

    def _pause(self) -> None:
        if broker := self._victim():
            self._world.pause(broker)
            self._paused.add(broker)

    def _stop(self) -> None:
        if (broker := self._victim()) and not self._away:
            self._world.stop(broker)

    def _expire(self) -> None:
        """Without ZooKeeper there are no sessions that it could end."""
        if not isinstance(zookeeper := self._world.metadata, ZookeeperMetadata):
            return
        if (broker := self._victim()) and zookeeper.ensemble.leader is not None:
            zookeeper.expire(broker)

    def _elect(self) -> None:
        """Elect the preferred leader, as an administrator does."""
        if self._has_controller:
            self._world.elect(self._chance.choice(self._partitions), lambda result: None)

    def _move(self) -> None:
        """Move a partition to other brokers, change the order of its replicas, or cancel a move."""
        world, partition = self._world, self._chance.choice(self._partitions)
        if self._has_controller:
            count = len(set(world.replicas(partition)))
            chosen = tuple(self._chance.sample([*world.nodes], min(count, REPLICAS)))
            target = chosen if self._chance.random() < 0.8 else None
            world.reassign({partition: target}, lambda result: None)

    @property
    def _has_controller(self) -> bool:
        return self._world.metadata.has_controller

    def _write(self, others: Random) -> None:
        """Write nonsense into one znode; in a topic's configuration, add it to the keys."""
        world, partition = self._world, others.choice(self._partitions)
        config = znodes.config_path("topics", partition.topic)
        path = others.choice(
            (znodes.state_path(partition), znodes.topic_path(partition.topic), config, *NODES)
        )
        if path not in self._written:
            before, data = world.zookeeper.get(path), others.choice(NONSENSE)
            if path == config:
                data = znodes.encode_config({**znodes.decode_config(before or b""), **UNKNOWN})
            self._written[path] = before, data
            world.zookeeper.write(path, data)

    def _rewrite(self, path: str) -> None:
        """Restore the data from before, unless the node was changed or deleted since."""
        before, data = self._written.pop(path)
        if self._world.zookeeper.get(path) == data:
            self._world.zookeeper.write(path, before)

    def _leave(self, chance: Random) -> None:
        """One of ZooKeeper's servers, or a controller, is killed, loses its power, or says nothing
        any more."""
        metadata = self._world.metadata
        if up := metadata.up:
            leave = chance.choice(metadata.departures)
            leave(chance.choice(up))

    # -- links ---------------------------------------------------------------------------

    def _link(self) -> Link:
        one, other = self._chance.sample(self._ends, 2)
        return one, other

    def _cut(self) -> None:
        self._world.cut(*self._link())

    def _cut_one_way(self) -> None:
        self._world.cut(*self._link(), both=False)

    def _slow(self) -> None:
        self._world.slow(*self._link(), self._chance.choice(DELAYS))

    def _lose(self) -> None:
        self._world.lose(*self._link(), self._chance.choice((0.01, 0.1, 0.5)))

    def _scatter(self) -> None:
        """Not between a broker and ZooKeeper, whose sessions need TCP's order."""
        one, other = self._link()
        if "zookeeper" not in (one, other):
            self._world.scatter(one, other, (1, self._chance.choice(DELAYS)))

    # -- mending -------------------------------------------------------------------------

    def mend(self, likely: float) -> None:
        world, chance = self._world, self._chance
        if chance.random() < likely:
            world.heal()
        for broker in sorted(self._paused):
            if chance.random() < likely:
                self._paused.discard(broker)
                world.resume(broker)
        for path in sorted(self._written):
            if self._others is not None and self._others.random() < likely:
                self._rewrite(path)
        for server in world.metadata.away:
            if self._servers is not None and self._servers.random() < likely:
                world.metadata.restart_server(server)
        for broker, node in world.nodes.items():
            if node.current is None and chance.random() < likely and self._has_power(broker):
                self._without_power.pop(broker, None)
                world.start(broker)

    def _has_power(self, broker: int) -> bool:
        return self._world.now >= self._without_power.get(broker, 0) and self._may_harm


def session_ms(config: BrokerConfig) -> int:
    """How long the cluster waits for a broker that is silent."""
    if isinstance(config, KRaftBrokerConfig):
        return config.broker_session_timeout_ms
    return config.zookeeper_session_timeout_ms
