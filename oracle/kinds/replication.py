"""Questions on replicas: who survives, who leads, who is in sync, what is read and what is cut."""

from collections.abc import Hashable, Sequence
from random import Random

from engine.sim.simulation import Simulation
from oracle.cluster_situation import LAG_MS, TOPIC, ClusterSituation, listed
from oracle.situation import Answer, Situation, numbers

NOBODY = -1  # leads


class Survivors(ClusterSituation):
    """The leader dies. Which records does its successor have?"""

    level, idea, section = 2, "high watermark", "replication#marks-text"
    CASES = (
        "nobody has",
        "nobody has",
        "first has",
        "second has",
        "all have",
        "first is out",
        "both are out",
    )

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.case = chance.choice(self.CASES)
        self.unclean = self.case == "both are out" and chance.random() < 0.5
        self.stored, self.late = chance.randint(2, 3), chance.randint(2, 3)
        self.happens = f"Broker {self.leader} dies, for good. Everybody else is well connected."
        self.asks = "A consumer reads the topic from the beginning, later. What does it get?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim, unclean_leader_election_enable=str(self.unclean).lower())
        first, second = self.followers
        out = {"first is out": [first], "both are out": [first, second]}.get(self.case, [])
        self.store(sim, self.stored - bool(out))
        if out:
            self.drop_from_isr(sim, *out)
        cut = {"nobody has": [first, second], "first has": [second], "second has": [first]}
        for broker in cut.get(self.case, []):
            sim.cut(self.leader, broker)
        sim.store(TOPIC, self.values(self.late), acks=1)
        sim.run(ms=700)

    def strike(self, sim: Simulation) -> None:
        sim.kill(self.leader)

    def observe(self, sim: Simulation) -> Hashable:
        leader = self.await_leader(sim)
        return len(sim.read(TOPIC)) if leader != NOBODY else NOBODY

    def facts(self) -> list[str]:
        unclean = "true" if self.unclean else "false"
        return [
            f"The last {self.late} records were sent with acks=1, and acknowledged.",
            f"unclean.leader.election.enable is {unclean}.",
        ]

    def answers(self) -> Sequence[Answer]:
        few, all_ = self.stored, self.stored + self.late
        other = few - 1 if self.unclean else few + 1
        return [
            Answer(f"all {all_} records", all_, "Acknowledged is not replicated: acks=1."),
            Answer(f"the first {few} records", few, "The high watermark is no limit of a log."),
            Answer(f"the first {other} record{'s'[: other - 1]}", other, "Count what it has."),
            Answer("nothing: nobody leads", NOBODY, "A member of the ISR may lead."),
        ]

    def reason(self, outcome: Hashable) -> str:
        if outcome == NOBODY:
            return "Only a member of the ISR may lead, and the only one is dead."
        if self.unclean:
            return "An unclean election made a replica lead that had left the ISR: its log counts."
        return (
            "The first live replica of the list that is in the ISR leads, and what is in its log "
            "is the log now, whatever the old leader had acknowledged with acks=1."
        )


class NextLeader(ClusterSituation):
    """Some brokers die. Who leads ten seconds later?"""

    level, idea, section = 1, "ISR", "replication#order-text"
    CASES: Sequence[tuple[tuple[int, ...], tuple[int, ...], bool, bool]] = (
        # out of the ISR, killed (places in the list of replicas), unclean elections, comes back
        ((), (0,), False, False),
        ((1,), (0,), False, False),
        ((1, 2), (0,), False, False),
        ((1, 2), (0,), True, False),
        ((), (0, 1), False, False),
        ((), (1,), False, False),
        ((), (0,), False, True),
        ((2,), (0, 1), False, False),
        ((1, 2), (1,), False, False),
        ((1,), (0,), True, False),
    )

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        out, killed, self.unclean, self.back = chance.choice(self.CASES)
        self.out = [self.order[place] for place in out]
        self.killed = [self.order[place] for place in killed]
        who = " and ".join(map(str, self.killed))
        self.happens = f"Broker {who} dies." if len(killed) == 1 else f"Brokers {who} die at once."
        if self.back:
            self.happens += " Ten seconds later it is started again."
        self.asks = "Ten seconds later: who leads?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim, unclean_leader_election_enable=str(self.unclean).lower())
        self.store(sim, 2)
        if self.out:
            self.drop_from_isr(sim, *self.out)
            self.store(sim, 1, acks=1)

    def strike(self, sim: Simulation) -> None:
        for broker in self.killed:
            sim.kill(broker)
        if self.back:
            sim.run(10)
            sim.start(self.killed[0])

    def observe(self, sim: Simulation) -> Hashable:
        return self.await_leader(sim)

    def facts(self) -> list[str]:
        unclean = "true" if self.unclean else "false"
        return [
            f"The replicas are listed in this order: {listed(self.order)}.",
            f"unclean.leader.election.enable is {unclean}.",
        ]

    def answers(self) -> Sequence[Answer]:
        beliefs = (
            "It leads no longer, or not yet again.",
            "Not every replica may lead.",
            "The order of the list decides among those that may.",
        )
        rows = zip(self.order, beliefs, strict=True)
        found = [Answer(f"broker {broker}", broker, belief) for broker, belief in rows]
        return [*found, Answer("nobody", NOBODY, "There is somebody who may lead.")]

    def reason(self, outcome: Hashable) -> str:
        if outcome == NOBODY:
            return "No live replica is in the ISR, and an unclean election is not allowed."
        if outcome == self.leader:
            return "As long as the leader lives, nobody else is elected."
        if self.back:
            return "Whoever comes back follows at first; the preferred leader waits for minutes."
        return (
            "The first live replica of the list that is in the ISR leads; without one, if unclean "
            "elections are allowed, the first live replica."
        )


