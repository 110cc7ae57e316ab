"""Questions on producers: what acks means, and what a repeated request does."""

from collections.abc import Hashable, Sequence
from random import Random

from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.sim.simulation import ACKS, Simulation
from oracle.cluster_situation import LAG_MS, TOPIC, ClusterSituation
from oracle.situation import Answer, Situation

SOON_MS = 1000


class Heard(ClusterSituation):
    """A record is sent. What does the producer hear?"""

    level, idea, section = 1, "acks", "promises#acks-text"
    SOON, LATE = "soon", "late"
    CASES: Sequence[tuple[int | str, int, int, int]] = (
        # acks, min.insync.replicas, followers that have left the ISR, that are cut off just now
        (1, 1, 0, 2),
        (1, 2, 2, 0),
        ("all", 1, 0, 0),
        ("all", 1, 0, 1),
        ("all", 1, 0, 2),
        ("all", 2, 0, 1),
        ("all", 2, 1, 0),
        ("all", 2, 0, 2),
        ("all", 3, 0, 1),
        ("all", 2, 1, 1),
        ("all", 2, 2, 0),
        ("all", 3, 1, 0),
        ("all", 3, 2, 0),
    )

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.acks, self.least, self.out, self.cut = chance.choice(self.CASES)
        who = {0: "", 1: f"broker {self.followers[-1]} is", 2: "both followers are"}[self.cut]
        self.happens = f"A producer sends one record with acks={self.acks}."
        if who:
            self.happens = f"Now {who} cut off from the leader. {self.happens}"
        self.asks = "What does the producer hear first?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        self.store(sim, 2)
        if self.out:
            self.drop_from_isr(sim, *self.followers[: self.out])
        sim.world.configure(TOPIC, min_insync_replicas=str(self.least))
        sim.run(1)

    def strike(self, sim: Simulation) -> None:
        for broker in self.followers[len(self.followers) - self.cut :]:
            sim.cut(self.leader, broker)
        self.sent = sim.send(TOPIC, "late", acks=self.acks, timeout_ms=50)
        sim.wait(lambda: self.sent.done)

    def observe(self, sim: Simulation) -> Hashable:
        if self.sent.code != ErrorCode.none:
            return self.sent.code.name
        return self.SOON if (self.sent.answered_ms or 0) < SOON_MS else self.LATE

    def facts(self) -> list[str]:
        return [
            f"min.insync.replicas is {self.least}, replica.lag.time.max.ms is {LAG_MS}.",
            f"In the ISR: {len(self.order) - self.out} of {len(self.order)} replicas.",
        ]

    def answers(self) -> Sequence[Answer]:
        return [
            Answer(
                "at once: it is stored",
                self.SOON,
                "acks=all waits for the whole ISR, and min.insync.replicas is checked before.",
            ),
            Answer(
                "some seconds later: it is stored",
                self.LATE,
                "Nobody has to be waited for, or too few are left in the end.",
            ),
            Answer(
                "at once: NOT_ENOUGH_REPLICAS",
                ErrorCode.not_enough_replicas.name,
                "The ISR is large enough when the record comes, or acks=1 does not ask for it.",
            ),
            Answer(
                "some seconds later: NOT_ENOUGH_REPLICAS_AFTER_APPEND",
                ErrorCode.not_enough_replicas_after_append.name,
                "The ISR is too small from the start, or large enough in the end.",
            ),
        ]

    def reason(self, outcome: Hashable) -> str:
        if self.acks == 1:
            return "acks=1 asks neither for the ISR nor for min.insync.replicas."
        return {
            self.SOON: "All in the ISR have copied it, and they are enough.",
            self.LATE: "acks=all waits for the whole ISR, until the leader has taken out who lags.",
            ErrorCode.not_enough_replicas.name: "The ISR has fewer members: nothing is stored.",
        }.get(str(outcome), "It was stored; then the ISR became smaller than min.insync.replicas.")


class RepeatedSend(ClusterSituation):
    """The answer gets lost, and the producer sends the record again. How often is it in the log?"""

    level, idea, section = 1, "idempotence", "promises#numbers-text"
    CASES: Sequence[tuple[str, bool, str]] = (
        # acks, idempotent, what is lost
        ("all", True, "answer"),
        ("all", True, "request"),
        ("all", False, "request"),
        ("all", False, "answer"),
        ("all", False, "answer"),
        ("1", False, "answer"),
        ("0", False, "request"),
        ("0", False, "request"),
        ("0", False, "answer"),
    )

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.acks, self.idempotent, self.lost = chance.choice(self.CASES)
        self.happens = {
            "answer": "Broker {0} receives the record, but its answers get lost for forty seconds.",
            "request": "Nothing from the producer reaches broker {0} for forty seconds.",
        }[self.lost].format(self.leader)
        self.asks = "How often is the record in the log a minute later?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        self.store(sim, 1)

    def strike(self, sim: Simulation) -> None:
        if self.lost == "answer":
            sim.cut(self.leader, "client", both=False)
        else:
            sim.cut("client", self.leader, both=False)
        sim.world.client.send(
            TopicPartition(TOPIC, 0),
            "late",
            acks=ACKS[self.acks],
            idempotent=self.idempotent,
        )
        sim.run(40)
        sim.heal()
        sim.run(30)

    def observe(self, sim: Simulation) -> Hashable:
        return sim.read(TOPIC).count("late")

    def facts(self) -> list[str]:
        known = "true" if self.idempotent else "false"
        return [
            f"The producer sends one record with acks={self.acks}; enable.idempotence={known}.",
            "It waits thirty seconds for an answer, and tries again for two minutes.",
        ]

    def table(self) -> None:
        """Nothing about the replicas matters."""

    def answers(self) -> Sequence[Answer]:
        return [
            Answer("never", 0, "The producer tries again, or it has arrived the first time."),
            Answer(
                "once",
                1,
                "The producer cannot tell a lost answer from a lost request, unless "
                "the broker knows the batch by its number.",
            ),
            Answer("twice", 2, "Nothing was sent twice, or the broker knew it."),
            Answer("three times", 3, "Two attempts reach the broker at most."),
        ]

    def reason(self, outcome: Hashable) -> str:
        if self.acks == "0":
            return "acks=0 waits for no answer: nothing is ever sent again."
        if self.lost == "request":
            return (
                "The connection broke, and the record was sent again; the first one never arrived."
            )
        if self.idempotent:
            return (
                "It was sent again, but the broker has its number and answers without storing it."
            )
        return "It was sent again, and without a number the broker takes it for another record."


KINDS: dict[str, type[Situation]] = {"heard": Heard, "copies": RepeatedSend}
