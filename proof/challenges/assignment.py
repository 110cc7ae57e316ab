"""An assignor that moves little: who reads which partition after a rebalance?

    before     a: 0 2 4   b: 1 3 5              even, and each partition has one owner
    c joins    a: 0 2     b: 1 3     c: 4 5     even again, and two partitions have moved

The rule is called as the leader of a group calls an assignor. Each case is a group in which members
come and go; what a member owned is what the rule has given to it before.
"""

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple, Protocol

from engine.assignors import Assignor, Subscriber, sticky
from engine.assignors.member import Counts, Shares
from engine.model import TopicPartition
from proof.challenges.challenge import Challenge
from proof.challenges.guard import RuleGuard
from proof.challenges.trial import CaseStage, CaseTrial, PromiseBroken

TOPIC = "orders"
NAMES = "abcdefghijkl"
MOST_PARTITIONS = 24


class AssignorRule(Protocol):
    def assign(
        self,
        members: tuple[str, ...],
        partitions: int,
        owned: Mapping[str, tuple[int, ...]],
    ) -> dict[str, list[int]]:
        """Who reads which partition of the topic?

        `members`: all members of the group. `partitions`: there are so many, from 0 on. `owned`:
        what each member says that it has had, which may be out of date: another one may say the
        same, or the partition may be gone. Return the partitions of each member.
        """


class ChangingGroup(NamedTuple):
    """Rebalances: the members that are there, and the number of partitions."""

    rebalances: tuple[tuple[str, int], ...]  # "abd": the members a, b and d
    liar: bool = False  # a member says that it has what it had long ago

    @property
    def size(self) -> int:
        return sum(len(members) for members, _ in self.rebalances)

    def __str__(self) -> str:
        told = (f"{' '.join(members)} share {count}" for members, count in self.rebalances)
        return f"Members and partitions: {'; then '.join(told)}"


def put_assignor(guard: RuleGuard) -> Assignor:
    def assign(members: Any, counts: Counts) -> Shares:
        ids = tuple(member.id for member in members)
        owned = {it.id: tuple(each.partition for each in it.owned) for it in members}
        found = guard.call("assign", dict, ids, counts[TOPIC], owned)
        for member, numbers in found.items():
            whole = isinstance(numbers, list | tuple) and all(type(it) is int for it in numbers)
            if not whole:
                guard.refuse("assign", found, f"a list of partitions for {member!r}")
        return {
            member: tuple(TopicPartition(TOPIC, number) for number in numbers)
            for member, numbers in found.items()
        }

    return Assignor("mine", "", assign)


def check_assignor(guard: RuleGuard, case: ChangingGroup) -> None:
    assignor = put_assignor(guard)
    shares: Shares = {}
    first: Shares = {}
    for generation, (ids, count) in enumerate(case.rebalances, 1):
        members = [
            Subscriber(each, (TOPIC,), owned=shares.get(each, ()), generation=generation)
            for each in ids
        ]
        if case.liar and first:
            members[0] = members[0]._replace(owned=first.get(ids[0], ()))
        counts = {TOPIC: count}
        shares = assignor.assign(members, counts)
        _check_shares(shares, ids, count)
        if not case.liar:
            _check_moves(members, counts, shares)
        first = first or shares


def _check_shares(shares: Shares, ids: str, count: int) -> None:
    if strangers := sorted(set(shares) - set(ids), key=str):
        raise PromiseBroken(f"{strangers[0]} is no member, and it has partitions.")
    owners: dict[int, str] = {}
    for member, partitions in shares.items():
        for _, number in partitions:
            if number in owners:
                raise PromiseBroken(
                    f"partition {number} belongs to {owners[number]} and to {member}: each record "
                    "is read twice."
                )
            if not 0 <= number < count:
                raise PromiseBroken(f"{member} has partition {number}, and there are {count}.")
            owners[number] = member
    if missing := sorted(set(range(count)) - set(owners)):
        raise PromiseBroken(f"nobody reads partition {missing[0]}.")
    sizes = {member: len(shares.get(member, ())) for member in ids}
    most, least = max(sizes, key=lambda it: sizes[it]), min(sizes, key=lambda it: sizes[it])
    if sizes[most] - sizes[least] > 1:
        raise PromiseBroken(
            f"{most} has {sizes[most]} partitions, and {least} has {sizes[least]}: not even."
        )


def _check_moves(members: list[Subscriber], counts: Counts, shares: Shares) -> None:
    moved, needed = _moves(members, shares), _moves(members, sticky.assign(members, counts))
    if moved > needed:
        raise PromiseBroken(
            f"{moved} partitions have moved away from a member that had them, and {needed} are "
            "enough."
        )


def _moves(members: list[Subscriber], shares: Shares) -> int:
    return sum(len(set(member.owned) - set(shares.get(member.id, ()))) for member in members)


# -- cases -----------------------------------------------------------------------------------


def _members(chance: Random, size: int) -> str:
    most = max(1, min(len(NAMES), size))
    return NAMES[: chance.randint(max(1, most // 2), most)]


def _first(chance: Random, size: int) -> ChangingGroup:
    return ChangingGroup(((_members(chance, size), chance.randint(1, MOST_PARTITIONS)),))


def _leave(chance: Random, size: int) -> ChangingGroup:
    count = chance.randint(2, MOST_PARTITIONS)
    ids = _members(chance, max(2, size // 2))
    rebalances = [(ids, count)]
    while len(ids) > 1 and sum(len(each) for each, _ in rebalances) + len(ids) - 1 <= size:
        ids = ids.replace(chance.choice(ids), "")
        rebalances.append((ids, count))
    return ChangingGroup(tuple(rebalances))


def _join(chance: Random, size: int) -> ChangingGroup:
    return ChangingGroup(_leave(chance, size).rebalances[::-1])


def _everything(chance: Random, size: int) -> ChangingGroup:
    ids, count = _members(chance, max(2, size // 4)), chance.randint(1, MOST_PARTITIONS)
    rebalances = [(ids, count)]
    while True:
        stay = "".join(each for each in ids if chance.random() < 0.7)
        new = "".join(each for each in NAMES if each not in ids and chance.random() < 0.15)
        ids, count = (stay + new) or chance.choice(NAMES), count + chance.choice((0, 0, -1, 3))
        count = max(1, count)
        if sum(len(each) for each, _ in rebalances) + len(ids) > size:
            return ChangingGroup(tuple(rebalances), liar=chance.random() < 0.4)
        rebalances.append((ids, count))


CHALLENGE = Challenge(
    "move-little",
    "Who reads which partition?",
    "rebalance",
    AssignorRule,
    CaseTrial(
        check_assignor,
        "member",
        (
            CaseStage("first assignment", _first),
            CaseStage("members leave", _leave),
            CaseStage("members join", _join),
            CaseStage("everything", _everything),
        ),
    ),
    naive="""class Mine:
    def assign(self, members, partitions, owned):
        return {
            member: list(range(place, partitions, len(members)))
            for place, member in enumerate(members)
        }
""",
    hints=(
        "A consumer that loses a partition has to stop, commit and forget what it knows. Begin "
        "with what each one has.",
        "Each member gets partitions // members, and the first few one more. Which of those that "
        "have too many keep the one more?",
        "Check each claim first: the partition exists, and nobody else claims it. Then cut those "
        "that have too many, and give what is left to those that have too few.",
    ),
    read="engine/assignors/sticky.py, _dealt",
)