class Readable(ClusterSituation):
    """What does a consumer see at once?"""

    level, idea, section = 1, "high watermark", "replication#marks-text"
    CASES = (
        "both lag",
        "one lags",
        "one has one",
        "one has one, one is out",
        "one is out",
        "both are out",
        "nobody lags",
    )

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.case = chance.choice(self.CASES)
        self.stored, self.late = chance.randint(2, 3), chance.randint(2, 3)
        self.happens = "Nothing. A consumer reads from the leader, at once."
        self.asks = "How many records does it get?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        first, second = self.followers
        outs = {"one has one, one is out": [second], "one is out": [first]}
        out = self.followers if self.case == "both are out" else outs.get(self.case, [])
        self.store(sim, self.stored - bool(out))
        if out:
            self.drop_from_isr(sim, *out)
        if self.case in ("both lag", "one lags"):
            for broker in self.followers[: 2 if self.case == "both lag" else 1]:
                sim.cut(self.leader, broker)
        values = self.values(self.late)
        sim.store(TOPIC, values[:1], acks=1)
        sim.run(ms=700)
        if "one has one" in self.case:
            sim.cut(self.leader, first)
        sim.store(TOPIC, values[1:], acks=1)
        sim.run(ms=700)

    def observe(self, sim: Simulation) -> Hashable:
        return len(sim.read(TOPIC))

    def facts(self) -> list[str]:
        return [
            f"The last {self.late} records were sent with acks=1, and acknowledged.",
            f"replica.lag.time.max.ms is {LAG_MS}: whoever lags for less is in the ISR.",
        ]

    def table(self) -> None:
        """The marks would tell it."""

    def answers(self) -> Sequence[Answer]:
        few, all_ = self.stored, self.stored + self.late
        return [
            Answer(f"all {all_}", all_, "The leader shows only what the whole ISR has."),
            Answer(f"the first {few}", few, "Acknowledged or not, what the whole ISR has counts."),
            Answer(f"the first {few + 1}", few + 1, "The slowest replica of the ISR decides."),
            Answer("none", 0, "What was committed stays readable."),
        ]

    def reason(self, outcome: Hashable) -> str:
        return "A consumer reads up to the high watermark: up to the slowest replica in the ISR."


class Truncated(ClusterSituation):
    """The former leader comes back. What does it cut from its log?"""

    level, idea, section = 3, "leader epoch", "replication#cut-text"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.late = chance.randint(1, 3)
        self.copied = chance.randint(0, self.late)
        self.new = chance.randint(0, 2)
        self.stored = chance.randint(2, 3)
        successor = self.followers[0]
        self.happens = (
            f"Broker {self.leader} dies. Broker {successor} leads, and gets {self.new} more "
            f"records with acks=all. Then broker {self.leader} comes back."
        )
        self.asks = f"How many records does broker {self.leader} cut from its log?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        self.store(sim, self.stored)
        values = self.values(self.late)
        sim.cut(self.leader, self.followers[1])
        sim.store(TOPIC, values[: self.copied], acks=1)
        sim.run(ms=700)
        sim.cut(self.leader, self.followers[0])
        sim.store(TOPIC, values[self.copied :], acks=1)
        sim.run(ms=200)

    def strike(self, sim: Simulation) -> None:
        sim.kill(self.leader)
        self.await_leader(sim)
        sim.heal()
        self.store(sim, self.new)
        sim.start(self.leader)
        sim.run(10)

    def observe(self, sim: Simulation) -> Hashable:
        cut = 0
        for _, broker, event in sim.world.events:
            if event.kind == "log.truncated" and broker == self.leader:
                cut += event.data["was"] - event.data["end_offset"]
        return cut

    def answers(self) -> Sequence[Answer]:
        lost = self.late - self.copied
        beliefs = {lost: "Its successor's log decides."} | {
            self.late: "What its successor has copied may stay, committed or not.",
            0: "What its successor does not have has to go.",
        }
        return [
            Answer(str(number), number, beliefs.get(number, "Only what differs is cut."))
            for number in numbers(lost, 0, self.late, self.stored + self.late, self.new)
        ]

    def reason(self, outcome: Hashable) -> str:
        return (
            "It asks its successor where its own epoch ends, and cuts what lies beyond: records "
            "that only it had. What the successor has copied stays."
        )


