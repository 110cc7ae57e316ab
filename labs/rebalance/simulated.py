"""A group in simulated time: brokers, coordinator and members are the engine's own code.

    group = SimulatedGroup(brokers=3)
    group.add(); group.run(200)       one more member; 200 ms later
    group.settle()                    ms until all that poll have a share in the same generation

Fifty members cost nothing, and the same steps give the same run each time.
"""

from engine.model import Event
from engine.sim.world import World
from proof.storms.group_workload import COORDINATED
from proof.storms.member import GROUP, Member

TOPIC, PARTITIONS = "orders", 60
STEP = 20  # ms: so often everybody polls
LIMIT = 60_000  # ms
SETTLED = 500  # ms until brokers, and then topics, have found each other
CONFIG = {"offsets.topic.num.partitions": "1", "group.min.session.timeout.ms": "500"}
REPLICAS = 3


class SimulatedGroup:
    def __init__(
        self, brokers: int = 1, *, strategy: str = "range", message_ms: int = 2, **config: object
    ) -> None:
        """`message_ms`: how long a message takes. `config`: of the brokers, with _ for each dot."""
        settings = {name.replace("_", "."): str(value) for name, value in config.items()}
        delay = (message_ms, message_ms)
        self.world = World(1, brokers, config={**CONFIG, **settings}, delay=delay)
        self.members: list[Member] = []
        self._strategy = strategy
        self._events: list[Event] = []
        self.world.run(SETTLED + 20 * message_ms)
        self.world.create(TOPIC, [[1 + number % brokers] for number in range(PARTITIONS)])
        copies = list(range(1, min(brokers, REPLICAS) + 1))
        self.world.create(COORDINATED.topic, [copies])  # broker 1 leads, and so coordinates
        self.world.run(SETTLED + 20 * message_ms)

    def add(self) -> Member:
        client = self.world.add_client(f"member-{len(self.members) + 1}", timeout=3000)
        self.members.append(Member(client, TOPIC, self._strategy, self._events.append))
        return self.members[-1]

    def run(self, milliseconds: int) -> None:
        for _ in range(0, milliseconds, STEP):
            self.world.run(STEP)
            for member in self.members:
                member.poll()

    def settle(self) -> int:
        began = self.world.now
        while not self._settled:
            assert self.world.now - began < LIMIT, "a group of such members comes to rest"
            self.run(STEP)
        return self.world.now - began

    @property
    def _settled(self) -> bool:
        group = self.world[1].running.group(GROUP)
        if group is None or group.state.value != "Stable":
            return False
        members = [it for it in self.members if it.is_polling]
        generations = {it.membership.identity.generation_id for it in members}
        owned = [it for each in members for it in each.membership.owned]
        return (
            len(group.members) == len(members)
            and generations == {group.generation}
            and len(owned) == len(set(owned)) == PARTITIONS
        )

    @property
    def rebalances(self) -> int:
        """How many have begun."""
        return sum(
            it.event.kind == "group.state" and it.event.data["now"] == "PreparingRebalance"
            for it in self.world.events
        )
