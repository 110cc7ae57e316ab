"""Sequence numbers: sent twice is stored once, and nothing is left out in between."""

import struct
from pathlib import Path

import pytest
from crc32c import crc32c

from engine.errors import ApiException, ErrorCode
from engine.storage.aborted import Aborted
from engine.storage.batch import Header
from engine.storage.control import ControlType, Marker
from engine.storage.producers import (
    NO_TRANSACTION,
    ProducerEntry,
    Producers,
    read_snapshot,
)
from tests.unit.storage.disk import NOW, marker, sequenced

LAST = 2**31 - 1


class Story:
    """A producer's batches on their way into a log."""

    def __init__(self) -> None:
        self.producers = Producers()
        self.end = 0

    def send(self, sequence: int, count: int = 1, epoch: int = 0, **more: bool) -> int:
        """The offset that the batch has in the log, now or since earlier."""
        header = Header.parse(sequenced(7, sequence, count, epoch, **more))
        stored = self.producers.check(header)
        if stored is not None:
            return stored.first_offset
        first, self.end = self.end, self.end + count
        assert self.producers.apply(header._replace(base_offset=first)) is None
        return first

    def refused(self, sequence: int, count: int = 1, epoch: int = 0, **more: bool) -> ErrorCode:
        with pytest.raises(ApiException) as raised:
            self.send(sequence, count, epoch, **more)
        return raised.value.code

    def end_transaction(
        self, epoch: int = 0, coordinator: int = 0, kind: ControlType = ControlType.COMMIT
    ) -> Aborted | None:
        """A marker on its way into the log. The transaction that it aborts, if it does."""
        header = Header.parse(marker(7, kind, epoch))
        said = Marker(kind, coordinator)
        assert self.producers.check(header, said) is None
        self.end += 1
        return self.producers.apply(header._replace(base_offset=self.end - 1), said)

    def end_refused(self, epoch: int = 0, coordinator: int = 0) -> ErrorCode:
        with pytest.raises(ApiException) as raised:
            self.end_transaction(epoch, coordinator)
        return raised.value.code


@pytest.fixture
def story() -> Story:
    return Story()


def test_batches_follow_one_another(story: Story) -> None:
    assert [story.send(0, 3), story.send(3, 2), story.send(5)] == [0, 3, 5]


def test_the_last_five_may_come_again(story: Story) -> None:
    offsets = {sequence: story.send(sequence, 2) for sequence in range(0, 14, 2)}
    for sequence in (4, 6, 8, 10, 12):
        assert story.send(sequence, 2) == offsets[sequence]
    assert story.end == 14
    assert story.refused(2, 2) is ErrorCode.out_of_order_sequence_number
    assert story.refused(0, 2) is ErrorCode.out_of_order_sequence_number


def test_a_duplicate_of_another_shape_is_none(story: Story) -> None:
    story.send(0, 3)
    assert story.refused(0, 2) is ErrorCode.out_of_order_sequence_number
    assert story.refused(1, 3) is ErrorCode.out_of_order_sequence_number


@pytest.mark.parametrize("gap", [1, 2, 1000, 2**30])
def test_a_gap_is_refused(story: Story, gap: int) -> None:
    story.send(0)
    assert story.refused(1 + gap) is ErrorCode.out_of_order_sequence_number
    assert story.send(1) == 1


def test_after_the_largest_sequence_number_comes_zero(story: Story) -> None:
    assert story.send(LAST - 1, 2) == 0
    assert story.send(0) == 2
    assert story.send(LAST - 1, 2) == 0  # again
    assert story.refused(LAST) is ErrorCode.out_of_order_sequence_number
    assert story.refused(2) is ErrorCode.out_of_order_sequence_number


def test_a_batch_may_reach_over_the_end_of_the_numbers(story: Story) -> None:
    assert story.send(LAST - 1, 5) == 0
    assert story.send(LAST - 1, 5) == 0  # again
    assert story.send(3) == 5


def test_an_unknown_producer_may_begin_anywhere(story: Story) -> None:
    assert story.send(1234) == 0


def test_an_epoch_that_was_replaced_is_refused(story: Story) -> None:
    story.send(0, epoch=1)
    assert story.refused(1, epoch=0) is ErrorCode.invalid_producer_epoch


def test_a_new_epoch_begins_at_zero(story: Story) -> None:
    story.send(0, 5)
    assert story.refused(5, epoch=1) is ErrorCode.out_of_order_sequence_number
    assert story.send(0, 2, epoch=1) == 5
    assert story.send(2, epoch=1) == 7
    assert story.refused(5) is ErrorCode.invalid_producer_epoch


