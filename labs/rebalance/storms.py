"""Groups of dozens, on a clock that runs as fast as it can: engine/sim, with the engine's own code.

    hall = Hall(brokers=3)
    hall.add(); hall.pass_time(200)   one more member; 200 ms later
    hall.settle()                     ms until the group is stable, with everybody in it

Nothing here is a thread or a process: brokers, coordinator and members are the code that runs for
real elsewhere, and time and network are simulated. So fifty members cost nothing, and a run comes
out the same each time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from table import Table

from engine.model import Event
from engine.sim.crowd import COORDINATED
from engine.sim.member import GROUP, Member
from engine.sim.world import World
from rebalance.sharing import Cases

TOPIC, PARTITIONS = "orders", 60
STEP = 20  # ms: so often everybody polls
LIMIT = 60_000  # ms
CONFIG = {"offsets.topic.num.partitions": "1", "group.min.session.timeout.ms": "500"}


class Hall:
    def __init__(self, brokers: int = 1, strategy: str = "range", **config: str) -> None:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        self.world = World(1, brokers, config={**CONFIG, **settings}, delay=(1, 3))
        self.strategy = strategy
        self.members: list[Member] = []
        self.events: list[Event] = []
        self.world.run(500)
        self.world.create(TOPIC, [[1 + number % brokers] for number in range(PARTITIONS)])
        self.world.create(COORDINATED.topic, [[1]])
        self.world.run(500)

    def add(self) -> Member:
        client = self.world.add_client(f"member-{len(self.members) + 1}", timeout=3000)
        self.members.append(Member(client, TOPIC, self.strategy, self.events.append))
        return self.members[-1]

    def pass_time(self, milliseconds: int) -> None:
        for _ in range(0, milliseconds, STEP):
            self.world.run(STEP)
            for member in self.members:
                member.poll()

    def settle(self) -> int:
        """How long it takes until all have a share in one and the same generation."""
        began = self.world.now
        while not self._settled:
            assert self.world.now - began < LIMIT, "a group of such members comes to rest"
            self.pass_time(STEP)
        return self.world.now - began

    @property
    def _settled(self) -> bool:
        group = self.world[1].running.groups.group(GROUP)
        if group is None or group.state.value != "Stable":
            return False
        known = {each.membership.identity for each in self.members}
        owned = [it for each in self.members for it in each.membership.owned]
        return (
            len(group.members) == len(self.members)
            and {each.generation for each in known} == {group.generation}
            and len(owned) == len(set(owned)) == PARTITIONS
        )

    @property
    def rebalances(self) -> int:
        """How many have begun."""
        return sum(
            it.event.kind == "group.state" and it.event.data["now"] == "PreparingRebalance"
            for it in self.world.events
        )


@dataclass
class Opening:
    """A service of many consumers is started: one comes after the other."""

    rebalances: dict[int, int]  # by group.initial.rebalance.delay.ms
    members: int

    def __repr__(self) -> str:
        head = ("group.initial.rebalance.delay.ms", f"rebalances until all {self.members} are in")
        return repr(Table(head, self.rebalances.items()))


def opening(members: int = 12, apart: int = 500) -> Opening:
    """`apart`: ms from one to the next."""
    found = {}
    for delay in (0, 3000):
        hall = Hall(group_initial_rebalance_delay_ms=str(delay))
        for _ in range(members):
            hall.add()
            hall.pass_time(apart)
        hall.settle()
        found[delay] = hall.rebalances
    return Opening(found, members)


@dataclass
class Times:
    """One more member joins: how long that takes, in simulated time."""

    brokers: Mapping[int, int]  # ms, by the number of brokers, with ten members
    members: Mapping[int, int]  # ms, by the number of members, on one broker
    hanging: int  # ms, with ten members, of whom one doesn't poll

    def __repr__(self) -> str:
        rows: list[tuple[object, ...]] = [
            (count, 10, f"{ms} ms") for count, ms in self.brokers.items()
        ]
        rows += [(1, n, f"{ms} ms") for n, ms in self.members.items() if n != 10]
        rows.append((1, "10, one of whom hangs", f"{self.hanging} ms"))
        return repr(Table(("brokers", "members", "until all know their shares"), rows))

    def verdicts(self) -> Cases:
        few, many = min(self.brokers), max(self.brokers)
        return {
            "C138": {
                "with many brokers it takes twice as long as with one": self.brokers[many]
                > 2 * self.brokers[few],
                "with one member that does not come, it takes several times as long": self.hanging
                > 3 * self.brokers[few],
            }
        }


def times() -> Times:
    return Times(
        {count: _join(count, 10) for count in (1, 3, 10)},
        {count: _join(1, count) for count in (2, 10, 30)},
        _join(1, 10, hangs=True),
    )


def _join(brokers: int, members: int, hangs: bool = False) -> int:
    hall = Hall(brokers, group_initial_rebalance_delay_ms="1000")
    for _ in range(members):
        hall.add()
    hall.settle()
    hall.pass_time(1000)
    hall.members[0].is_polling = not hangs
    hall.add()
    if hangs:
        hall.members.pop(0)
    return hall.settle()
