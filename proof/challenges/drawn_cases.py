"""The last stage of rules that storms try: one decision, with its arguments drawn.

    may_join(end=7, high_watermark=5, epoch_start=9)  ──> True: a follower lacks records that may
                                                          be committed

Most storms never come to some decisions: whoever is away comes back, and a producer that is refused
begins anew. So a rule may be wrong there and survive. A case shows the arguments, which a learner
can read and try.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Any, NamedTuple

from engine.model import NO_BROKER
from proof.challenges.guard import RuleGuard
from proof.challenges.trial import CaseStage, CaseTrial, PromiseBroken

STAGE = "drawn cases"
CALLS = 8  # of a rule, in one attempt: each kind of arguments comes in some of them
SIZE = 12  # of a case: the largest offset or epoch in it, or about so
FOLLOWERS = (2, 3, 4)
STORED = 5  # batches that a broker remembers
SEQUENCES = "newer gap", "newer again", "newer", "again", "part", "old", "gap", "next"
OUTSIDE = -1  # the generation of a consumer that is in no group


class DrawnCase(NamedTuple):
    """One call of a rule."""

    method: str
    arguments: Mapping[str, Any]
    size: int
    broken: Callable[[Any], str]  # what a result breaks; "": nothing

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.method}({told})"


def drawn(draw: Callable[[Random, int], DrawnCase], result: type, unit: str) -> CaseTrial:
    """A trial with this stage alone."""

    def check(guard: RuleGuard, case: DrawnCase) -> None:
        check_drawn(guard, case, result)

    return CaseTrial(check, unit, [CaseStage(STAGE, draw, CALLS)], SIZE)


def check_drawn(guard: RuleGuard, case: DrawnCase, result: type) -> None:
    found = guard.call(case.method, result, *case.arguments.values())
    if text := case.broken(found):
        raise PromiseBroken(f"{case.method} returns {found!r}: {text}")


def high_watermark(chance: Random, size: int) -> DrawnCase:
    end = chance.randint(1, size)
    ends = {broker: chance.randint(0, end) for broker in FOLLOWERS}
    parts = {broker: chance.choice(("isr", "joining", "away")) for broker in ends}
    isr, joining = ({it for it in ends if parts[it] == part} for part in ("isr", "joining"))
    old = chance.randint(0, chance.choice((0, end)))
    had = min([end, *(ends[broker] for broker in isr | joining)])

    def broken(found: int) -> str:
        if found < old:
            return f"the high watermark goes back from {old}, and what was read is gone."
        if found > max(had, old):
            return f"not everyone in the ISR, or joining it, has the records from {had} on."
        if found < had:
            return f"all in the ISR, or joining it, have what is below {had}: acks=all waits."
        return ""

    arguments = {"end": end, "ends": ends, "isr": isr, "joining": joining, "old": old}
    return DrawnCase("high_watermark", arguments, end, broken)


def join(chance: Random, size: int) -> DrawnCase:
    mark, start = chance.randint(0, size), chance.randint(0, size)
    end = max(0, chance.choice((mark, start)) + chance.choice((-1, 0, 1)))

    def broken(joins: bool) -> str:
        if joins and end < mark:
            return f"the follower lacks committed records, from {end} on."
        if joins and end < start:
            return f"the follower lacks records below {start}, which may be committed."
        if not joins and end >= max(mark, start):
            return "the follower has all that may be committed, and never joins."
        return ""

    arguments = {"end": end, "high_watermark": mark, "epoch_start": start}
    return DrawnCase("may_join", arguments, max(1, end, mark, start), broken)


def truncate(chance: Random, size: int) -> DrawnCase:
    """Two logs, as the epoch of each record: the same at first, and then each has its own."""
    shared = sorted(chance.randint(0, 2) for _ in range(chance.randint(1, max(1, size // 3))))
    last = shared[-1]
    mine, theirs = list(shared), list(shared)
    longer = chance.choice((mine, theirs))
    longer += [last] * chance.randint(0, 2)
    for epoch in range(last + 1, last + 1 + max(1, size // 3)):
        one = chance.choice((mine, theirs))
        one += [epoch] * chance.randint(1, 2)
    epochs, leaders = entries(mine), entries(theirs)
    epoch = max(known for known, _ in leaders if known <= mine[-1])
    end = min((start for known, start in leaders if known > epoch), default=len(theirs))
    ours = min((start for known, start in epochs if known > epoch), default=len(mine))
    most = min(ours, end) if epoch in mine else ours
    committed = chance.randint(0, len(shared))

    def broken(found: int) -> str:
        if found < committed:
            return f"the records up to {committed} are committed, and some are cut."
        if most < found and most < len(mine):
            return (
                f"offset {most}, of epoch {mine[most]}, is not in the leader's log, and it stays."
            )
        return ""

    arguments = {
        "epochs": epochs,
        "log_end": len(mine),
        "high_watermark": chance.randint(0, committed),
        "epoch": epoch,
        "end": end,
    }
    return DrawnCase("cut", arguments, max(len(mine), len(theirs)), broken)


def entries(log: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Each epoch of a log, and its first offset."""
    return tuple((epoch, log.index(epoch)) for epoch, _ in groupby(log))


