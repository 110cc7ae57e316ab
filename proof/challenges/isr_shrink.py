"""Shrinking the ISR: when has a follower been behind for so long that nobody waits for it?

    producer ──> leader ──> follower 2        acks=all waits for both, as long as both are in sync
                       └──> follower 3        slow? silent? dead?

The rule stands in the brokers of a simulated cluster. Each case is a short story about one topic:
who is slow, who dies, and what the producer sends meanwhile. Two things are promised. A replica
that keeps up within `replica.lag.time.max.ms` stays in the ISR; and whoever does not is gone soon,
so that acks=all is answered again.
"""

from random import Random
from typing import NamedTuple, Protocol

from engine.broker.rules import Rules
from engine.replication.partition import Follower, Partition
from engine.sim.client import Delivery
from engine.sim.simulation import Simulation
from proof.challenges import drawn_cases
from proof.challenges.challenge import Challenge
from proof.challenges.drawn_cases import CALLS, STAGE, DrawnCase, check_drawn
from proof.challenges.guard import RuleGuard
from proof.challenges.trial import CaseStage, CaseTrial, PromiseBroken
from proof.storms.defects import PartitionsWith

TOPIC = "orders"
LAG_MS = 4000  # replica.lag.time.max.ms
ANSWER_MS = 2 * LAG_MS + 1000  # until a producer must hear, if a follower is gone
BACK_MS = 2 * LAG_MS  # until a follower that is healed must be in sync again
SLOWEST_MS = 500  # of a message: two of them are far below LAG_MS
PAUSES_MS = (50, 300, 1500)  # between two records
STEPS = 8  # of a story
PRODUCERS = 40  # so that a burst does not wait for its own answers


class ShrinkRule(Protocol):
    def must_leave(self, end: int, leader_end: int, behind_ms: int, max_lag_ms: int) -> bool:
        """Does this follower have to leave the ISR?

        `end`: its log end, as the leader knows it. `leader_end`: that of the leader. `behind_ms`:
        the time since it was last known to have all records of the leader. `max_lag_ms`:
        replica.lag.time.max.ms. The leader asks for each member of the ISR, every few seconds.
        """


class LaggingStory(NamedTuple):
    """What is done, step by step."""

    steps: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return ", ".join(f"{what} {number}" for what, number in self.steps)


def put_shrink(guard: RuleGuard) -> Rules:
    class RuledLag(Partition):
        __slots__ = ()

        def _is_lagging(self, follower: Follower | None, now: int) -> bool:
            if follower is None:
                return True
            behind = now - follower.caught_up
            arguments = follower.end, self.end, behind, self.max_lag_ms
            leaves: bool = guard.call("must_leave", bool, *arguments)
            return leaves

    class RuledLagManager(PartitionsWith):
        partition = RuledLag

    return Rules(RuledLagManager)


