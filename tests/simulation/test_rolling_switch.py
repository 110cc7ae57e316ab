"""Rolling restarts that move a cluster from one listener to another, in the middle of a storm.

    step      listeners    brokers talk over
    open      OLD          OLD
    both      OLD, NEW     OLD
    inside    OLD, NEW     NEW
    closed    NEW          NEW

So a cluster moves from PLAINTEXT to SASL_SSL; tests/cluster/test_rolling_switch.py does it with
real processes. Messages of the simulator have no bytes and no TLS: a listener is its name and its
port, and a broker that calls another name or port is refused. Brokers of two neighbouring steps
reach each other, and no acknowledged record is lost. If a step is left out, some brokers are cut
off.

Left out: clients reach every broker here, whatever its listeners are.
"""

from collections.abc import Sequence
from functools import cache
from random import Random

import pytest

from engine.model import NO_BROKER, TopicPartition
from engine.sim.peer import PORT
from engine.sim.world import World
from proof.storms.invariants import Violation
from proof.storms.run import BEGIN, Run

ORDERS = TopicPartition("orders", 0)
OLD, NEW = "PLAINTEXT", "NEW"
NEW_PORT = PORT + 100  # and one more for each broker, as with the old one
# (listeners, the one between brokers)
STEPS = {
    "open": ((OLD,), OLD),  # as a broker of the simulator is by default
    "both": ((OLD, NEW), OLD),
    "inside": ((OLD, NEW), NEW),
    "closed": ((NEW,), NEW),
}
IN_ORDER = ("both", "inside", "closed")
QUICK = {"zookeeper.session.timeout.ms": "3000", "replica.lag.time.max.ms": "4000"}
SEEDS, SHORT = 60, 8  # `make test` runs the first ones
MOST = 600.0  # seconds of a storm; most need one minute for all restarts
PAUSES = (0, 500, 2000, 5000)  # ms that the operator waits before the next restart
STORMS = [
    pytest.param(seed, marks=[pytest.mark.long] if seed >= SHORT else []) for seed in range(SEEDS)
]


def settings(broker: int, step: str) -> dict[str, str]:
    names, between = STEPS[step]
    ports = {OLD: PORT + broker, NEW: NEW_PORT + broker}
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{ports[name]}" for name in names),
        "listener.security.protocol.map": f"{OLD}:PLAINTEXT,{NEW}:PLAINTEXT",
        "inter.broker.listener.name": between,
    }


def refused(world: World) -> int:
    """How many connections brokers have refused, because they have no such listener."""
    return sum(each.event.kind == "connection.refused" for each in world.events)


# -- one broker is a step ahead --------------------------------------------------------------


def made(step: str) -> World:
    world = World(1, 3, config=QUICK, each={each: settings(each, step) for each in (1, 2, 3)})
    world.run(500)
    world.create("orders", [[1, 2, 3]], **{"min.insync.replicas": "2"})
    assert world.until(lambda: world.isr(ORDERS) == (1, 2, 3))
    return world


def restart(world: World, broker: int, step: str) -> None:
    world.stop(broker)
    assert world.until(lambda: not world[broker].is_up)
    world[broker].configure(settings(broker, step))
    world.start(broker)
    world.run(30_000)


def acknowledges(world: World) -> bool:
    sent = world.client.send(ORDERS, "tea", patience=20_000)
    world.run(30_000)
    return sent.acknowledged


@pytest.mark.parametrize(
    ("before", "after"), [("open", "both"), ("both", "inside"), ("inside", "closed")]
)
def test_brokers_of_neighbouring_steps_reach_each_other(before: str, after: str) -> None:
    world = made(before)
    for broker in (1, 2, 3):
        restart(world, broker, after)
        assert set(world.isr(ORDERS)) == {1, 2, 3}
        assert acknowledges(world)
    assert refused(world) == 0


