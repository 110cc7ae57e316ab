"""Bad weather: what goes wrong, when and where, by a seed.

    turn ──> harm    now and then: one fault of those that this storm is made of
         ──> mend    now and then: links whole, sleepers awake, the dead back

No two storms are alike: each leaves some faults out and has much of others (a swarm of storms finds
more than one that has everything at once). Brokers die with all they wrote (`kill`), or without
what they had not flushed (`power`); they sleep, stop in order, lose their session; links are cut in
both directions or in one, slow, lossy, or let messages overtake each other.

Kafka promises nothing if more goes wrong than it is made for. So here
- two brokers of three are away at most, by whatever cause;
- power fails only while all replicas are in sync, and no other fault is added before the broker
  has left the ISR: the last replica standing must not be the one that forgot;
- a machine without power takes longer to come back than a session lasts.
The last two are what `Power` is about: docs/reliability.md tells what comes of it without them.
"""

from collections.abc import Callable, Sequence
from random import Random

from engine.model import TopicPartition
from engine.sim.defects import Power
from engine.sim.world import World

Link = tuple[int | str, int | str]
KINDS = (
    "kill", "power", "pause", "stop", "expire", "elect", "move",
    "cut", "cut_one_way", "slow", "lose", "scatter",
)  # fmt: skip
LIKELY = (0, 1, 1, 2, 6)  # how much of each a storm has: nothing, a little, a lot
MOST_AWAY = 2
REPLICAS = 3
BRIEF = 200  # ms
HARMS = (0.25, 0.5, 0.9)  # how likely a turn brings harm: each storm's own
MENDS = (0.1, 0.3, 0.6, 1.0)  # and how likely it mends something
DELAYS = (30, 100, 500, 2000, 5000)  # ms


class Storm:
    def __init__(
        self,
        world: World,
        partitions: Sequence[TopicPartition],
        clients: Sequence[str],
        chance: Random,
        power: Power = Power.CAREFUL,
    ) -> None:
        self.is_over = False
        self._world = world
        self._fails = power
        self._partitions = partitions
        self._chance = chance
        self._ends: list[int | str] = [*world.nodes, "zookeeper", *clients]
        self._session = min(n.config.zookeeper_session_timeout_ms for n in world.nodes.values())
        self._paused: set[int] = set()
        self._dark: dict[int, int] = {}  # brokers without power, and when it is back
        self._harms, self._mends = chance.choice(HARMS), chance.choice(MENDS)
        self._weights = [chance.choice(LIKELY) for _ in KINDS]
        self._faults: dict[str, Callable[[], None]] = {
            kind: getattr(self, f"_{kind}") for kind in KINDS
        }

    def turn(self) -> None:
        if self.is_over:
            self.mend(1)
            return
        if self._chance.random() < self._harms and self._may_harm and any(self._weights):
            self._faults[self._chance.choices(KINDS, self._weights)[0]]()
        self.mend(self._mends / 2)

    # -- brokers -------------------------------------------------------------------------

    @property
    def _away(self) -> int:
        down = sum(node.life is None for node in self._world.nodes.values())
        return down + len(self._paused)

    @property
    def _may_harm(self) -> bool:
        """Not before a broker that has lost its power is out of sync for everybody to know."""
        return self._fails is not Power.CAREFUL or not any(
            broker in self._world.isr(each) for broker in self._dark for each in self._partitions
        )

    def _victim(self) -> int | None:
        """One that is up and awake, if one more may be away."""
        up = [
            broker
            for broker, node in self._world.nodes.items()
            if node.life is not None and broker not in self._paused
        ]
        return self._chance.choice(up) if up and self._away < MOST_AWAY else None

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
            self._dark[broker] = world.now + (BRIEF if brief else 2 * self._session)

    @property
    def _is_calm(self) -> bool:
        return not self._away and all(
            set(self._world.isr(each)) == set(self._world.replicas(each))
            for each in self._partitions
        )

    def _pause(self) -> None:
        if broker := self._victim():
            self._world.pause(broker)
            self._paused.add(broker)

    def _stop(self) -> None:
        if (broker := self._victim()) and not self._away:
            self._world.stop(broker)

    def _expire(self) -> None:
        if broker := self._victim():
            self._world.expire(broker)

    def _elect(self) -> None:
        """The preferred leader, as an administrator would have it."""
        if self._is_governed:
            self._world.elect(self._chance.choice(self._partitions), lambda result: None)

    def _move(self) -> None:
        """A partition, to other brokers or into another order; or not after all."""
        world, partition = self._world, self._chance.choice(self._partitions)
        if self._is_governed:
            count = len(set(world.replicas(partition)))
            chosen = tuple(self._chance.sample([*world.nodes], min(count, REPLICAS)))
            target = chosen if self._chance.random() < 0.8 else None
            world.reassign({partition: target}, lambda result: None)

    @property
    def _is_governed(self) -> bool:
        controller = self._world.controller
        return controller is not None and self._world[controller].is_up

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
        """Not on the way to ZooKeeper, whose sessions count on TCP."""
        one, other = self._link()
        if "zookeeper" not in (one, other):
            self._world.scatter(one, other, (1, self._chance.choice(DELAYS)))

    # -- and all is well -----------------------------------------------------------------

    def mend(self, likely: float) -> None:
        world, chance = self._world, self._chance
        if chance.random() < likely:
            world.heal()
        for broker in sorted(self._paused):
            if chance.random() < likely:
                self._paused.discard(broker)
                world.resume(broker)
        for broker, node in world.nodes.items():
            if node.life is None and chance.random() < likely and self._has_power(broker):
                self._dark.pop(broker, None)
                world.start(broker)

    def _has_power(self, broker: int) -> bool:
        return self._world.now >= self._dark.get(broker, 0) and self._may_harm