def fence(chance: Random, size: int) -> DrawnCase:
    known = chance.randint(0, size)
    epoch = max(0, known + chance.choice((-1, 0, 1, 1)))
    method = chance.choice(("obey", "serve", "serve"))

    def broken(yes: bool) -> str:
        if yes and epoch < known:
            return f"the one of epoch {epoch} does not know that epoch {known} has begun."
        if yes and epoch > known and method == "serve":
            return f"in epoch {epoch}, of which this broker has not heard, another one may lead."
        if not yes and (epoch == known or (epoch > known and method == "obey")):
            return f"nobody is known to have replaced the one of epoch {epoch}."
        return ""

    return DrawnCase(method, {"epoch": epoch, "known": known}, max(1, epoch, known), broken)


def sequences(chance: Random, size: int) -> DrawnCase:
    """A producer that is new, goes on, repeats all or a part of a batch, leaves a gap, or has a
    newer epoch."""
    kind = chance.choice((*SEQUENCES, "again"))
    since = 0 if kind == "newer again" else chance.randint(1, 9)
    stored = tuple(batches(chance, since, int(kind != "next"), min(size, STORED)))
    follows = stored[-1][1] + 1 if stored else 0
    first = {"next": follows, "gap": follows + chance.randint(1, 3), "newer": 0}.get(kind, 1)
    last, right = first + chance.randint(0, 2), -1 if kind in ("next", "newer") else -2
    if kind in ("again", "part", "newer again"):
        place = chance.randrange(len(stored)) if kind != "newer again" else 0
        right = {"again": place, "part": -2}.get(kind, -1)
        first, last = stored[place]
    if kind == "part":
        last = chance.choice([it for it in range(first, last + 4) if it != last])
    if kind == "old":
        first = chance.randrange(stored[0][0])
        last = min(first + 2, stored[0][0] - 1)
    told = {
        "next": "this batch follows on the last one, and is to be appended.",
        "again": f"this batch is stored at place {right}, and its offset is to be answered.",
        "part": f"no stored batch goes from {first} to {last}: whoever takes it for one of them "
        "acknowledges records that are not stored, or others.",
        "old": "this batch is older than the stored ones: it was appended, and is to be refused.",
        "gap": "batches between the last one and this one are missing.",
        "newer": "a newer epoch begins at 0, and this batch is to be appended.",
        "newer again": "the stored batches are of the epoch before: this one is another, and is to "
        "be appended.",
        "newer gap": "a newer epoch begins at 0, and this batch does not.",
    }
    arguments = {"first": first, "last": last, "newer": "newer" in kind, "stored": stored}
    size = max(1, len(stored))
    return DrawnCase("place", arguments, size, lambda found: "" if found == right else told[kind])


def batches(chance: Random, first: int, least: int, most: int) -> Iterator[tuple[int, int]]:
    """First and last sequence number of one batch after another."""
    for _ in range(chance.randint(least, most)):
        last = first + chance.randint(0, 2)
        yield first, last
        first = last + 1


