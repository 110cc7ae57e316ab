"""Others write to ZooKeeper what nobody can read: it harms its own entity, and is told.

Each case writes junk into one znode, or two. Then brokers and the controller die and return, topics
come and go. All that is left out of the junk stays well; and when somebody has mended it, all is.
"""

import json
from random import Random

import pytest

from engine.controller.events import AlterReassignments, ElectLeaders, Rebalance
from engine.model import TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Unreadable, decoded
from engine.zookeeper.requests import Create, Delete, Set
from tests.unit.controller.cluster import Cluster
from tests.unit.controller.junk import junk

HARMED, T0 = "t", TopicPartition("t", 0)
WELL = [TopicPartition("s", 0), TopicPartition("s", 1), TopicPartition("u", 0)]
LISTED = {"version": 1, "partitions": [{"topic": HARMED, "partition": 0}]}
MOVES = {"version": 1, "partitions": [{"topic": HARMED, "partition": 0, "replicas": [3, 2]}]}
# Each path: how to read it, what stands there if the cluster has nothing there yet.
NODES = {
    znodes.topic_path(HARMED): (znodes.Topic.decode, None),
    znodes.topic_path("extra"): (znodes.Topic.decode, {"version": 1, "partitions": {"0": [1, 2]}}),
    znodes.state_path(T0): (znodes.LeaderAndIsr.decode, None),
    znodes.broker_path(4): (znodes.BrokerInfo.decode, None),
    znodes.CONTROLLER: (znodes.ControllerInfo.decode, None),
    znodes.CONTROLLER_EPOCH: (znodes.decode_epoch, None),
    znodes.REASSIGN_PARTITIONS: (znodes.decode_reassignment, MOVES),
    znodes.PREFERRED_ELECTION: (znodes.decode_partitions, LISTED),
    f"{znodes.ISR_CHANGE}9999999999": (znodes.decode_partitions, LISTED),
    f"{znodes.ISR_CHANGES}/any": (znodes.decode_partitions, LISTED),
    f"{znodes.LOG_DIR_EVENT}0000000007": (
        znodes.decode_log_dir_failure,
        {"version": 1, "broker": 4, "event": 1},
    ),
    # Nobody reads what stands here, or not always; that it is here says something.
    znodes.config_path("topics", HARMED): (None, None),
    znodes.deleted_topic_path("nobody's"): (None, {}),
    f"{znodes.BROKER_IDS}/x": (None, {}),
    f"{znodes.BROKER_IDS}/-1": (None, {}),
    f"{znodes.TOPICS}/ümlaut": (None, {"version": 1, "partitions": {"0": [1]}}),
    f"{znodes.TOPICS}/{'x' * 250}": (None, {"version": 1, "partitions": {"0": [1]}}),
    f"{znodes.topic_path(HARMED)}/partitions/x": (None, {}),
    f"{znodes.BROKER_SEQUENCE}": (None, {}),
    znodes.FEATURES: (None, {"features": {}, "version": 1, "status": 1}),
}
TOLD = {f"{znodes.BROKER_IDS}/x", f"{znodes.BROKER_IDS}/-1", f"{znodes.TOPICS}/ümlaut"}

MANY = 1000  # epochs: no case has as many controllers