def test_a_marker_ends_a_transaction_and_may_raise_the_epoch(story: Story) -> None:
    story.send(0, 2, transactional=True)
    story.send(2, 2, transactional=True)
    assert story.producers.open == {7: 0}
    story.end_transaction(epoch=1)
    assert story.producers.open == {}
    assert story.refused(4) is ErrorCode.invalid_producer_epoch
    assert story.refused(4, epoch=1) is ErrorCode.out_of_order_sequence_number
    assert story.send(0, epoch=1) == 5


def test_a_marker_of_the_same_epoch_leaves_the_sequence_as_it_was(story: Story) -> None:
    story.send(0, 2, transactional=True)
    story.end_transaction()
    assert story.send(0, 2, transactional=True) == 0  # again
    assert story.refused(0) is ErrorCode.out_of_order_sequence_number
    assert story.send(2, transactional=True) == 3
    assert story.producers.open == {7: 3}


def test_a_marker_of_a_replaced_producer_or_coordinator_is_refused(story: Story) -> None:
    story.send(0, epoch=2, transactional=True)
    assert story.end_refused(epoch=1) is ErrorCode.invalid_producer_epoch
    story.end_transaction(epoch=2, coordinator=5)
    assert story.producers.known[7].coordinator_epoch == 5
    assert story.end_refused(2, coordinator=4) is ErrorCode.transaction_coordinator_fenced
    story.end_transaction(epoch=2, coordinator=5)
    story.end_transaction(epoch=2, coordinator=6)
    assert story.producers.known[7].coordinator_epoch == 6


def test_followers_apply_what_a_leader_would_refuse(story: Story) -> None:
    story.end_transaction(epoch=2, coordinator=5)
    header = Header.parse(marker(7, ControlType.COMMIT, epoch=1))
    story.producers.apply(header._replace(base_offset=story.end), Marker(ControlType.COMMIT, 4))
    assert (story.producers.known[7].epoch, story.producers.known[7].coordinator_epoch) == (1, 4)


def test_what_is_outside_of_an_open_transaction_has_to_wait(story: Story) -> None:
    story.send(0, transactional=True)
    assert story.refused(1) is ErrorCode.invalid_txn_state
    assert story.refused(-1) is ErrorCode.invalid_txn_state
    assert story.refused(5) is ErrorCode.out_of_order_sequence_number  # this is asked first
    story.end_transaction()
    assert story.send(1) == 2


def test_offset_commits_open_a_transaction_as_anything_does(story: Story) -> None:
    assert story.send(-1, 3, transactional=True) == 0
    assert story.producers.open == {7: 0}
    assert story.send(0, transactional=True) == 3  # the producer's own begin at zero all the same


def test_an_abort_says_what_it_aborts_and_how_far_all_was_decided(story: Story) -> None:
    def other(producer: int) -> None:
        header = Header.parse(sequenced(producer, 0, transactional=True))
        story.producers.apply(header._replace(base_offset=story.end))
        story.end += 1

    assert story.end_transaction(kind=ControlType.ABORT) is None  # it had written nothing here
    story.send(0, 2, transactional=True)  # 1, 2
    assert story.end_transaction(kind=ControlType.ABORT) == Aborted(7, 1, 3, 4)
    other(8)  # 4
    story.send(2, transactional=True)  # 5
    other(9)  # 6
    assert story.end_transaction(kind=ControlType.ABORT) == Aborted(7, 5, 7, 4)
    story.send(3, transactional=True)
    assert story.end_transaction(kind=ControlType.COMMIT) is None


def test_an_end_counts_when_it_is_replicated(story: Story) -> None:
    story.send(0, 3, transactional=True)
    assert story.producers.first_unstable(3) == 0
    story.end_transaction()  # 3
    assert story.producers.first_unstable(3) == 0
    assert story.producers.first_unstable(4) is None
    story.send(3, transactional=True)  # 4
    story.end_transaction()  # 5
    story.send(4, transactional=True)  # 6
    assert story.producers.first_unstable(5) == 4
    assert story.producers.first_unstable(6) == 6


def test_a_control_batch_that_says_nothing_changes_nothing(story: Story) -> None:
    """Compaction left no record in it, or it is of a type of some later release."""
    story.send(0, transactional=True)
    before = list(story.producers.entries())
    header = Header.parse(marker(7, ControlType.COMMIT, epoch=9))
    assert story.producers.apply(header._replace(base_offset=1)) is None
    assert list(story.producers.entries()) == before