class _Stage:
    """A story on a simulated cluster: broker 1 leads, 2 and 3 follow."""

    def __init__(self, guard: RuleGuard) -> None:
        self.sim = Simulation(
            3,
            rules=put_shrink(guard),
            replica_lag_time_max_ms=LAG_MS,
            zookeeper_session_timeout_ms=3000,
            replica_socket_timeout_ms=3000,
        )
        self.sim.topic(TOPIC, replicas=[1, 2, 3], min_insync_replicas=1)
        self.waiting: list[Delivery] = []
        self.away: set[int] = set()  # followers that are dead or cut off
        self._seen = 0  # of the brokers' events

    def send(self, count: int) -> None:
        for number in range(count):
            producer = f"producer-{len(self.waiting) % PRODUCERS}"
            self.waiting.append(self.sim.send(TOPIC, str(number), producer=producer))

    def write(self, pause_ms: int) -> None:
        """A record now and then, for longer than LAG_MS."""
        for _ in range(2 * LAG_MS // pause_ms):
            self.send(1)
            self._pass(pause_ms)

    def burst(self, count: int) -> None:
        self.send(count)
        self._pass(LAG_MS // 4)

    def idle(self, ms: int) -> None:
        self._pass(ms)

    def slow(self, ms: int) -> None:
        for follower in (2, 3):
            self.sim.slow(1, follower, ms)

    def kill(self, broker: int) -> None:
        self.away.add(broker)
        self.sim.kill(broker)

    def cut(self, broker: int) -> None:
        self.away.add(broker)
        self.sim.cut(1, broker)

    def back(self, broker: int) -> None:
        self.sim.heal()
        for follower in sorted(self.away):
            if not self.sim.is_up(follower):
                self.sim.start(follower)
        self.away.clear()
        self.sim.run(ms=BACK_MS)
        self._seen = len(self.sim.world.events)
        if missing := {2, 3} - set(self.sim.isr(TOPIC)):
            raise PromiseBroken(
                f"broker {min(missing)} is back for {BACK_MS} ms, and is not in the ISR again."
            )

    def _pass(self, ms: int) -> None:
        while ms > 0:
            self.sim.run(ms=min(ms, LAG_MS // 4))
            self._check_isr()
            ms -= LAG_MS // 4

    def _check_isr(self) -> None:
        events = self.sim.world.events
        for _, _, event in events[self._seen :]:
            if event.kind == "isr.changed" and event.data["topic"] == TOPIC:
                for follower in {2, 3} - self.away - set(event.data["isr"]):
                    raise PromiseBroken(
                        f"broker {follower} had to leave the ISR, although it was never more than "
                        f"{LAG_MS} ms behind."
                    )
        self._seen = len(events)

    def end(self) -> None:
        self.send(1)
        self.sim.run(ms=ANSWER_MS)
        if not all(delivery.acknowledged for delivery in self.waiting):
            raise PromiseBroken(
                f"{sum(not it.acknowledged for it in self.waiting)} records with acks=all are not "
                f"acknowledged after {ANSWER_MS} ms: they wait for {sorted(self.away)}."
            )


def check_shrink(guard: RuleGuard, case: LaggingStory | DrawnCase) -> None:
    if isinstance(case, DrawnCase):
        return check_drawn(guard, case, bool)
    stage = _Stage(guard)
    for what, number in case.steps:
        getattr(stage, what)(number)
        if guard.failure is not None:
            raise guard.failure
    stage.end()


# -- cases -----------------------------------------------------------------------------------


def _calm(chance: Random, size: int) -> LaggingStory:
    steps = [*[("burst", chance.randint(1, 3))] * 4, ("idle", 3 * LAG_MS)]
    return LaggingStory(tuple(steps[-size:]))


def _slow(chance: Random, size: int) -> LaggingStory:
    steps = [("slow", chance.randint(100, SLOWEST_MS))]
    while len(steps) < max(2, size):
        kinds = ("write", chance.choice(PAUSES_MS)), ("burst", chance.randint(20, 40))
        steps.append(chance.choice(kinds))
    return LaggingStory(tuple(steps))


def _away(chance: Random, size: int) -> LaggingStory:
    """The controller removes who has died; nobody but the leader notices who is cut off from it."""
    later = _slow(chance, max(2, size - 1)).steps[1:]
    return LaggingStory(
        (*later, (chance.choice(("cut", "cut", "kill")), chance.choice((2, 3))))[-size:]
    )


def _everything(chance: Random, size: int) -> LaggingStory:
    steps: list[tuple[str, int]] = []
    while len(steps) < size:
        steps += _slow(chance, 2).steps
        harm = chance.choice(("kill", "cut"))
        steps += [(harm, chance.choice((2, 3))), ("burst", chance.randint(1, 9)), ("back", 0)]
    return LaggingStory(tuple(steps[:size]))


CHALLENGE = Challenge(
    "shrink-the-isr",
    "Who has to leave the ISR?",
    "ISR",
    ShrinkRule,
    CaseTrial(
        check_shrink,
        "step",
        (
            CaseStage("calm", _calm),
            CaseStage("slow network", _slow),
            CaseStage("dead or cut off", _away),
            CaseStage("everything", _everything),
            CaseStage(STAGE, drawn_cases.lag, CALLS),
        ),
        size=STEPS,
        put=put_shrink,
    ),
    naive="""class Mine:
    def must_leave(self, end, leader_end, behind_ms, max_lag_ms):
        return False
""",
    hints=(
        "As long as a member of the ISR is silent, acks=all waits for it.",
        "A burst of records makes every follower lag for a moment. A number of records says "
        "nothing about how long it will take.",
        "Whoever has all records is in sync, however long nobody has written. Whoever lacks some "
        "leaves after max_lag_ms.",
    ),
    read="engine/replication/partition.py, _is_lagging",
)
