"""Questions on controllers without ZooKeeper: what is committed, who can lead, how many may die.

The controllers' own code runs on a virtual clock, disk and network (proof/quorum). A timing is a
seed of the quorum and a range of its delays, as for clusters; who leads first is made the same.
"""

from collections.abc import Hashable, Sequence
from random import Random

from engine.model import NO_BROKER
from engine.table import Table
from oracle.cluster_situation import listed
from oracle.situation import Answer, Situation, around
from proof.quorum.simulated_quorum import SimulatedQuorum

RECORD = "topic cups"  # which is written now
DELAYS_MS = ((10, 30), (1, 10), (20, 40))  # that a message takes: by timing
COPY_MS = 200  # until a follower has copied a record; shorter than a fetch timeout
FETCH_S, LONG_S = 0.1, 2.0  # a fetch timeout is 0.4 s here: five of them decide everything
TRIES = 30  # until the controller leads that shall lead


class QuorumSituation(Situation):
    """Three controllers; one leads, and all have the same log."""

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.leader, self.follower, self.other = chance.sample([1, 2, 3], 3)

    def begin(self, timing: int) -> SimulatedQuorum:
        """A quorum in which `leader` leads, and all have one record."""
        quorum = SimulatedQuorum(seed=timing + 1, delay_ms=DELAYS_MS[timing])
        for _ in range(TRIES):
            quorum.until(lambda: quorum.leader)
            if quorum.leader == self.leader:
                break
            assert quorum.leader is not None
            quorum.isolate(quorum.leader)  # so that one of the others is elected
            quorum.run(LONG_S)
            quorum.heal()
            quorum.run(LONG_S)
        assert quorum.leader == self.leader, f"controller {self.leader} does not lead"
        quorum.append("topic pots")
        quorum.run(LONG_S)
        return quorum

    def strike(self, quorum: SimulatedQuorum) -> None:
        """What happens now."""

    def observe(self, quorum: SimulatedQuorum) -> Hashable:
        raise AssertionError("each kind observes something")

    def outcome(self, timing: int) -> Hashable:
        quorum = self.begin(timing)
        self.strike(quorum)
        return self.observe(quorum)

    def facts(self) -> list[str]:
        return ["The cluster has no ZooKeeper: three controllers keep its metadata in a log."]

    def table(self) -> Table | None:
        quorum = self.begin(0)
        rows = []
        for id in (1, 2, 3):
            role = "leader" if id == quorum.leader else "follower"
            rows.append((id, role, ", ".join(quorum.log(id))))
        return Table("controller, role, its log", rows)

    # -- steps ---------------------------------------------------------------------------

    def write_alone(self, quorum: SimulatedQuorum) -> None:
        """The leader writes the record, and nobody can copy it."""
        quorum.isolate(self.leader)
        quorum.append(RECORD)

    def write_with_one(self, quorum: SimulatedQuorum) -> None:
        """One follower copies the record, and the other one is cut off from the leader."""
        quorum.cut(self.leader, self.other)
        quorum.append(RECORD)
        quorum.until(lambda: RECORD in quorum.log(self.follower), COPY_MS / 1000)

    @property
    def alone(self) -> str:
        return (
            f"Controller {self.leader} is cut off from the two others, and in the same moment "
            f"writes the record “{RECORD}”."
        )

    @property
    def with_one(self) -> str:
        return (
            f"Controllers {self.leader} and {self.other} are cut off from each other, and "
            f"controller {self.leader} writes the record “{RECORD}”. Controller {self.follower} "
            "copies it."
        )


