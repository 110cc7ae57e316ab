"""The exercises of 05_controller, and how each is judged.

chosen    in the real cluster: a certain broker becomes controller, however that is done
after     a function, compared with what the engine's controller writes when a broker dies
fenced    a function whose transaction is sent to a simulated ZooKeeper, in time and too late
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from engine import Cluster, Simulation
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from engine.sim.clock import Clock
from engine.sim.zookeeper import Zookeeper
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Get, Multi, Refused, Set
from widgets import Check, Trial
from widgets.exercise import Code

REPLICAS = [[2, 3, 4], [3, 2, 4], [4, 2, 3], [4, 3], [2], [2, 4]]
PAST_SESSION = 25  # seconds: longer than a session lasts


def chosen(cluster: Cluster, wanted: int) -> Check:
    def is_controller(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
        if state.controller != wanted:
            return f"broker {wanted} is not the controller"
        down = [str(number) for number, each in state.brokers.items() if not each.answers]
        return f"down: broker {' and '.join(down)}" if down else ""

    return Check(
        f"Broker {wanted} is the controller, and all three brokers are up",
        cluster,
        is_controller,
        hint="All that are left compete. How can you make sure who wins?",
    )


# -- after -------------------------------------------------------------------------------------

PartitionState = tuple[int, int, tuple[int, ...]]  # leader, leader epoch, ISR
States = Mapping[int, PartitionState]


class BrokerDeath(NamedTuple):
    """One that the engine went through: what the controller knew, and what it wrote."""

    states: States
    dead: int
    live: tuple[int, ...]
    written: States


def after() -> Trial:
    return Trial(
        "after(states, replicas, dead, live): what the controller writes when a broker dies",
        _writes,
        hint="Where is nothing to be written? Who may lead, and in which list's order? And if the "
        "dead one was the only member of the ISR?",
    )


def _writes(code: Code) -> str:
    for known in _deaths():
        replicas = {number: list(each) for number, each in enumerate(REPLICAS)}  # may be changed
        told = f"when broker {known.dead} dies"
        try:
            found = code(dict(known.states), replicas, known.dead, list(known.live))
            given = {n: (leader, age, tuple(isr)) for n, (leader, age, isr) in found.items()}
        except Exception as error:  # the learner's, and told
            return f"{told} it raises {type(error).__name__}: {error}"
        for number in sorted({*given, *known.written}):
            if _order_apart(given.get(number)) != _order_apart(known.written.get(number)):
                return (
                    f"{told}, partition {number} has {_words(known.states.get(number))}. It gives "
                    f"{_words(given.get(number))}, and the engine writes "
                    f"{_words(known.written.get(number))}"
                )
    return ""


def _order_apart(state: PartitionState | None) -> object:
    """A state as it is compared with another: the order of an ISR says nothing."""
    return None if state is None else (state[0], state[1], frozenset(state[2]))


def _words(state: PartitionState | None) -> str:
    if state is None:
        return "nothing"
    leader, epoch, isr = state
    return f"leader {leader}, epoch {epoch}, ISR {' '.join(map(str, isr))}"


def _deaths() -> list[BrokerDeath]:
    return [_death(2), _death(4), _death(2, absent=4), _death(2, back=4), _death(3, back=2)]


def _death(dead: int, absent: int = 0, back: int = 0) -> BrokerDeath:
    """`absent` is down before, `back` was down and is in sync again."""
    sim = Simulation(brokers=4)
    sim.topic("orders", replicas=REPLICAS)
    if absent or back:
        sim.kill(absent or back)
        sim.run(PAST_SESSION)
    if back:
        sim.start(back)
        sim.run(PAST_SESSION)
    before = _states(sim)
    sim.kill(dead)
    sim.run(PAST_SESSION)
    written = {n: state for n, state in _states(sim).items() if state != before[n]}
    live = tuple(each for each in (1, 2, 3, 4) if each not in (dead, absent))
    return BrokerDeath(before, dead, live, written)


def _states(sim: Simulation) -> dict[int, PartitionState]:
    return {
        n: (sim.leader("orders", n), sim.epoch("orders", n), tuple(sim.isr("orders", n)))
        for n in range(len(REPLICAS))
    }


# -- fenced ------------------------------------------------------------------------------------

STATE = "/brokers/topics/orders/partitions/0/state"
FOREVER = 1 << 40  # ms: a session


def fenced() -> Trial:
    return Trial(
        "fenced(path, data, version, epoch_version): a transaction that comes too late is refused",
        _too_late,
        hint="A transaction is made as a whole or not at all. What must still be as it was?",
    )


def _too_late(code: Code) -> str:
    cases: dict[str, tuple[Callable[[Zookeeper, Any], Any], bool]] = {
        "while it is the controller": (lambda zookeeper, other: None, True),
        "after another controller was elected": (_elect, False),
        "after the leader has changed the ISR": (_shrink, False),
    }
    for when, (happens, wanted) in cases.items():
        try:
            wrote, epoch = _tried(code, happens)
        except Exception as error:  # the learner's, and told
            return f"{when} it raises {type(error).__name__}: {error}"
        if wrote != wanted:
            return f"{when} the state {'is' if wrote else 'is not'} written"
        if epoch != (b"2" if happens is _elect else b"1"):
            return f"{when} the controller epoch is changed, which only an election may do"
    return ""


def _tried(code: Code, happens: Callable[[Zookeeper, Any], Any]) -> tuple[bool, bytes]:
    """Whether the transaction was made, and the controller epoch afterwards."""
    zookeeper = Zookeeper(Clock(0))
    session = zookeeper.connect(FOREVER, lambda change: None)
    for path, data in ((znodes.CONTROLLER_EPOCH, b"1"), (STATE, b"before")):
        zookeeper.answer(session, Create(path, data, parents=True))
    version, epoch_version = 0, 0  # as the controller has read them
    happens(zookeeper, session)
    answer = zookeeper.answer(session, Multi(tuple(code(STATE, b"new", version, epoch_version))))
    wrote = not isinstance(answer, Refused) and zookeeper.tree[STATE].data == b"new"
    return wrote, zookeeper.answer(session, Get(znodes.CONTROLLER_EPOCH)).data


def _elect(zookeeper: Zookeeper, session: Any) -> None:
    zookeeper.answer(session, Set(znodes.CONTROLLER_EPOCH, b"2"))


def _shrink(zookeeper: Zookeeper, session: Any) -> None:
    zookeeper.answer(session, Set(STATE, b"a smaller ISR"))
