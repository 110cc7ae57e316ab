"""A cluster that is only told of: states and events by hand, and faults that change them."""

from dataclasses import replace

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import (
    BrokerState,
    ClusterState,
    ControllerState,
    FollowerState,
    LinkState,
    PartitionState,
    ReplicaState,
    Status,
    ZookeeperState,
)
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

START = 1_700_000_000_000


def partition(leader=1, *, ends=(10, 10, 10), committed=None, isr=None, epoch=0, stable=-1):
    """Replicas on brokers 1, 2, ... with these log ends; `stable` -1: as in an old recording."""
    brokers = range(1, len(ends) + 1)
    mark = min(ends) if committed is None else committed
    return PartitionState(
        leader,
        epoch,
        tuple(isr or brokers),
        tuple(brokers),
        {
            number: ReplicaState(
                "leader" if number == leader else "follower",
                *(epoch, 0, mark, end, 100, 1, True, stable),
            )
            for number, end in zip(brokers, ends, strict=True)
        },
        {
            number: FollowerState(end, -1)
            for number, end in zip(brokers, ends, strict=True)
            if number != leader
        },
    )


def broker(number, up=(1, 2, 3), *, status=Status.UP, answers=True, active=False):
    session = 700 + number if status is Status.UP else None
    facts = {"session": session, "controller": 1, "controller_epoch": 1, "active": active}
    return BrokerState(status, answers, 100 + number, 9000 + number, brokers=tuple(up), **facts)


def state(
    partitions=None,
    *,
    brokers=3,
    at=START,
    controller=1,
    links=(),
    groups=None,
    zookeepers=None,
    controllers=None,
):
    numbers = range(1, brokers + 1)
    return ClusterState(
        at,
        controller,
        {each: broker(each, numbers, active=each == controller) for each in numbers},
        partitions if partitions is not None else topic("orders", 3),
        tuple(links),
        groups or {},
        zookeepers=zookeepers or {},
        controllers=controllers or {},
    )


def quorum(leads=102, down=103):
    """Three controllers, of which one leads and one is down."""
    found = {}
    for node in (101, 102, 103):
        role = "leader" if node == leads else "follower"
        facts = {"epoch": 3, "leader": leads, "log_end": 42, "high_watermark": 41}
        status = Status.DOWN if node == down else Status.UP
        up = node != down
        found[node] = ControllerState(status, up, 100 + node, 9000 + node, role=role, **facts)
    return found


def topic(name, count, replicas=3):
    ends = (10,) * replicas
    return {
        TopicPartition(name, number): partition(number % replicas + 1, ends=ends)
        for number in range(count)
    }


def ensemble(servers=3, brokers=3):
    """Server 2 leads, 1 and 2 have the brokers; with three, the third one is dead."""
    found = {
        number: ZookeeperState(
            "leader" if number == 2 else "follower",
            0x200000017 + number,
            tuple(each for each in range(1, brokers + 1) if number < 3 and each % 2 == number % 2),
            2,
            5000 + number,
            4000 + number,
        )
        for number in range(1, servers + 1)
    }
    if servers > 2:
        found[3] = ZookeeperState("dead", 0, (), 0, 5003, 4003)
    if servers > 3:
        found[4] = ZookeeperState("looking", 0, (), 0, 5004, 4004)
    return found


def event(kind, at=0, teller=None, **data):
    return ClusterEvent(kind, START + at, teller, data)


class Cluster:
    """What ClusterView asks of an engine.Cluster. Time goes on when it is told to."""

    def __init__(self, **facts):
        self.now = state(**facts)
        self.happened = []
        self.called = []
        self.pass_time(0)
        for number in self.now.brokers:
            self.note("broker.started", broker=number, pid=100 + number)

    def state(self):
        return self.now

    def events(self, after=0):
        return [each for each in self.happened if each.number > after]

    def pass_time(self, milliseconds):
        self.now = replace(self.now, at=self.now.at + milliseconds)

    def note(self, kind, teller=None, **data):
        self.happened.append(ClusterEvent(kind, self.now.at, teller, data, len(self.happened) + 1))

    def change(self, number, **facts):
        brokers = dict(self.now.brokers)
        brokers[number] = replace(brokers[number], **facts)
        self.now = replace(self.now, brokers=brokers)

    def set_partitions(self, **named):
        """orders_0=partition(...)"""
        partitions = dict(self.now.partitions)
        for name, it in named.items():
            place, _, number = name.rpartition("_")
            partitions[TopicPartition(place, int(number))] = it
        self.now = replace(self.now, partitions=partitions)

    # -- what can be done to it ----------------------------------------------------------

    def kill(self, number):
        self.called.append(("kill", number))
        if isinstance(number, str):
            return
        self._check(number)
        self.change(number, status=Status.DOWN, answers=False)
        self.note("broker.killed", broker=number)

    def pause(self, number):
        self.called.append(("pause", number))
        self.change(number, status=Status.PAUSED, answers=False)
        self.note("broker.paused", broker=number)

    def resume(self, number):
        self.called.append(("resume", number))
        self.change(number, status=Status.UP, answers=True)
        self.note("broker.resumed", broker=number)

    def restart(self, number):
        self.called.append(("restart", number))
        self.change(number, status=Status.UP, answers=True)
        self.note("broker.started", broker=number, pid=900 + number)

    def add_broker(self):
        self.called.append(("add_broker",))
        number = max(self.now.brokers) + 1
        self.now = replace(self.now, brokers={**self.now.brokers, number: broker(number)})
        self.note("broker.started", broker=number, pid=900 + number)
        return number

    def cut(self, one, other):
        self.called.append(("cut", one, other))
        self.now = replace(self.now, links=(LinkState(str(one), str(other), True),))
        self.note("link.cut", one=one, other=other, both=True)

    def slow(self, one, other, ms):
        self.called.append(("slow", one, other, ms))
        self.now = replace(self.now, links=(LinkState(str(one), str(other), False, ms),))
        self.note("link.slowed", one=one, other=other, ms=ms)

    def heal(self, *ends):
        self.called.append(("heal", *ends))
        self.now = replace(self.now, links=())
        self.note("link.healed")

    def fail_requests(self, number, api, error):
        self.called.append(("fail_requests", number, api, error))
        row = {"fault": "fail", "api": api.upper(), "error": error, "times": 1}
        self.change(number, request_faults=(row,))

    def drop_next_answer(self, number, api):
        self.called.append(("drop_next_answer", number, api))

    def slow_coordinator(self, number, ms):
        self.called.append(("slow_coordinator", number, ms))

    def heal_requests(self, number):
        self.called.append(("heal_requests", number))
        self.change(number, request_faults=())

    def stop(self):
        for number in self.now.brokers:
            self.change(number, status=Status.DOWN, answers=False)

    def _check(self, number):
        if number not in self.now.brokers:
            raise ApiException(ErrorCode.broker_not_available, f"there is no broker {number}")