class RecordKept(QuorumSituation):
    """A record of metadata was written, and the leader is gone. In which logs is it in the end?"""

    level, idea, section = 2, "quorum", "kraft#lost-text"
    CASES = ("alone", "alone, killed", "alone, returns", "one copy", "both die", "both die")

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.case = chance.choice(self.CASES)
        leader, follower, other = self.leader, self.follower, self.other
        mended = "Then the network is whole again, and some seconds pass."
        self.happens = {
            "alone": f"{self.alone} Another one is elected. {mended}",
            "alone, killed": f"{self.alone} It is killed. Another one is elected. Then controller "
            f"{leader} is started again, the network is whole, and some seconds pass.",
            "alone, returns": f"{self.alone} Then controller {follower} is killed before anybody "
            f"else is elected. The network is whole again between controllers {leader} and "
            f"{other}. Some seconds later controller {follower} is started again, and some more "
            "pass.",
            "one copy": f"{self.with_one} Controller {leader} is killed at once. Some seconds "
            f"later it is started again. {mended}",
            "both die": f"{self.with_one} Then controllers {leader} and {follower} are killed. "
            "Some seconds pass.",
        }[self.case]
        self.asks = f"In which logs is the record “{RECORD}” then?"

    def strike(self, quorum: SimulatedQuorum) -> None:
        copied = self.case in ("one copy", "both die")
        (self.write_with_one if copied else self.write_alone)(quorum)
        if self.case == "alone, returns":
            quorum.kill(self.follower)
            quorum.run(FETCH_S)
            quorum.heal()
            quorum.run(2 * LONG_S)
            quorum.start(self.follower)
        elif self.case != "alone":
            quorum.kill(self.leader)
        if self.case == "both die":
            quorum.kill(self.follower)
            quorum.run(2 * LONG_S)
            return
        quorum.run(2 * LONG_S)
        quorum.start(self.leader)
        quorum.heal()
        quorum.run(2 * LONG_S)

    def observe(self, quorum: SimulatedQuorum) -> Hashable:
        return frozenset(id for id in (1, 2, 3) if RECORD in quorum.log(id))

    def answers(self) -> Sequence[Answer]:
        two = sorted((self.leader, self.follower))
        return [
            Answer(
                "in none of them",
                frozenset(),
                "A record is truncated only if a leader was elected that does not have it.",
            ),
            Answer(
                "in all three",
                frozenset((1, 2, 3)),
                "Who has it must be elected first, and the others must copy it from there.",
            ),
            Answer(
                f"only in that of controller {self.leader}",
                frozenset((self.leader,)),
                "A controller that is back asks the leader where their logs part, and follows it.",
            ),
            Answer(
                f"only in those of controllers {listed(two)}",
                frozenset(two),
                "As soon as somebody leads, all that live come to have the same log.",
            ),
        ]

    def reason(self, outcome: Hashable) -> str:
        if not outcome:
            return (
                "No majority had the record, and the two others elected a leader without it. Who "
                "follows that leader truncates it."
            )
        if self.case == "both die":
            return (
                f"Controller {self.other} alone is no majority: nobody is elected, and nobody "
                "changes a log."
            )
        voter = self.leader if self.case == "alone, returns" else self.follower
        return (
            f"Only controller {voter} could be elected: its log is longer, so it votes for nobody "
            "else. As leader it has the record, and the others copy it."
        )


