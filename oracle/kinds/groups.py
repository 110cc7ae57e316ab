"""Questions on groups: who owns which partitions, and how many move."""

from collections.abc import Hashable, Sequence
from random import Random

from engine import assignors
from engine.assignors.member import Counts, Shares, Subscriber
from engine.model import TopicPartition
from oracle.situation import Answer, Situation, around

MEMBERS = ("ann", "bob", "cid", "dan")
STRATEGIES = ("range", "roundrobin", "sticky")


def assigned(strategy: str, members: Sequence[Subscriber], counts: Counts) -> Shares:
    return assignors.find(strategy).assign(members, counts)


def subscribed(
    strategy: str, names: Sequence[str], topics: Sequence[str], before: Shares, generation: int
) -> list[Subscriber]:
    """The members as they join again; an eager one owns nothing, but remembers what it had."""
    remember = assignors.find(strategy).user_data
    return [
        Subscriber(name, tuple(topics), user_data=remember(before.get(name), generation))
        for name in names
    ]


def shown(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, partitions)) or "none"


class Assigned(Situation):
    """A group shares partitions. Who gets which?"""

    level, idea, section = 1, "assignment", "rebalance#strategies"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.names = MEMBERS[: chance.randint(2, 3)]
        self.topics = ("orders", "sales")[: chance.randint(1, 2)]
        counts = [3, 4, 5, 7] if len(self.names) == 2 else [2, 4, 5, 7]
        self.counts = {topic: chance.choice(counts) for topic in self.topics}
        self.strategy = chance.choice(["range", "roundrobin"])
        self.member = chance.choice(self.names)
        self.happens = (
            f"They join for the first time, with partition.assignment.strategy={self.strategy}."
        )
        self.asks = f"Which partitions does {self.member} get?"

    def _members(self) -> list[Subscriber]:
        return subscribed(self.strategy, self.names, self.topics, {}, 0)

    def outcome(self, timing: int) -> Hashable:
        members = self._members()
        self.chance.shuffle(members)  # the order in which they come does not matter
        return frozenset(assigned(self.strategy, members, self.counts)[self.member])

    def facts(self) -> list[str]:
        topics = " and ".join(f"{name} has {n} partitions" for name, n in self.counts.items())
        return [f"A group: {', '.join(self.names)}. Each subscribes to every topic.", f"{topics}."]

    def answers(self) -> Sequence[Answer]:
        place = self.names.index(self.member)
        every = [TopicPartition(t, n) for t, count in self.counts.items() for n in range(count)]
        ranges = assigned("range", self._members(), self.counts)
        rounds = assigned("roundrobin", self._members(), self.counts)
        size = -(-len(every) // len(self.names))
        choices: list[tuple[Sequence[TopicPartition], str]] = [
            (ranges[self.member], "roundrobin deals the partitions out, one after the other."),
            (rounds[self.member], "range cuts each topic into runs."),
            (
                every[place * size : (place + 1) * size],
                "range cuts each topic by itself, not all partitions at once.",
            ),
            (
                rounds[self.names[place - 1]],
                "The members are dealt to in the order of their names.",
            ),
            (ranges[self.names[place - 1]], "The members are in the order of their names."),
        ]
        found = dict[Hashable, Answer]()
        for partitions, belief in choices:
            key = frozenset(partitions)
            found.setdefault(key, Answer(shown(partitions), key, belief))
        return list(found.values())[:4]

    def reason(self, outcome: Hashable) -> str:
        if self.strategy == "range":
            return (
                "range cuts each topic into one run for each member, in the order of their names; "
                "the first ones get one more if it does not come out even."
            )
        return "roundrobin deals all partitions of all topics out, one to each member in turn."


class Moved(Situation):
    """Somebody leaves or joins. How many partitions get another owner?"""

    level, idea, section = 2, "assignment", "rebalance#strategies"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        count = chance.randint(2, 4)
        self.names = list(MEMBERS[:count])
        self.counts = {"orders": chance.choice([6, 8, 9, 12])}
        self.strategy = chance.choice([*STRATEGIES, "sticky"])
        self.joins = count == 2 or (count < 4 and chance.random() < 0.5)
        self.leaver = chance.choice(self.names)
        what = f"{MEMBERS[count]} joins." if self.joins else f"{self.leaver} leaves."
        self.happens = f"{what} The strategy is {self.strategy}."
        self.asks = "How many partitions have another owner afterwards than before?"

    def _shares(self, timing: int) -> tuple[Shares, Shares]:
        first = subscribed(self.strategy, self.names, ["orders"], {}, 0)
        before = assigned(self.strategy, first, self.counts)
        names = [*self.names, MEMBERS[len(self.names)]] if self.joins else self.names
        after = [name for name in names if self.joins or name != self.leaver]
        members = subscribed(self.strategy, after, ["orders"], before, 1)
        Random(timing).shuffle(members)
        return before, assigned(self.strategy, members, self.counts)

    def outcome(self, timing: int) -> Hashable:
        before, after = self._shares(timing)
        owner = {each: name for name, partitions in after.items() for each in partitions}
        return sum(owner[each] != name for name, them in before.items() for each in them)

    def facts(self) -> list[str]:
        before, _ = self._shares(0)
        found = [f"{name}: {shown(partitions)}" for name, partitions in before.items()]
        return ["Before: " + "; ".join(found) + "."]

    def answers(self) -> Sequence[Answer]:
        total = self.counts["orders"]
        size = len(self.names)
        few = total // (size + 1) if self.joins else -(-total // size)
        right = self.outcome(0)
        assert isinstance(right, int)
        chosen = around(self.chance, right, few, total, total - few, few + 1)
        beliefs = {
            total: "Who stays does not lose everything.",
            few: "This strategy does not remember who had what, and deals anew.",
        }
        return [Answer(str(n), n, beliefs.get(n, "Deal them out, and compare.")) for n in chosen]

    def reason(self, outcome: Hashable) -> str:
        if self.strategy == "sticky":
            return "sticky moves only what has to move until the shares are even."
        return f"{self.strategy} knows only names and numbers: it deals all partitions anew."


KINDS: dict[str, type[Situation]] = {"assigned": Assigned, "moved": Moved}
