"""Whatever happens, in whatever order: when all is well again, everybody agrees with ZooKeeper.

    brokers die, return, bounce      controllers die in the middle of something
    topics come, grow a move, go     messages to a broker are late

In the end every broker is back and everything has been delivered. Then no deletion and no move is
left undone, every partition has a leader, and each broker does what ZooKeeper says.
"""

from hypothesis import given
from hypothesis import strategies as st

from engine.controller.events import (
    AlterReassignments,
    ControlledShutdown,
    ElectLeaders,
    Rebalance,
)
from engine.zookeeper import znodes
from tests.unit.controller.cluster import Cluster

BROKERS = (1, 2, 3, 4)
TOPICS = ("s", "t")


class Chance:
    def __init__(self):
        self.cluster = Cluster(*BROKERS)

    def controller(self):
        return next(
            (each.broker_id for each in self.cluster.controllers.values() if each.active), 0
        )

    def kill(self, a, b):
        if BROKERS[a % 4] in self.cluster.epochs:
            self.cluster.kill(BROKERS[a % 4])

    def start(self, a, b):
        if BROKERS[a % 4] not in self.cluster.epochs:
            self.cluster.start(BROKERS[a % 4])

    def bounce(self, a, b):
        self.kill(a, b)
        self.start(a, b)

    def create(self, a, b):
        topic = TOPICS[a % 2]
        if self.cluster.get(znodes.topic_path(topic)) is None:
            ring = [BROKERS[(b + n) % 4 :] + BROKERS[: (b + n) % 4] for n in range(3)]
            self.cluster.create(topic, [replicas[: 1 + b % 3] for replicas in ring])

    def delete(self, a, b):
        path = znodes.deleted_topic_path(TOPICS[a % 2])
        if self.cluster.get(path) is None:
            self.cluster.delete(TOPICS[a % 2])

    def move(self, a, b):
        partitions = self.cluster.partitions()
        if partitions and self.controller():
            to = None if b % 5 == 0 else (BROKERS[b % 4], BROKERS[(b + a) % 4])
            self.cluster.ask(AlterReassignments({partitions[a % len(partitions)]: to}))

    def balance(self, a, b):
        if self.controller():
            self.cluster.ask(Rebalance() if a % 2 else ElectLeaders(None))

    def stop(self, a, b):
        broker = BROKERS[a % 4]
        if self.controller() and broker in self.cluster.epochs:
            self.cluster.ask(ControlledShutdown(broker, self.cluster.epochs[broker]))

    def late(self, a, b):
        self.cluster.losing = {BROKERS[a % 4]} if b % 2 else set()
        if not self.cluster.losing:
            self.cluster.deliver_late()

    def doom(self, a, b):
        """The controller dies after its next b questions."""
        if self.controller():
            self.cluster.dies(self.controller(), after=b)

    def catch_up(self, a, b):
        self.cluster.catch_up()


ACTIONS = [name for name in vars(Chance) if name[0] != "_" and name != "controller"]
small = st.integers(0, 40)


@given(st.lists(st.tuples(st.sampled_from(ACTIONS), small, small, st.booleans()), max_size=25))
def test_all_is_well_in_the_end(story):
    chance = Chance()
    cluster = chance.cluster
    for action, a, b, run in story:
        getattr(chance, action)(a, b)
        if run:
            cluster.run()
    cluster.deaths.clear()
    cluster.deliver_late()
    for broker in BROKERS:
        if broker in cluster.epochs:
            cluster.kill(broker)  # so that no replica is left that nobody has told to go
            cluster.run()
        cluster.start(broker)
        cluster.run()
    for _ in range(4):
        cluster.catch_up()
    snapshot = cluster.controller.snapshot()
    assert snapshot["deleting"] == []
    for partition in snapshot["partitions"]:
        assert (partition["adding"], partition["removing"]) == ((), ()), partition
        assert partition["state"] == "online"
        assert set(partition["isr"]) == set(partition["replicas"])
        assert set(partition["replica_states"].values()) == {"online"}
    for partition in cluster.partitions():
        assert cluster.state(partition).leader in BROKERS
    cluster.check()