class NextActive(QuorumSituation):
    """Logs differ, and somebody dies. Which controller leads?"""

    level, idea, section = 2, "quorum", "kraft#split-text"
    CASES = ("leader dies", "leader dies", "both die", "leader returns", "alone", "follower dies")

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.case = chance.choice(self.CASES)
        leader, follower = self.leader, self.follower
        both = f"{self.with_one} Then controllers {leader} and {follower} are killed."
        self.happens = {
            "leader dies": f"{self.with_one} Then controller {leader} is killed.",
            "both die": both,
            "leader returns": f"{both} Controller {leader} is started again, and the network is "
            "whole.",
            "alone": f"{self.alone} Controller {follower} is killed. Nothing is mended.",
            "follower dies": f"Controller {follower} is killed.",
        }[self.case]
        self.asks = "Which controller leads some seconds later?"

    def strike(self, quorum: SimulatedQuorum) -> None:
        if self.case == "alone":
            self.write_alone(quorum)
        elif self.case != "follower dies":
            self.write_with_one(quorum)
        if self.case in ("leader dies", "both die", "leader returns"):
            quorum.kill(self.leader)
        if self.case != "leader dies":
            quorum.kill(self.follower)
        if self.case == "leader returns":
            quorum.heal()
            quorum.start(self.leader)
        quorum.run(2 * LONG_S)

    def observe(self, quorum: SimulatedQuorum) -> Hashable:
        return NO_BROKER if quorum.leader is None else quorum.leader

    def answers(self) -> Sequence[Answer]:
        return [
            Answer(
                f"controller {self.leader}",
                self.leader,
                "It leads only while it lives, and a majority fetches from it.",
            ),
            Answer(
                f"controller {self.follower}",
                self.follower,
                "It must be alive, and get a vote besides its own.",
            ),
            Answer(
                f"controller {self.other}",
                self.other,
                "A voter whose log is longer does not vote for it.",
            ),
            Answer("none of them", NO_BROKER, "Two that reach each other are a majority of three."),
        ]

    def reason(self, outcome: Hashable) -> str:
        if outcome == NO_BROKER:
            return (
                "No two living controllers reach each other, and one vote of three elects nobody."
            )
        if self.case == "follower dies":
            return "Two of three live, and the leader is one of them: nothing is elected."
        return (
            f"Controller {self.other} lacks the last record, so it gets no vote but its own; "
            f"controller {outcome} gets both."
        )


class MoreDeaths(Situation):
    """Some controllers are dead. How many more may die?"""

    level, idea, section = 1, "quorum", "kraft#four-text"
    SIZES = (
        *((3, 0), (4, 0), (5, 0), (5, 1), (5, 2), (6, 0)),
        *((6, 1), (6, 2), (7, 0), (7, 1), (7, 2), (7, 3)),
    )

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.voters, self.dead = chance.choice(self.SIZES)
        dead = {0: "All of them live.", 1: "One of them is dead."}.get(self.dead)
        self.happens = (
            f"A quorum has {self.voters} controllers. {dead or f'{self.dead} of them are dead.'} "
            "Now one after the other dies, with some time between."
        )
        self.asks = "How many more may die, so that a topic can still be created?"
        self._order = chance.sample(range(1, self.voters + 1), self.voters)

    def outcome(self, timing: int) -> Hashable:
        quorum = SimulatedQuorum(self.voters, seed=timing + 1, delay_ms=DELAYS_MS[timing])
        quorum.until(lambda: quorum.leader)
        for number, id in enumerate(self._order, 1):
            quorum.kill(id)
            quorum.run(2 * LONG_S)
            if number > self.dead and not self._creates(quorum, f"topic {number}"):
                return number - 1 - self.dead
        raise AssertionError("a quorum without controllers creates no topic")

    def _creates(self, quorum: SimulatedQuorum, record: str) -> bool:
        """Whether a record is committed."""
        if (leader := quorum.leader) is None:
            return False
        offset = quorum.append(record)
        quorum.run(LONG_S)
        return quorum.node(leader).high_watermark > offset

    def answers(self) -> Sequence[Answer]:
        live = self.voters - self.dead
        right = live - (self.voters // 2 + 1)
        beliefs = {
            live - 1: "One controller alone cannot know what the dead ones have decided.",
            live // 2: "The majority is one of all voters, also of those that are dead.",
        }
        other = "Count what must be left: more than half of all voters."
        return [
            Answer(str(number), number, beliefs.get(number, other) if number != right else "")
            for number in around(self.chance, right, live - 1, live // 2)
        ]

    def reason(self, outcome: Hashable) -> str:
        majority = self.voters // 2 + 1
        return f"A majority of {self.voters} is {majority}, and so many have to live."


KINDS: dict[str, type[Situation]] = {
    "record-kept": RecordKept,
    "next-active": NextActive,
    "more-deaths": MoreDeaths,
}
