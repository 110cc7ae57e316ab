"""The exercises of 03_rebalance, from easy to hard. Answers are in labs/answers/rebalance.py.

1  a group in which nobody is idle        4  range, by hand
2  a group that goes back                 5  an assignor, which then serves a real group
3  the partition of a group               6  a restart without a rebalance
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from engine import Cluster
from engine.assignors import ASSIGNORS, Assignor, Subscriber, sticky
from engine.assignors.member import Counts, Shares
from engine.assignors.protocol import decode_member_data
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from engine.coordinator.owned_partitions import partition_of
from engine.model import TopicPartition
from engine.table import Table
from rebalance import stand
from rebalance.strategies import plan
from rebalance.team import Team
from widgets import Check, Trial
from widgets.exercise import agrees_with
from widgets.log.fields import count

KITCHEN, MENU = "kitchen", "menu"
AUDIT, RECEIPTS, BACK_TO = "audit", "receipts", 5
SHOP = "shop"
MINE = "mine"  # the learner's strategy


def topic_for(cluster: Cluster, topic: str, partitions: int) -> None:
    """A topic that may be there already, as cells may run twice."""
    if not stand.partitions(cluster, topic):
        cluster.topic(topic, partitions=partitions)


# -- 1 ------------------------------------------------------------------------------------------


def nobody_idle(cluster: Cluster) -> Check:
    topic_for(cluster, MENU, 3)
    return Check(
        f"The group {KITCHEN} reads the three partitions of {MENU}, and each member has just one",
        cluster,
        each_has_one,
        hint="How many members can have one partition each, if there are three? Press + consumer.",
    )


def each_has_one(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
    group = state.groups.get(KITCHEN)
    if group is None or not group.members:
        return f"{KITCHEN} has no members"
    shares = [it.share or () for it in group.members.values()]
    if group.state != "Stable":
        return f"{KITCHEN} is just rebalancing"
    if any(not it for it in shares):
        return f"{sum(not it for it in shares)} of {len(shares)} members have nothing to read"
    owned = {each for share in shares for each in share}
    if owned != {f"{MENU}-{number}" for number in range(3)}:
        return f"of {MENU} they read only {', '.join(sorted(owned)) or 'nothing'}"
    large = max(map(len, shares))
    return "" if large == 1 else f"a member has {large} partitions"


# -- 2 ------------------------------------------------------------------------------------------


def put_back(cluster: Cluster) -> Check:
    """The group has read all twenty records, and nobody is in it."""
    topic_for(cluster, RECEIPTS, 1)
    if AUDIT not in cluster.state().groups:
        stand.fill(cluster, RECEIPTS, 20)
        with Team(cluster, RECEIPTS, group=AUDIT) as team:
            team.add("auditor")
            team.settle()
            team.await_read(20)
            team.commit()
    return Check(
        f"The group {AUDIT} goes on from record {BACK_TO} of {RECEIPTS}",
        cluster,
        is_back,
        hint="A consumer with that group.id can commit any offset: commit(offsets=[...]).",
    )


def is_back(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
    group = state.groups.get(AUDIT)
    offset = group.offsets.get(f"{RECEIPTS}-0") if group else None
    return "" if offset == BACK_TO else f"{AUDIT} goes on from {offset}"


# -- 3 ------------------------------------------------------------------------------------------

GROUPS = [(name, 50) for name in ("testGroup", "default-group", "a", "", "zürich", "x" * 40)]
GROUPS += [("billing", 7), ("polygenelubricants", 50), ("DESIGNING WORKHOUSES", 50)]


def home_of() -> Trial:
    return Trial(
        "The partition of __consumer_offsets that belongs to a group",
        agrees_with(partition_of, GROUPS),
        hint="h = 31 * h + code, for each character, in 32 bits with a sign; then its absolute "
        "value (of the least number: 0), modulo the number of partitions.",
    )


# -- 4 ------------------------------------------------------------------------------------------

CROWDS = [
    (["a", "b", "c"], 10),
    (["a", "b"], 7),
    (["c", "b", "a"], 4),
    (["a"], 3),
    (list("abcd"), 2),
]


def by_range() -> Trial:
    return Trial(
        "range for one topic: from the members' names and the number of partitions, "
        '{"a": [0, 1], "b": [2]}',
        agrees_with(_range, CROWDS),
        hint="divmod(partitions, members) tells how many each has, and how many have one more.",
    )


def _range(members: Sequence[str], partitions: int) -> Mapping[str, list[int]]:
    return plan("range", members, partitions)


# -- 5 ------------------------------------------------------------------------------------------

Assign = Callable[[Sequence[Subscriber], Counts], Shares]


def few_moves() -> Trial:
    return Trial(
        "An assignor that is even, and moves no partition that need not move",
        is_sticky,
        hint="Let each member keep what it owned, up to its quota; then deal out what is left.",
    )


def histories() -> Iterator[tuple[list[Subscriber], Counts]]:
    """Members with what they owned; all want all topics."""
    topics = {"orders": 10}
    yield [Subscriber(name, ("orders",)) for name in "abc"], topics
    for had in (
        {"a": range(10), "b": ()},
        {"a": range(4), "b": range(4, 7)},
        {"a": range(5), "b": range(5, 10), "c": ()},
        {"a": (0, 3, 6, 9), "b": (1, 4, 7), "c": (2, 5, 8), "d": ()},
        {"a": (), "b": (), "c": (9, 8, 7)},
    ):
        yield [_member(name, owned) for name, owned in had.items()], topics
    yield [_member(name, ()) for name in "abcdef"], {"orders": 4}
    yield [_member("a", range(6)), _member("b", range(6, 12))], {"orders": 13}
    yield [Subscriber(name, ("pizzas",)) for name in "ab"], {"pizzas": 5}
    both = ("orders", "pizzas")
    yield [Subscriber(name, both) for name in "abc"], {"orders": 3, "pizzas": 4}


def _member(name: str, owned: Sequence[int]) -> Subscriber:
    places = tuple(TopicPartition("orders", number) for number in owned)
    return Subscriber(name, ("orders",), places, generation=1)


def is_sticky(assign: Assign) -> str:
    """What is wrong with it: the rules that the engine's own assignor is tested by."""
    for members, counts in histories():
        case = f"with {_told(members)} of {sum(counts.values())}"
        try:
            assigned = assign(list(members), dict(counts))  # its own copies: it may change them
            shares = _known(assigned)
            given = sorted(it for share in shares.values() for it in share)
        except Exception as error:  # the learner's, and told
            return f"{case} it raises {type(error).__name__}: {error}"
        wanted = [TopicPartition(topic, it) for topic, n in counts.items() for it in range(n)]
        if set(shares) != {member.id for member in members}:
            return f"{case} it knows of {sorted(map(str, shares))}"
        if given != sorted(wanted):
            out = [f"{topic} {number}" for topic, number in given]
            return f"{case} it gives out {out}, and not each partition once"
        sizes = [len(share) for share in shares.values()]
        if max(sizes) - min(sizes) > 1:
            return f"{case} one has {max(sizes)} and another {min(sizes)}"
        lost, least = _lost(members, shares), _lost(members, sticky.assign(members, counts))
        if lost > least:
            return f"{case} it takes {lost} away from who had them, and {least} would do"
    return ""


