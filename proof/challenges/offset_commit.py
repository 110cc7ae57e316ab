"""Committing offsets: how far has a consumer come that processes several records at a time?

    polled     4   5   6   7   8
    done       x       x   x            the threads that have 5 and 8 are not ready
    commit     5                        a successor begins with 5, and does 6 and 7 again

The rule says what a consumer commits to the group's offsets, which are the coordinator's own. Each
case is a consumer that polls, processes and commits, and dies now and then; a successor begins at
the committed offset.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, Protocol

from engine.coordinator.offsets import GroupOffsets
from engine.coordinator.records import OffsetValue
from engine.model import TopicPartition
from proof.challenges.challenge import Challenge
from proof.challenges.guard import RuleGuard
from proof.challenges.trial import CaseStage, CaseTrial, PromiseBroken

ORDERS = TopicPartition("orders", 0)
POLL = 5  # records at most
GAP = 0.3  # the probability that an offset has no record


class CommitRule(Protocol):
    def offset(
        self,
        polled: tuple[int, ...],
        done: frozenset[int],
        position: int,
        committed: int,
    ) -> int:
        """A consumer commits. Which offset does its successor begin with?

        `polled`: the offsets of the records that it got since `committed`, in order. `done`: those
        of them that it has processed. `position`: where its next poll begins. `committed`: the
        group's offset so far. Offsets may be missing: compaction and markers leave gaps.
        """


class ConsumerLife(NamedTuple):
    offsets: Sequence[int]  # of the records in the log
    steps: Sequence[str]  # "poll", "work", "skip" (a later record is ready first), "commit", "die"

    @property
    def size(self) -> int:
        return len(self.offsets)

    def __str__(self) -> str:
        return f"Records at {', '.join(map(str, self.offsets))}: {' '.join(self.steps)}"


class ThreadedConsumer:
    """A consumer with threads, and the group's offsets at the coordinator."""

    def __init__(self, guard: RuleGuard, offsets: Sequence[int]) -> None:
        self._guard, self._offsets = guard, offsets
        self._group = GroupOffsets()
        self._ever_done: set[int] = set()  # by this one, or one before it
        self._start()

    def _start(self) -> None:
        self._position = self._committed
        self._polled: list[int] = []  # in its life
        self._done: set[int] = set()

    @property
    def _committed(self) -> int:
        value = self._group.stored.get(ORDERS)
        return value.offset if value else 0

    def poll(self) -> None:
        new = [each for each in self._offsets if each >= self._position][:POLL]
        self._polled += new
        self._position = new[-1] + 1 if new else self._position

    def work(self) -> None:
        """The record that was polled first is ready."""
        self._finish([each for each in self._polled if each not in self._done][:1])

    def skip(self) -> None:
        """A thread with a later record is ready first."""
        self._finish([each for each in self._polled if each not in self._done][-1:])

    def _finish(self, records: Sequence[int]) -> None:
        self._done.update(records)
        self._ever_done.update(records)

    def commit(self) -> None:
        before = self._committed
        polled = tuple(each for each in self._polled if each >= before)
        arguments = polled, frozenset(polled) & self._done, self._position, before
        offset = self._guard.call("offset", int, *arguments)
        if offset > self._position:
            raise PromiseBroken(
                f"{offset} is committed, and no record from {self._position} on was polled."
            )
        number = self._group.begin({ORDERS: OffsetValue(offset)})
        self._group.finish(number, written=True)

    def die(self) -> None:
        """Its successor begins: nothing may be left out, and little may be done again."""
        self.commit()
        passed = [each for each in self._offsets if each < self._committed]
        if lost := [each for each in passed if each not in self._ever_done]:
            raise PromiseBroken(
                f"the record at {lost[0]} was in work when {self._committed} was committed. The "
                "consumer has died, and nobody processes it any more."
            )
        rest = [each for each in self._polled if each not in self._done]
        first = rest[0] if rest else self._position
        again = [each for each in self._done if self._committed <= each < first]
        if again:
            raise PromiseBroken(
                f"the record at {min(again)} was done, and all before it, and {self._committed} "
                "was committed: the successor does it again."
            )
        self._start()

    def end(self) -> None:
        """Everything is processed in the end."""
        while self._position <= self._offsets[-1]:
            self.poll()
        self._finish(self._polled)
        self.die()


def check_commits(guard: RuleGuard, case: ConsumerLife) -> None:
    consumer = ThreadedConsumer(guard, case.offsets)
    for step in case.steps:
        getattr(consumer, step)()
    consumer.end()


# -- cases -----------------------------------------------------------------------------------


def _drawn(chance: Random, size: int, kinds: Sequence[str], gap: float = 0) -> ConsumerLife:
    count = chance.randint(max(1, size // 4), size)
    offsets = [each for each in range(2 * count) if chance.random() >= gap][:count] or [0]
    return ConsumerLife(offsets, [chance.choice(kinds) for _ in range(3 * count)])


def _in_order(chance: Random, size: int) -> ConsumerLife:
    """A poll, all of its records, a commit."""
    count = chance.randint(1, size)
    return ConsumerLife(range(count), ["poll", *["work"] * POLL, "commit"] * (count // POLL))


def _threads(chance: Random, size: int) -> ConsumerLife:
    return _drawn(chance, size, ("poll", "work", "skip", "skip", "commit"))


def _crashes(chance: Random, size: int) -> ConsumerLife:
    return _drawn(chance, size, ("poll", "work", "skip", "skip", "commit", "die"))


def _everything(chance: Random, size: int) -> ConsumerLife:
    return _drawn(chance, size, ("poll", "work", "skip", "skip", "commit", "die"), GAP)


CHALLENGE = Challenge(
    "commit-offsets",
    "Which offset does a consumer commit?",
    "offsets",
    CommitRule,
    CaseTrial(
        check_commits,
        "record",
        (
            CaseStage("in order", _in_order),
            CaseStage("several threads", _threads),
            CaseStage("crashes", _crashes),
            CaseStage("everything", _everything),
        ),
    ),
    naive="""class Mine:
    def offset(self, polled, done, position, committed):
        return position
""",
    hints=(
        "A committed offset says: everything before it is done. A poll alone does nothing.",
        "One record that is still in work holds back all that come after it.",
        "Commit the first polled offset that is not done; if all are done, the position. Do not "
        "count: there are gaps.",
    ),
    read="engine/client/listener/ack_mode.py and engine/coordinator/offsets.py",
)
