"""Reading batches: each record once and in order, whatever the leaders do."""

import time
from collections.abc import Iterator
from types import SimpleNamespace as Message
from typing import Any

import pytest

from engine.client.cluster import ClusterView
from engine.client.reader import EARLIEST, LATEST, Reader, list_offset
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.fake import FakeBroker, HangUp, batch, fetched, metadata

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NONE = ErrorCode.none


class Story:
    """Two brokers with logs; a fetch is answered with all batches from the offset on."""

    def __init__(self) -> None:
        self.leaders = [1, 2]
        self.logs: dict[int, list[tuple[int, bytes]]] = {0: [], 1: []}  # (end offset, batch)
        self.instead: list[Any] = []  # for the next fetches: an error, or an exception
        answers = {
            Api.METADATA: self._metadata,
            Api.FETCH: self._fetch,
            Api.LIST_OFFSETS: self._list_offsets,
        }
        self.one, self.two = FakeBroker(answers), FakeBroker(answers)
        self.view = ClusterView([self.one.address], patience=5)
        self.view.topic("t")

    def stop(self) -> None:
        self.view.close()
        self.one.stop()
        self.two.stop()

    def append(self, partition: int, first: int, *values: bytes, control: bool = False) -> None:
        data = batch(first, *values, control=control)
        self.logs[partition].append((first + len(values), data))

    def values(self, reader: Reader, count: int) -> list[bytes | None]:
        """The next values, in order of arrival."""
        found: list[bytes | None] = []
        until = time.monotonic() + 10
        while len(found) < count and time.monotonic() < until:
            for each in reader.poll(1):
                found += [record.value for record in each.records()]
        return found

    def fetches(self) -> list[dict[int, int]]:
        """The offsets that were asked for."""
        return [
            {each.partition: each.fetch_offset for each in request.topics[0].partitions}
            for broker in (self.one, self.two)
            for request in broker.requests(Api.FETCH)
        ]

    def _metadata(self, request: Any) -> Any:
        return metadata({1: self.one.address, 2: self.two.address}, {"t": self.leaders}, request)

    def _fetch(self, request: Any) -> Any:
        error = NONE
        if self.instead:
            act = self.instead.pop(0)
            if isinstance(act, Exception):
                raise act
            error = act
        answers = {}
        for wanted in request.topics[0].partitions:
            log = self.logs[wanted.partition]
            data = b"".join(data for end, data in log if end > wanted.fetch_offset)
            answers[f"p{wanted.partition}"] = (error, b"" if error else data)
        if not any(data for _, data in answers.values()):
            time.sleep(0.01)  # a broker would wait for longer
        return fetched("t", **answers)

    def _list_offsets(self, request: Any) -> Any:
        (wanted,) = request.topics[0].partitions
        log = self.logs[wanted.partition_index]
        offset = log[-1][0] if wanted.timestamp == LATEST else 100
        found = Message(
            partition_index=wanted.partition_index,
            error_code=NONE,
            timestamp=-1,
            offset=offset,
        )
        return Message(topics=(Message(name="t", partitions=(found,)),))


@pytest.fixture
def story() -> Iterator[Story]:
    story = Story()
    yield story
    story.stop()


def test_batches_come_in_order_and_once(story: Story) -> None:
    story.append(0, 0, b"a", b"b")
    story.append(0, 2, b"c")
    with Reader(story.view, {T0: 0}) as reader:
        assert story.values(reader, 3) == [b"a", b"b", b"c"]
        assert not reader.poll(0.1)
        story.append(0, 3, b"d")
        assert story.values(reader, 1) == [b"d"]


def test_all_partitions_are_read_from_their_leaders(story: Story) -> None:
    story.append(0, 0, b"a")
    story.append(1, 0, b"b")
    with Reader(story.view, {T0: 0, T1: 0}) as reader:
        assert sorted(story.values(reader, 2), key=str) == [b"a", b"b"]
    assert all(len(offsets) == 1 for offsets in story.fetches())


def test_what_lies_before_the_offset_in_its_batch_is_left_out(story: Story) -> None:
    story.append(0, 0, b"a", b"b", b"c")
    with Reader(story.view, {T0: 2}) as reader:
        assert story.values(reader, 1) == [b"c"]


def test_a_batch_that_was_read_already_is_passed_over(story: Story) -> None:
    """A broker may begin with an earlier batch than the one asked for."""
    old, new = batch(0, b"old"), batch(1, b"new")
    story.one.answers[Api.FETCH] = lambda _: fetched("t", p0=(NONE, old + new))
    with Reader(story.view, {T0: 1}) as reader:
        assert story.values(reader, 1) == [b"new"]
        assert not reader.poll(0.1)


