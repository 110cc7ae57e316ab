"""Topics in memory, with the rules of real logs, for what would else need brokers.

`happen` is called before each thing that is asked for and after it is done: there a test can kill
whoever asks, or let another one act.
"""

from collections.abc import Callable, Iterator, Mapping

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import Header, check, placed
from engine.storage.files import Buffer
from engine.storage.producers import Producers
from engine.storage.records import Record
from sparkstreams.partition_client import AppendResult, PartitionClient


class Killed(Exception):
    """Who asked is no more."""


class Topics(PartitionClient):
    def __init__(self) -> None:
        self.logs: dict[TopicPartition, list[bytes]] = {}
        self.starts: dict[TopicPartition, int] = {}
        self.producers: dict[TopicPartition, Producers] = {}
        self.sizes: dict[str, int] = {}
        self.happen: Callable[[str], None] = lambda what: None
        self.ids = 100

    def partitions(self, topic: str, create: bool = False) -> int:
        if create:
            self.sizes.setdefault(topic, 3)
        if topic not in self.sizes:
            raise ApiException(ErrorCode.unknown_topic_or_partition, f"there is no topic {topic}")
        return self.sizes[topic]

    def ensure(self, topic: str, partitions: int, configs: Mapping[str, str]) -> int:
        return self.sizes.setdefault(topic, partitions)

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        self.happen(f"bounds {partition}")
        self.partitions(partition.topic)
        return self.starts.get(partition, 0), self.end(partition)

    def producer_id(self) -> int:
        self.happen("producer id")
        self.ids += 1
        return self.ids

    def batches(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[Header, memoryview]]:
        self.happen(f"read {partition}")
        if start < self.starts.get(partition, 0):
            raise ApiException(ErrorCode.offset_out_of_range, f"{partition} begins behind {start}")
        for batch in list(self.logs.get(partition, [])):
            header = Header.parse(batch)
            if start < header.next_offset and header.base_offset < end:
                yield header, memoryview(batch)

    def append(
        self, batches: Mapping[TopicPartition, Buffer]
    ) -> dict[TopicPartition, AppendResult]:
        places: dict[TopicPartition, AppendResult] = {}
        for partition, batch in batches.items():
            self.happen(f"append {partition}")
            places[partition] = self._append(partition, batch)
            self.happen(f"appended {partition}")
        return places

    def _append(self, partition: TopicPartition, batch: Buffer) -> AppendResult:
        """As a broker does it: the batch must be sound, and follow on if it is numbered."""
        header = check(batch)
        assert header.base_offset == 0 and header.count == header.last_offset_delta + 1
        producers = self.producers.setdefault(partition, Producers())
        try:
            twin = producers.check(header)
        except ApiException as error:
            return error
        if twin is not None:
            return twin.first_offset
        offset = self.end(partition)
        stored = b"".join(placed(batch, offset, 0))
        self.logs.setdefault(partition, []).append(stored)
        producers.apply(Header.parse(stored))
        return offset

    def end(self, partition: TopicPartition) -> int:
        log = self.logs.get(partition)
        return Header.parse(log[-1]).next_offset if log else self.starts.get(partition, 0)

    def read(self, topic: str) -> list[Record]:
        """What a plain consumer gets, from one partition after the other."""
        return [
            record
            for partition in sorted(self.logs)
            if partition.topic == topic
            for batch in self.logs[partition]
            for record in records.decode(batch)
        ]