class Case:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.cluster = Cluster(1, 2, 3, 4)
        self.cluster.create("s", [[1, 2, 3], [2, 3, 4]])
        self.cluster.create(HARMED, [[4, 3, 2], [3, 4, 1]], unclean_leader_election_enable="true")
        self.cluster.create("u", [[4, 1, 2]])
        self.cluster.catch_up()
        self.before = dict(self.cluster.zookeeper.tree)
        self.unreadable: list[str] = []

    def go(self) -> None:
        paths = self.chance.sample(sorted(NODES), self.chance.choice((1, 1, 1, 2)))
        for path in paths:
            self.write(path)
        self.cluster.run()
        controlled = {znodes.CONTROLLER, znodes.CONTROLLER_EPOCH}.isdisjoint(paths)
        self.trouble()
        if not controlled:
            self.mend(znodes.CONTROLLER_EPOCH, znodes.CONTROLLER)
        self.check(WELL)
        self.cluster.create("new", [[1, 2], [2, 3]])
        self.check([TopicPartition("new", 0), TopicPartition("new", 1)])
        told = {each["path"] for each in self.cluster.happened("znode.unreadable")}
        missing = set(self.unreadable) - told
        assert not missing, missing
        self.mend(*paths)
        if set(paths) - set(self.unreadable):  # it was read, and believed: the next one reads anew
            old = self.cluster.controller.broker_id
            self.cluster.kill(old)
            self.cluster.run()
            self.cluster.start(old)
            self.cluster.run()
        self.check([*WELL, T0, TopicPartition(HARMED, 1)])

    def write(self, path: str) -> None:
        decode, sample = NODES[path]
        standing = self.cluster.get(path)
        data = junk(self.chance, json.loads(standing) if standing else sample)
        if standing is None:
            self.cluster.put(Create(path, data, parents=True))
        else:
            self.cluster.put(Set(path, data))
        match decode and decoded(decode, data):
            case Unreadable():
                self.unreadable.append(path)
            case znodes.LeaderAndIsr(controller_epoch=epoch) if epoch > MANY:
                self.unreadable.append(path)  # no controller had this epoch yet
            case _ if path in TOLD:
                self.unreadable.append(path)

    def trouble(self) -> None:
        """The controller reads most nodes when it begins, or when there is an election."""
        cluster, chance = self.cluster, self.chance
        cluster.kill(4)
        cluster.run()
        cluster.start(4)
        cluster.run()
        active = [each for each in cluster.controllers.values() if each.active]
        for event in (ElectLeaders(None), Rebalance(), AlterReassignments({T0: (1, 2)})):
            if active and chance.random() < 0.5:
                cluster.ask(event, active[0].broker_id)
                cluster.run()
        old = chance.choice((1, 2))
        cluster.kill(old)
        cluster.run()
        cluster.kill(*({1, 2} - {old}))
        cluster.run()
        cluster.start(1)
        cluster.start(2)
        cluster.run()

    def mend(self, *paths: str) -> None:
        for path in paths:
            there = self.cluster.get(path)
            if path == znodes.CONTROLLER_EPOCH:
                if there is None or isinstance(decoded(znodes.decode_epoch, there), Unreadable):
                    self.cluster.put(Set(path, b"9"))
            elif path == znodes.CONTROLLER:
                if there is not None and not any(
                    each.active for each in self.cluster.controllers.values()
                ):
                    self.cluster.put(Delete(path))
            elif path == znodes.broker_path(4):
                self.cluster.kill(4)
                self.cluster.run()
                self.cluster.start(4)
            elif path not in self.before:
                if there is not None:
                    self.cluster.forget_tree(path)
            elif there != self.before[path].data:
                data = self.before[path].data
                if path == znodes.state_path(T0):
                    if path not in self.unreadable:
                        continue
                    data = znodes.LeaderAndIsr(2, 50, (2, 3), 1).encode()
                self.cluster.put(Set(path, data) if there is not None else Create(path, data))
            self.cluster.run()

    def check(self, partitions: list[TopicPartition]) -> None:
        cluster = self.cluster
        for partition in partitions:
            state = cluster.state(partition)
            assert state is not None, partition
            assert state.leader in cluster.epochs, (partition, state)
            role = cluster.machines[state.leader].roles.get(partition)
            assert role is not None, partition
            assert role.leader_epoch == state.leader_epoch, partition
            for broker in cluster.epochs:
                told = cluster.machines[broker].metadata[partition]
                assert told.leader == state.leader, (broker, partition)


AT_ONCE, SHORT, ALL = 50, 300, 10_000
TURNS = [
    pytest.param(first, marks=[pytest.mark.long] if first >= SHORT else [])
    for first in range(0, ALL, AT_ONCE)
]


@pytest.mark.parametrize("first", TURNS)
def test_what_others_write_harms_its_own_entity(first):
    for seed in range(first, first + AT_ONCE):
        try:
            Case(seed).go()
        except Exception as error:
            error.add_note(f"Case({seed}).go()")
            raise
