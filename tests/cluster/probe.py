"""One question to one broker, by hand: what no client with its retries would ever show.

A probe speaks to the broker that it names, leader or not, and sees each error code as it came.
What it appends is none of the judged messages, so it belongs on a topic of its own, unless it is
meant to be lost.
"""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.errors import ErrorCode
from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from tests.interop.raw import Raw, batch, produce


class Probe(Raw):
    def __init__(self, cluster: Cluster, broker: int) -> None:
        addresses = dict(zip(cluster.brokers, cluster.bootstrap.split(","), strict=True))
        super().__init__(addresses[broker])

    def append(self, topic: str, partition: int, value: bytes) -> ErrorCode:
        """With acks=all: what the leader says once it knows."""
        answer = self.produce(topic, batch(value), partition=partition)
        return ErrorCode(answer.error_code)

    def begin_to_append(self, topic: str, partition: int, value: bytes) -> RequestHeader:
        """With acks=all; the answer is left to come when it may."""
        return self.post(Api.PRODUCE, produce(topic, batch(value), partition=partition))

    def is_refused(self, asked: RequestHeader) -> bool:
        """What came of it, if anything came."""
        answer: Any = codec.decode_response(asked, self.frame())
        return bool(answer.responses[0].partition_responses[0].error_code != ErrorCode.none)

    def append_without_waiting(self, topic: str, partition: int, value: bytes) -> int:
        """With acks=1: the offset in the leader's own log."""
        answer: Any = self.produce(topic, batch(value), partition=partition, acks=1)
        assert answer.error_code == ErrorCode.none
        return int(answer.base_offset)

    def knows(self, topic: str, partitions: int) -> bool:
        """Whether this broker tells its clients of the topic and of every leader."""
        leaders = self.leaders(topic)
        return len(leaders) == partitions and -1 not in leaders.values()

    def leaders(self, topic: str) -> dict[int, int]:
        """Each partition's leader, as far as this broker knows."""
        (told,) = self.topics(topic)
        return {each.partition_index: each.leader_id for each in told.partitions}

    def values(self, topic: str, partition: int) -> list[bytes | None]:
        return [record.value for record in self.read(topic, partition=partition)]