def test_control_batches_are_passed_over(story: Story) -> None:
    story.append(0, 0, b"marker", control=True)
    story.append(0, 1, b"a")
    with Reader(story.view, {T0: 0}) as reader:
        assert story.values(reader, 1) == [b"a"]


def test_a_batch_cut_off_at_the_end_is_asked_for_again(story: Story) -> None:
    story.append(0, 0, b"a")
    whole = batch(1, b"b")
    story.logs[0].append((2, whole[:-1]))
    with Reader(story.view, {T0: 0}) as reader:
        assert story.values(reader, 1) == [b"a"]
        story.logs[0][1] = (2, whole)
        assert story.values(reader, 1) == [b"b"]


def test_the_next_fetch_is_under_way_before_the_records_are_looked_at(story: Story) -> None:
    story.append(0, 0, b"a")
    with Reader(story.view, {T0: 0}) as reader:
        assert reader.poll(5)
        until = time.monotonic() + 5
        while {0: 1} not in story.fetches() and time.monotonic() < until:
            time.sleep(0.005)
    assert {0: 1} in story.fetches()


@pytest.mark.parametrize(
    "trouble",
    [HangUp(), ErrorCode.not_leader_or_follower, ErrorCode.kafka_storage_error],
    ids=["the connection breaks", "the leader moves", "a disk fails"],
)
def test_what_passes_costs_no_record(story: Story, trouble: Any) -> None:
    story.append(0, 0, b"a")
    story.instead = [trouble]
    with Reader(story.view, {T0: 0}) as reader:
        assert story.values(reader, 1) == [b"a"]
        assert reader.trouble is None


def test_a_leader_that_moved_is_found(story: Story) -> None:
    story.append(0, 0, b"a")
    story.leaders = [2, 2]
    story.one.answers[Api.FETCH] = lambda _: fetched(
        "t", p0=(ErrorCode.not_leader_or_follower, b"")
    )
    with Reader(story.view, {T0: 0}) as reader:
        assert story.values(reader, 1) == [b"a"]
    assert story.two.requests(Api.FETCH)


def test_a_partition_without_leader_does_not_stop_the_others(story: Story) -> None:
    story.leaders = [-1, 2]
    story.view.refresh()
    story.append(0, 0, b"a")
    story.append(1, 0, b"b")
    with Reader(story.view, {T0: 0, T1: 0}) as reader:
        assert story.values(reader, 1) == [b"b"]
        reader.poll(0.3)
        assert reader.trouble is not None
        assert reader.trouble.message == "t-0 has no leader"
        story.leaders = [2, 2]
        assert story.values(reader, 1) == [b"a"]


def test_brokers_that_are_all_gone_are_waited_for(story: Story) -> None:
    with Reader(story.view, {T0: 0}) as reader:
        reader.poll(0.05)
        story.one.stop()
        story.two.stop()
        assert not reader.poll(0.5)
        assert reader.trouble is not None
        assert "no broker at" in reader.trouble.message


def test_an_offset_that_is_gone_leads_to_where_reset_says(story: Story) -> None:
    story.append(0, 100, b"oldest")
    story.instead = [ErrorCode.offset_out_of_range]
    with Reader(story.view, {T0: 5}, reset=EARLIEST) as reader:
        assert story.values(reader, 1) == [b"oldest"]
    assert {0: 100} in story.fetches()


def test_what_does_not_pass_is_an_error(story: Story) -> None:
    story.instead = [ErrorCode.topic_authorization_failed]
    with Reader(story.view, {T0: 0}) as reader, pytest.raises(KafkaError, match="t-0: "):
        reader.poll(5)


def test_a_flipped_bit_is_told(story: Story) -> None:
    data = bytearray(batch(0, b"a"))
    data[-2] ^= 1
    story.logs[0].append((1, bytes(data)))
    with Reader(story.view, {T0: 0}) as reader:
        (found,) = reader.poll(5)
        with pytest.raises(KafkaError, match="t-0: the batch at offset 0 does not match its CRC"):
            found.records()


def test_offsets_can_be_asked_for(story: Story) -> None:
    story.append(0, 0, b"a", b"b")
    assert list_offset(story.view, T0, LATEST) == 2
    assert list_offset(story.view, T0, EARLIEST) == 100