@pytest.mark.parametrize(
    ("before", "after"), [("open", "inside"), ("both", "closed"), ("open", "closed")]
)
def test_without_a_step_a_broker_is_cut_off(before: str, after: str) -> None:
    """The first one stays out of the ISR; when the second one is, too, nothing is acknowledged."""
    world = made(before)
    restart(world, 1, after)
    assert set(world.isr(ORDERS)) == {2, 3}
    assert acknowledges(world)
    restart(world, 2, after)
    assert set(world.isr(ORDERS)) == {3}
    assert not acknowledges(world)
    assert refused(world) > 0


# -- in the middle of a storm ----------------------------------------------------------------


class RollingRestart:
    """An operator who restarts one broker after the other with the settings of the next step.

    Each is stopped or killed when Kafka's promises allow one more broker to be away, and the storm
    starts it again. The next one follows when this one knows the cluster again, in sync or not.
    """

    def __init__(self, run: Run, plan: Sequence[tuple[int, str]]) -> None:
        self._world, self._storm = run.world, run.storm
        self._chance = Random(run.seed)
        self._plan = list(plan)  # what is left of it: broker and step
        self._next = 0  # when the operator goes on

    @property
    def is_done(self) -> bool:
        return not self._plan

    def turn(self) -> None:
        if self.is_done or self._world.now < self._next:
            return
        broker, step = self._plan[0]
        node = self._world[broker]
        if self._has(broker, step):
            if node.broker is not None and node.broker.metadata.controller != NO_BROKER:
                del self._plan[0]
                self._next = self._world.now + self._chance.choice(PAUSES)
        elif self._storm.may_restart(broker) and not node.running.is_stopping:
            node.configure(settings(broker, step))
            self._chance.choice((self._world.stop, self._world.kill))(broker)

    def _has(self, broker: int, step: str) -> bool:
        """Whether it runs with the settings of this step."""
        running, (names, between) = self._world[broker].current, STEPS[step]
        config = running and running.environment.config
        return config is not None and (
            [each.name for each in config.endpoints] == [*names]
            and config.inter_broker_listener == between
        )


@cache
def weathered(seed: int, plan: tuple[tuple[int, str], ...], seconds: float = MOST) -> Run:
    """A run with a storm that lasts until an operator has carried out the plan."""
    run = Run(seed, seconds)
    operator = RollingRestart(run, plan)
    for _ in run.steps():
        if operator.is_done:
            run.end = min(run.end, run.world.now)
        elif run.world.now > BEGIN:
            operator.turn()
    assert operator.is_done
    return run


def whole_plan(seed: int) -> tuple[tuple[int, str], ...]:
    return tuple((broker, step) for step in IN_ORDER for broker in Run(seed).world.nodes)


@pytest.mark.parametrize("seed", STORMS)
def test_no_acknowledged_record_is_lost_step_by_step(seed: int) -> None:
    """All invariants hold at any time, and in the end. No broker has called a closed port."""
    run = weathered(seed, whole_plan(seed))
    assert refused(run.world) == 0
    assert sum(map(len, run.observed.acknowledged.values())) > 50
    for node in run.world.nodes.values():
        assert [each.name for each in node.config.endpoints] == [NEW]


def test_faults_come_between_the_restarts() -> None:
    """Or these runs would say little."""
    kinds: set[str] = set()
    for seed in range(SHORT):
        run = weathered(seed, whole_plan(seed))
        kinds |= {each.event.kind for each in run.world.events}
    assert kinds >= {
        "broker.killed", "broker.stopping", "broker.paused", "broker.lost-power",
        "session.expired", "link.cut", "link.slowed", "link.loses", "log.truncated",
        "isr.changed", "leader.elected", "reassignment.done",
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_plan_without_the_steps_between_is_found(seed: int) -> None:
    """The broker is not back when the storm is over: it is not in sync, or not even known."""
    with pytest.raises(Violation, match="everybody_is_back does not hold"):
        weathered(seed, ((1, "closed"),), seconds=30)