def _known(assigned: Mapping[str, Iterable[Any]]) -> dict[str, list[TopicPartition]]:
    """The shares, with the engine's own partitions. A client's partition has the same fields."""
    return {
        name: [TopicPartition(it.topic, it.partition) for it in share]
        for name, share in assigned.items()
    }


def _lost(members: Sequence[Subscriber], shares: Mapping[str, Sequence[TopicPartition]]) -> int:
    return sum(it not in shares[member.id] for member in members for it in member.owned)


def _told(members: Sequence[Subscriber]) -> str:
    return ", ".join(f"{it.id} owning {len(it.owned)}" for it in members)


def serve(cluster: Cluster, assign: Assign) -> "ServedGroup":
    """Three consumers that use it, on the brokers; then one of them goes.

    One that is not right yet is not let near a group: its leader would fall, and all would wait.
    """
    if wrong := is_sticky(assign):
        return ServedGroup([], [], wrong)
    topic = cluster.topic("orders", partitions=6)
    steps: list[tuple[str, object]] = []
    with _registered(assign), Team(cluster, topic, partition_assignment_strategy=MINE) as team:
        for name in "abc":
            team.add(name)
            steps.append((f"{name} comes", team.settle()))
        team.leave("a")
        steps.append(("a goes", team.settle()))
        return ServedGroup(steps, sorted({each.protocol for each in team.generations()}))


@dataclass
class ServedGroup:
    steps: Sequence[tuple[str, object]]
    protocols: list[str]
    wrong: str = ""  # why it was not let near a group

    def __repr__(self) -> str:
        if self.wrong:
            return f"Not yet: {self.wrong}."
        used = ", ".join(self.protocols)
        return repr(Table((f"by {used}" if used else "", "who reads what"), self.steps))


@contextmanager
def _registered(assign: Assign) -> Iterator[None]:
    """A row in the table of strategies, for a while."""
    table = cast(dict[str, Assignor], ASSIGNORS)

    def remembering(members: Sequence[Subscriber], counts: Counts) -> Shares:
        shares = _known(assign([_with_past(member) for member in members], counts))
        return {name: tuple(share) for name, share in shares.items()}

    table[MINE] = Assignor(MINE, "", remembering, sticky.user_data)
    try:
        yield
    finally:
        del table[MINE]


def _with_past(member: Subscriber) -> Subscriber:
    """An eager member gives up all it has before it joins, and says in a note what that was."""
    if not member.user_data:
        return member
    partitions, generation = decode_member_data(member.user_data)
    return member._replace(owned=partitions, generation=generation)


# -- 6 ------------------------------------------------------------------------------------------


def unnoticed(cluster: Cluster) -> Check:
    topic_for(cluster, "goods", 2)
    return Check(
        f"A consumer of the group {SHOP} is started again, and nobody has to rebalance for it",
        cluster,
        came_back,
        hint="Give it a group.instance.id, let it go, and add it again under the same id.",
    )


def came_back(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
    """A static member is there under a new member id, in the generation of the old one."""
    known: dict[str, int] = {}  # rebalances that had been begun when an instance came
    begun = 0
    for each in events:
        if each.data.get("group") != SHOP:
            continue
        if each.kind == "group.state" and each.data["now"] == "PreparingRebalance":
            begun += 1
        if each.kind == "group.member" and each.data["what"] == "fenced":
            known[each.data["instance"]] = begun
        if each.kind == "group.member" and each.data["what"] == "joined":
            instance = each.data["instance"]
            if instance in known and known[instance] == begun:
                return ""
    if not begun:
        return f"nobody has joined {SHOP} yet"
    return (
        f"{SHOP} has begun {count(begun, 'rebalance')}, and no static member came back without one"
    )