def test_the_broker_writes_for_a_producer_without_sequence_numbers(story: Story) -> None:
    """Offset commits in a transaction: two of them are not one."""
    assert [story.send(-1), story.send(-1)] == [0, 1]
    assert story.end == 2


def test_a_refusal_changes_nothing(story: Story) -> None:
    story.send(0, 2)
    before = list(story.producers.entries())
    story.refused(9)
    assert list(story.producers.entries()) == before


def test_silent_producers_are_forgotten_unless_a_transaction_is_open() -> None:
    producers = Producers()
    for number, more in [(1, {}), (2, {"transactional": True}), (3, {"at": NOW + 9})]:
        producers.apply(Header.parse(sequenced(number, 0, **more)))
    producers.expire(NOW + 1)
    assert set(producers.known) == {2, 3}


# -- snapshots -------------------------------------------------------------------------------

ENTRY = ProducerEntry(7, 2, 41, 1003, 3, 1_700_000_000_000, 5, NO_TRANSACTION)
BY_HAND = bytes.fromhex(
    "00000002"  # entries
    "0000000000000007 0002 00000029 00000000000003eb 00000003 0000018bcfe56800 00000005"
    "ffffffffffffffff"
    "0000000000000009 0000 ffffffff ffffffffffffffff 00000000 0000018bcfe56801 ffffffff"
    "00000000000003e8"
)


def write(path: Path, body: bytes = BY_HAND, version: int = 1) -> Path:
    path.write_bytes(struct.pack(">hI", version, crc32c(body)) + body)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000001004.snapshot"


def test_a_snapshot_by_hand_is_read_and_written_again(path: Path) -> None:
    producers = Producers()
    producers.load(write(path))
    assert next(iter(producers.entries())) == ENTRY
    assert producers.known[7].coordinator_epoch == 5
    assert producers.known[9].last_sequence == -1
    assert producers.open == {9: 1000}
    whole = path.read_bytes()
    producers.save(path)
    assert path.read_bytes() == whole


def test_a_snapshot_remembers_one_batch_of_each_producer(story: Story, path: Path) -> None:
    for sequence in range(3):
        story.send(sequence)
    story.producers.save(path)
    story.producers = Producers()
    story.producers.load(path)
    assert story.send(2) == 2
    assert story.refused(1) is ErrorCode.out_of_order_sequence_number
    assert story.send(3) == 3


def test_a_snapshot_remembers_the_coordinator_and_when_its_marker_was_written(
    story: Story, path: Path
) -> None:
    story.send(0, transactional=True)
    header = Header.parse(marker(7, ControlType.COMMIT, at=NOW + 9))
    story.producers.apply(header._replace(base_offset=1), Marker(ControlType.COMMIT, 3))
    story.producers.save(path)
    [entry] = read_snapshot(path)
    assert entry == ProducerEntry(7, 0, 0, 0, 0, NOW + 9, 3, NO_TRANSACTION)
    story.producers.load(path)
    assert story.end_refused(coordinator=2) is ErrorCode.transaction_coordinator_fenced


def test_open_transactions_come_back_oldest_first(path: Path) -> None:
    producers = Producers()
    for number, offset in [(5, 10), (3, 20), (4, 15)]:
        header = Header.parse(sequenced(number, 0, transactional=True))
        producers.apply(header._replace(base_offset=offset))
    producers.save(path)
    producers.load(path)
    assert list(producers.open.items()) == [(5, 10), (4, 15), (3, 20)]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: b"", "0 bytes are too few"),
        (lambda data: data[:9], "9 bytes are too few"),
        (lambda data: data[:-1], "checksum"),
        (lambda data: data[:-1] + b"\x01", "checksum"),
        (lambda data: b"\0\2" + data[2:], "version 2"),
    ],
)
def test_a_damaged_snapshot_is_refused_whole(path: Path, damage: object, says: str) -> None:
    path.write_bytes(damage(write(path).read_bytes()))  # type: ignore[operator]
    with pytest.raises(ApiException, match=says):
        read_snapshot(path)
    producers = Producers()
    with pytest.raises(ApiException):
        producers.load(path)
    assert producers.known == {}


def test_a_count_that_does_not_fit_is_refused(path: Path) -> None:
    with pytest.raises(ApiException, match="3 entries do not fit"):
        read_snapshot(write(path, struct.pack(">i", 3) + BY_HAND[4:]))
