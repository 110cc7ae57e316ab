"""Sequence numbers: sent twice is stored once, and nothing is left out in between."""

import struct
from pathlib import Path

import pytest
from crc32c import crc32c

from engine.errors import ErrorCode, KafkaError
from engine.storage.batch import Header
from engine.storage.producers import (
    NO_TRANSACTION,
    ProducerEntry,
    Producers,
    read_snapshot,
)
from tests.unit.storage.disk import NOW, sequenced

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
        self.producers.apply(header._replace(base_offset=first))
        return first

    def refused(self, sequence: int, count: int = 1, epoch: int = 0) -> ErrorCode:
        with pytest.raises(KafkaError) as raised:
            self.send(sequence, count, epoch)
        return raised.value.code

    def end_transaction(self, epoch: int = 0) -> None:
        header = Header.parse(sequenced(7, -1, 1, epoch, control=True, transactional=True))
        assert self.producers.check(header) is None
        self.producers.apply(header._replace(base_offset=self.end))
        self.end += 1


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
    assert story.refused(2, 2) is ErrorCode.duplicate_sequence_number
    assert story.refused(0, 2) is ErrorCode.duplicate_sequence_number


def test_a_duplicate_of_another_shape_is_none(story: Story) -> None:
    story.send(0, 3)
    assert story.refused(0, 2) is ErrorCode.duplicate_sequence_number
    assert story.refused(1, 3) is ErrorCode.duplicate_sequence_number


@pytest.mark.parametrize("gap", [1, 2, 1000, 2**30])
def test_a_gap_is_refused(story: Story, gap: int) -> None:
    story.send(0)
    assert story.refused(1 + gap) is ErrorCode.out_of_order_sequence_number
    assert story.send(1) == 1


def test_after_the_largest_sequence_number_comes_zero(story: Story) -> None:
    assert story.send(LAST - 1, 2) == 0
    assert story.send(0) == 2
    assert story.send(LAST - 1, 2) == 0  # again
    assert story.refused(LAST) is ErrorCode.duplicate_sequence_number
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
    assert story.send(0, epoch=1) == 5


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
    assert story.refused(1) is ErrorCode.duplicate_sequence_number
    assert story.send(3) == 3


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
    with pytest.raises(KafkaError, match=says):
        read_snapshot(path)
    producers = Producers()
    assert not producers.try_load(path)
    assert producers.known == {}


def test_a_count_that_does_not_fit_is_refused(path: Path) -> None:
    with pytest.raises(KafkaError, match="3 entries do not fit"):
        read_snapshot(write(path, struct.pack(">i", 3) + BY_HAND[4:]))