class InSync(ClusterSituation):
    """Something happens to a broker. Who is in the ISR afterwards?"""

    level, idea, section = 2, "ISR", "replication#isr-text"
    CASES = (
        "paused for 1",
        "paused for 10",
        "slow for 10",
        "paused and back",
        "killed 1 ago",
        "killed 10 ago",
        "stopped 2 ago",
        "both paused for 10",
        "leader killed 10 ago",
        "cut off for 10",
        "cut off for 10, and lags",
    )

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.case = chance.choice(self.CASES)
        self.broker = chance.choice(self.followers)
        broker, (one, other) = self.broker, self.followers
        self.happens, self.seconds = {
            "paused for 1": (f"Broker {broker} is paused for a second.", 1),
            "paused for 10": (f"Broker {broker} is paused for ten seconds.", 10),
            "slow for 10": (
                f"Each message between {self.leader} and {broker} takes half a second.",
                10,
            ),
            "paused and back": (
                f"Broker {broker} was paused for ten seconds, and is back for ten.",
                10,
            ),
            "killed 1 ago": (f"Broker {broker} was killed a second ago.", 1),
            "killed 10 ago": (f"Broker {broker} was killed ten seconds ago.", 10),
            "stopped 2 ago": (f"Broker {broker} was told to stop (SIGTERM) two seconds ago.", 2),
            "both paused for 10": (f"Brokers {one} and {other} are paused for ten seconds.", 10),
            "leader killed 10 ago": (f"Broker {self.leader} was killed ten seconds ago.", 10),
            "cut off for 10": (
                f"Nothing passes between {self.leader} and {broker} for ten seconds.",
                10,
            ),
            "cut off for 10, and lags": (
                f"Nothing passes between {self.leader} and {broker} for ten seconds, and a "
                "producer sends a record with acks=1 meanwhile.",
                10,
            ),
        }[self.case]
        self.asks = "Who is in the ISR now, by ZooKeeper?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        self.store(sim, 2)

    def strike(self, sim: Simulation) -> None:
        broker = self.broker
        match self.case.split()[0]:
            case "paused":
                sim.pause(broker)
            case "slow":
                sim.slow(self.leader, broker, ms=500)
            case "killed":
                sim.kill(broker)
            case "stopped":
                sim.stop(broker)
            case "both":
                for each in self.followers:
                    sim.pause(each)
            case "leader":
                sim.kill(self.leader)
            case "cut":
                sim.cut(self.leader, broker)
        if self.case.endswith("lags"):
            sim.send(TOPIC, "c", acks=1)
        sim.run(self.seconds)
        if self.case == "paused and back":
            sim.resume(broker)
            sim.run(10)

    def observe(self, sim: Simulation) -> Hashable:
        return frozenset(sim.isr(TOPIC))

    def facts(self) -> list[str]:
        return [
            f"replica.lag.time.max.ms is {LAG_MS}, zookeeper.session.timeout.ms is 3000.",
            "Before that all replicas had all records. Nobody writes, but for what is said here.",
        ]

    def answers(self) -> Sequence[Answer]:
        others = [each for each in self.order if each != self.broker]
        choices = {
            frozenset(self.order): "It was away for too long.",
            frozenset(others): "It left too early, or it is back, or it was not the only one.",
            frozenset([self.leader]): "A follower that fetches stays.",
            frozenset(self.followers): "Whoever lives and fetches stays.",
        }
        return [Answer(f"{listed(sorted(isr))}", isr, belief) for isr, belief in choices.items()]

    def reason(self, outcome: Hashable) -> str:
        return (
            "The leader removes a follower that has not caught up for replica.lag.time.max.ms, and "
            "the controller one whose session is over, or that stops in order. Whoever has all "
            "records has caught up, however long it has not asked."
        )


KINDS: dict[str, type[Situation]] = {
    "survivors": Survivors,
    "next-leader": NextLeader,
    "readable": Readable,
    "truncated": Truncated,
    "in-sync": InSync,
}
