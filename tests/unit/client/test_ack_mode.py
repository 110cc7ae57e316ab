"""When each ack mode commits, told as stories: polls of records, and what is committed when.

r 3        the listener returns from 3 records      a 3   acknowledge() is called for 3 records
p          before the next poll                     t 2   two seconds pass
-> 3       offset 3 is committed by what stands before
"""

from collections.abc import Iterator

import pytest

from engine.client.listener.ack_mode import AckMode, PendingAcks
from engine.errors import ApiException
from engine.model import TopicPartition

ONE, TWO = TopicPartition("orders", 0), TopicPartition("orders", 1)
STORIES = {
    "RECORD": ["r 1 -> 1", "r 1 -> 2", "a 1", "p"],
    "BATCH": ["r 50", "p -> 50", "p", "r 50", "p -> 100"],
    "TIME": ["r 50", "p", "t 2", "p", "t 1", "p -> 50", "r 1", "p", "t 3", "p -> 51"],
    "TIME, also without a record": ["t 3", "p", "r 1", "p", "t 2", "p", "t 1", "p -> 1"],
    "COUNT": ["r 50", "p", "r 50", "p", "r 50", "p -> 150", "r 119", "p", "r 1", "p -> 270"],
    "COUNT_TIME": ["r 50", "p", "t 3", "p -> 50", "r 120", "p -> 170", "r 119", "p", "t 3",
                   "p -> 289"],
    "COUNT_TIME, a commit by the count starts no new time": ["t 2", "r 120", "p -> 120", "t 1",
                                                            "r 1", "p -> 121"],
    "MANUAL": ["r 50", "p", "a 30", "r 20", "p -> 30", "p"],
    "MANUAL_IMMEDIATE": ["a 1 -> 1", "r 1", "p", "a 1 -> 2"],
}  # fmt: skip


class Story:
    """One partition's records, in a mode that waits for 120 records or for more than 2 seconds."""

    def __init__(self, mode: str) -> None:
        self.now = 100.0
        self.acks = PendingAcks(AckMode.named(mode), 2.0, 120, self.now)
        self.offsets = {"r": 0, "a": 0}  # returned, and acknowledged, so far

    def play(self, step: str) -> Iterator[int]:
        """What the step commits."""
        verb, _, number = step.partition(" ")
        match verb:
            case "r" | "a":
                take = self.acks.returned if verb == "r" else self.acks.acknowledged
                for _ in range(int(number)):
                    yield from take(ONE, self.offsets[verb]).values()
                    self.offsets[verb] += 1
            case "t":
                self.now += int(number)
            case "p":
                yield from self.acks.before_poll(self.now).values()


@pytest.mark.parametrize("name", STORIES)
def test_what_is_committed_when(name: str) -> None:
    story = Story(name.partition(",")[0])
    for step in STORIES[name]:
        what, _, expected = step.partition(" -> ")
        committed = [str(offset) for offset in story.play(what)]
        assert committed == ([expected] if expected else []), step


def test_every_mode_has_a_story() -> None:
    assert {name.partition(",")[0] for name in STORIES} == {mode.name for mode in AckMode}


@pytest.mark.parametrize("mode", ["TIME", "COUNT", "COUNT_TIME", "MANUAL", "BATCH"])
def test_what_is_ready_is_committed_at_the_end_in_any_mode(mode: str) -> None:
    acks = PendingAcks(AckMode[mode], 1000, 1000, 0)
    take = acks.acknowledged if AckMode[mode].manual else acks.returned
    for partition, offset in ((ONE, 4), (TWO, 9), (ONE, 5)):
        take(partition, offset)
    assert acks.revoked() == {ONE: 6, TWO: 10}
    assert acks.revoked() == {}
    take(ONE, 6)
    assert acks.all() == {ONE: 7}
    assert acks.all() == {}


def test_a_revocation_commits_and_count_goes_on_counting() -> None:
    acks = PendingAcks(AckMode.COUNT, 1000, 3, 0)
    for offset in (0, 1):
        acks.returned(ONE, offset)
    assert acks.revoked() == {ONE: 2}
    acks.returned(ONE, 2)
    assert acks.before_poll(0) == {ONE: 3}


def test_manual_covers_the_highest_and_immediate_may_go_back() -> None:
    manual, immediate = (
        PendingAcks(AckMode[mode], 1, 1, 0) for mode in ("MANUAL", "MANUAL_IMMEDIATE")
    )
    assert [manual.acknowledged(ONE, offset) for offset in (7, 3)] == [{}, {}]
    assert manual.before_poll(0) == {ONE: 8}
    assert [immediate.acknowledged(ONE, offset) for offset in (7, 3)] == [{ONE: 8}, {ONE: 4}]


def test_names() -> None:
    assert AckMode.named("manual-immediate") is AckMode.named(AckMode.MANUAL_IMMEDIATE)
    with pytest.raises(ApiException, match="there is no ack mode NEVER, only RECORD, BATCH, TIME"):
        AckMode.named("NEVER")