def generation(chance: Random, size: int) -> DrawnCase:
    """A consumer of this generation, of an earlier or later one, or in no group."""
    kind = chance.choice(("early", "owner", "owner", "outside", "late", "undecided", "unknown"))
    current = chance.randint(1, size)
    mine = {"early": current - 1, "late": current + 1, "outside": OUTSIDE}.get(kind, current)
    member, decided = kind not in ("outside", "unknown"), kind != "undecided"

    def broken(taken: bool) -> str:
        if taken and mine == OUTSIDE:
            return "it is in no group, and this group has members, who own the partitions."
        if taken and not member:
            return "the group does not know this consumer."
        if taken and mine > current:
            return f"the group has come to generation {current} only, and knows of no {mine}."
        if taken and mine < current:
            return f"since generation {mine} its partitions may have got another owner."
        if taken and not decided:
            return f"generation {current} has no assignment yet: nobody knows whose offset it is."
        if not taken and member and decided and mine == current:
            return "this member owns its partitions, and cannot commit."
        return ""

    arguments = {"generation": mine, "current": current, "member": member, "decided": decided}
    return DrawnCase("may_commit", arguments, current, broken)


def stable(chance: Random, size: int) -> DrawnCase:
    """Transactions that are open, or have a marker that is replicated or not."""
    mark = chance.randint(1, size)
    opened = sorted(chance.sample(range(size + 1), chance.randint(0, 2)))
    markers = [max(1, mark + chance.choice((-2, -1, 0, 1))) for _ in range(chance.randint(0, 2))]
    ended = [(chance.randrange(last), last) for last in sorted(markers)]
    begun = [*opened, *(first for first, last in ended if last >= mark)]
    right = min([mark, *begun])

    def broken(found: int) -> str:
        if min(found, mark) > right:  # beyond the high watermark nobody reads
            return f"whether the record at {right} counts may still change."
        if found < right:
            return f"it is decided which records below {right} count, and they are kept back."
        return ""

    arguments = {"high_watermark": mark, "open": tuple(opened), "ended": tuple(ended)}
    return DrawnCase("last_stable", arguments, max(1, len(opened) + len(ended)), broken)


def election(chance: Random, size: int) -> DrawnCase:
    brokers = range(1, chance.randint(3, 5) + 1)
    candidates = tuple(chance.sample(brokers, len(brokers)))[: chance.choice((1, 5, 5))]
    isr = tuple(chance.sample(brokers, chance.randint(1, len(brokers))))
    live = frozenset(it for it in brokers if chance.random() < 0.8)
    fit = [it for it in candidates if it in isr and it in live]
    right = fit[0] if fit else NO_BROKER

    def broken(found: int) -> str:
        if found == right:
            return ""
        if found == NO_BROKER:
            return f"broker {right} lives and has each committed record: nobody has to wait."
        if found not in candidates:
            return f"it is not one of {list(candidates)}."
        if found not in live:
            return f"broker {found} does not live."
        if found not in isr:
            return f"broker {found} may lack a committed record."
        return f"broker {right} stands before it among the candidates, and may lead, too."

    arguments = {"candidates": candidates, "isr": isr, "live": live}
    return DrawnCase("leader", arguments, len(brokers), broken)


def lag(chance: Random, size: int) -> DrawnCase:
    most = chance.choice((500, 4000, 30_000))
    behind = chance.choice((most // 2, most - 1, most + 1, 2 * most))
    leader_end = chance.randint(1, size)
    end = leader_end - chance.choice((0, 1, chance.randint(1, leader_end)))

    def broken(leaves: bool) -> str:
        if leaves and end == leader_end:
            return "it has all records, however long nobody has written."
        if leaves and behind < most:
            return f"it may be behind for {most} ms."
        if not leaves and end < leader_end and behind > most:
            return f"it is behind for more than {most} ms, and acks=all waits for it."
        return ""

    told = {"end": end, "leader_end": leader_end, "behind_ms": behind, "max_lag_ms": most}
    return DrawnCase("must_leave", told, 1, broken)
