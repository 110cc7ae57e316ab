"""What would it cost to elect leaders without a controller? In simulated time, counted.

    with    one controller hears that a broker is gone, and tells each broker once
    without every replica watches its partition's leader in ZooKeeper, and all run for it

The second way is made here of nothing but ZooKeeper: an ephemeral node for each leader, a watch of
each replica on it, and a Create by each when it goes.
"""

from functools import partial
from typing import NamedTuple

from table import Table

from engine.controller.asks import Changed, Create, Exists, Refused
from engine.sim.clock import Clock
from engine.sim.zookeeper import Session, Zookeeper
from replication.world import Sim

PARTITIONS = 100
SESSION = 3000  # ms


class Cost(NamedTuple):
    woken: int  # notices that ZooKeeper sends
    hearers: int  # to how many brokers
    tried: int  # attempts to become leader
    in_vain: int  # of them
    requests: int  # between brokers


def with_controller(partitions: int = PARTITIONS) -> Cost:
    """Broker 2 leads all of them, and dies; 1 is the controller."""
    sim = Sim(4, zookeeper_session_timeout_ms=str(SESSION))
    sim.topic("orders", *[[2, 3, 4]] * partitions)
    sim.run(2000)
    began = sim.now
    sim.world.kill(2)
    sim.run(SESSION + 3000)
    messages = sim.messages(began, routine=True)
    woken = [it for it in messages if it.source == "zookeeper" and it.says("changed: ")]
    told = [it for it in messages if it.says("LeaderAndIsr ") or it.text == "UpdateMetadata"]
    return Cost(len(woken), len({it.target for it in woken}), 0, 0, len(told))


def without_controller(partitions: int = PARTITIONS) -> Cost:
    """The same three brokers, and every replica looks after itself."""
    clock = Clock(0)
    zookeeper = Zookeeper(clock)
    woken: list[int] = []
    tries: list[bool] = []

    def broker(number: int) -> Session:
        def changed(change: Changed) -> None:
            woken.append(number)
            answer = zookeeper.answer(session, Create(change.path, ephemeral=True))
            tries.append(isinstance(answer, Refused))

        session = zookeeper.connect(1 << 40, changed)
        return session

    leader, *followers = (broker(number) for number in (2, 3, 4))
    for partition in range(partitions):
        path = f"/leader-of-{partition}"
        zookeeper.answer(leader, Create(path, ephemeral=True))
        for follower in followers:
            zookeeper.answer(follower, Exists(path, watch=True))
    leader.close()
    return Cost(len(woken), len(set(woken)), len(tries), sum(tries), 0)


def controller_dies() -> Cost:
    """And the controller itself?"""
    sim = Sim(4, zookeeper_session_timeout_ms=str(SESSION))
    sim.topic("orders", *[[2, 3, 4]] * 5)
    began = sim.now
    sim.world.kill(1)
    sim.until(lambda: sim.world.controller not in (None, 1))
    messages = sim.messages(began)
    woken = [
        it for it in messages if it.source == "zookeeper" and it.text == "changed: /controller"
    ]
    woken = [it for it in woken if it.at == woken[0].at]
    tried = [it for it in messages if it.says("create /controller")]
    return Cost(len(woken), len({it.target for it in woken}), len(tried), len(tried) - 1, 0)


def table(*costs: tuple[str, Cost]) -> Table:
    head = "what happens, notices from ZooKeeper, to brokers, tries, in vain, requests to brokers"
    return Table(head, [(name, *cost) for name, cost in costs])


def queue_in_zookeeper(partitions: int = PARTITIONS, brokers: int = 3) -> Cost:
    """Each new leader put into ZooKeeper as a node, and each broker watching for it there."""
    zookeeper = Zookeeper(Clock(0))
    woken: list[int] = []
    controller = zookeeper.connect(1 << 40, lambda change: None)
    sessions = [zookeeper.connect(1 << 40, partial(_wake, woken, n)) for n in range(brokers)]
    for partition in range(partitions):
        path = f"/news-{partition}"
        for session in sessions:
            zookeeper.answer(session, Exists(path, watch=True))
        zookeeper.answer(controller, Create(path))
    return Cost(len(woken), len(set(woken)), 0, 0, 0)


def _wake(woken: list[int], broker: int, change: Changed) -> None:
    woken.append(broker)
