"""Questions on the controller: epochs, and a leader that has not heard of its successor."""

from collections.abc import Hashable, Sequence
from random import Random

from engine.sim.simulation import Simulation
from oracle.cluster_situation import SESSION_MS, TOPIC, ClusterSituation
from oracle.situation import Answer, Situation

WITH_ZOOKEEPER = "The cluster's metadata is in ZooKeeper."


class EpochAfter(ClusterSituation):
    """Somebody dies. How far does the leader epoch grow?"""

    level, idea, section = 3, "leader epoch", "controller#takeover-text"
    CASES = (
        "leader",
        "leader and controller",
        "leader and controller",
        "follower",
        "stranger",
        "controller alone",
        "returns",
    )
    brokers = 4

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.case = chance.choice(self.CASES)
        self.dies = 0

    def prepare(self, sim: Simulation) -> None:
        controller = sim.controller or 0
        others = [broker for broker in (1, 2, 3, 4) if broker != controller]
        if self.case == "leader and controller":
            self.order = [controller, *others[:2]]
        else:
            self.order = others
        self.leader, *self.followers = self.order
        self.dies = {
            "leader": self.leader,
            "leader and controller": controller,
            "follower": self.followers[0],
            "returns": self.followers[0],
            "stranger": controller,
            "controller alone": controller,
        }[self.case]
        self.create(sim)
        self.store(sim, 2)
        role = f"broker {controller} is the controller"
        self.role = role[0].upper() + role[1:] + "."
        self.happens = f"Broker {self.dies} dies."
        if self.case == "returns":
            self.happens += " Ten seconds later it is started again, and catches up."
        elif self.case == "stranger":
            self.happens = f"Broker {self.dies}, the controller, is paused for ten seconds."
        self.asks = "By how much has the partition's leader epoch grown, ten seconds later?"

    def strike(self, sim: Simulation) -> None:
        if self.case == "stranger":
            sim.pause(self.dies)
        else:
            sim.kill(self.dies)
        if self.case == "returns":
            sim.run(10)
            sim.start(self.dies)

    def outcome(self, timing: int) -> Hashable:
        sim = self.begin(timing)
        before = sim.epoch(TOPIC)
        self.strike(sim)
        sim.run(12)
        return sim.epoch(TOPIC) - before

    def facts(self) -> list[str]:
        sessions = "Sessions with ZooKeeper end after three seconds of silence."
        return [WITH_ZOOKEEPER, self.role, sessions]

    def answers(self) -> Sequence[Answer]:
        return [
            Answer("not at all", 0, "Each decision of the controller on this partition counts."),
            Answer(
                "by 1",
                1,
                "Count the decisions on this partition: elections, and changes of the "
                "ISR by the controller.",
            ),
            Answer("by 2", 2, "One decision is enough, or none is needed."),
            Answer("by 3", 3, "Nobody decides so often."),
        ]

    def reason(self, outcome: Hashable) -> str:
        if outcome == 0:
            return "The controller has no replica of this partition: nothing is decided about it."
        if outcome == 1:
            return (
                "The controller decides once: it elects a leader, or takes the dead out of the ISR."
            )
        return (
            "The dead broker was the controller, too. Its successor decides twice: it takes the "
            "dead out of the ISR, and then it elects a leader."
        )


class OldLeader(ClusterSituation):
    """A leader cannot reach ZooKeeper. What does a producer hear that still writes to it?"""

    level, idea, section = 3, "fencing", "controller#zombie-text"
    ACKED_KEPT, ACKED_LOST, REFUSED, SILENT = "kept", "lost", "refused", "silent"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.acks = chance.choice(["1", "all"])
        self.seconds = chance.choice([1, 10, 10])
        self.heals = self.seconds == 10 and chance.random() < 0.25
        later = "a second" if self.seconds == 1 else "ten seconds"
        self.happens = (
            f"Broker {self.leader} and ZooKeeper are cut off from each other; all other links are "
            f"well. {later.capitalize()} later"
            + (", and two seconds after the link is whole again," if self.heals else "")
            + f" a producer that knows no other leader sends one record to broker {self.leader}, "
            f"with acks={self.acks}. It waits for two seconds. Then everything is mended."
        )
        self.asks = "What does the producer hear, and is the record there in the end?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        self.store(sim, 2)

    def strike(self, sim: Simulation) -> None:
        sim.cut(self.leader, "zookeeper")
        sim.run(self.seconds)
        if self.heals:
            sim.heal()
            sim.run(2)
        self.sent = sim.send(TOPIC, "late", acks=self.acks, to=self.leader, timeout_ms=50)
        sim.run(2)
        self.heard = self.sent.done
        sim.heal()
        sim.run(30)

    def observe(self, sim: Simulation) -> Hashable:
        is_there = "late" in sim.read(TOPIC)
        if not self.heard:
            return (self.SILENT, is_there)
        if not self.sent.acknowledged:
            return (self.REFUSED, is_there)
        return (self.ACKED_KEPT if is_there else self.ACKED_LOST, is_there)

    def facts(self) -> list[str]:
        settings = f"zookeeper.session.timeout.ms is {SESSION_MS}. min.insync.replicas is 1."
        return [WITH_ZOOKEEPER, settings]

    def answers(self) -> Sequence[Answer]:
        return [
            Answer(
                "it is acknowledged, and there",
                (self.ACKED_KEPT, True),
                "Another leader was elected meanwhile, or the followers did not answer.",
            ),
            Answer(
                "it is acknowledged, and lost",
                (self.ACKED_LOST, False),
                "The leader was still the leader, or it could not acknowledge.",
            ),
            Answer(
                "an error: this broker does not lead",
                (self.REFUSED, False),
                "It does not know of its successor: nobody has told it.",
            ),
            Answer(
                "nothing within two seconds, and it is lost",
                (self.SILENT, False),
                "acks=1 needs nobody else, and a session lasts for three seconds.",
            ),
        ]

    def reason(self, outcome: Hashable) -> str:
        if self.seconds == 1:
            return "Its session is not over yet: it leads, and its followers fetch from it."
        if self.heals:
            return "It has a new session, and the controller has told it who leads."
        if self.acks == "1":
            return (
                "It does not know that another one was elected, and acks=1 asks nobody else. When "
                "it hears of it, it cuts the record from its log."
            )
        return (
            "It believes that it leads, but its followers fetch from another: acks=all is never "
            "reached, and without ZooKeeper it cannot take them out of the ISR. When it hears of "
            "its successor, it cuts the record from its log."
        )


KINDS: dict[str, type[Situation]] = {"epoch-after": EpochAfter, "old-leader": OldLeader}
