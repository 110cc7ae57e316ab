"""Single requests to one broker, spoken by hand: what no client with its retries ever shows.

    answer = fetch(cluster, 2, partition, version=10)
    answer.code, answer.values, answer.high_watermark

Whoever asks names the broker, leader or not, and the version of the request.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace as Body
from typing import Any, NamedTuple

from engine import Cluster
from engine.client.connection import Address, Connection
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.records import Record
from engine.wire.apis import Api
from engine.wire.messages.update_metadata import UpdateMetadataRequest

PATIENCE = timedelta(seconds=10)


class Answer(NamedTuple):
    broker: int
    code: ErrorCode
    offset: int = -1  # of what was stored
    values: tuple[str, ...] = ()
    high_watermark: int = -1

    @property
    def ok(self) -> bool:
        return self.code == ErrorCode.none


class Spoken(Connection):
    """A connection that speaks the version it is told, and not the newest."""

    def speak(self, api: Api, version: int) -> None:
        self._versions[api] = version


@contextmanager
def connection(cluster: Cluster, broker: int) -> Iterator[Spoken]:
    port = cluster.state().brokers[broker].port
    with Spoken(Address("127.0.0.1", port), "by hand") as spoken:
        yield spoken


def produce(cluster: Cluster, broker: int, partition: TopicPartition, value: str) -> Answer:
    batch = records.encode([Record(0, 0, None, value.encode())])
    row = Body(index=partition.partition, records=batch)
    request = Body(
        transactional_id=None,
        acks=1,
        timeout=PATIENCE,
        topic_data=(Body(name=partition.topic, partition_data=(row,)),),
    )
    with connection(cluster, broker) as spoken:
        answer = spoken.ask(Api.PRODUCE, request).responses[0].partition_responses[0]
    return Answer(broker, ErrorCode(answer.error_code), answer.base_offset)


def fetch(
    cluster: Cluster, broker: int, partition: TopicPartition, version: int = 12, offset: int = 0
) -> Answer:
    row = Body(
        partition=partition.partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1 << 20,
    )
    request = Body(
        cluster_id=None,
        replica_id=-1,
        max_wait=timedelta(0),
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=(Body(topic=partition.topic, partitions=(row,)),),
        forgotten_topics_data=(),
        rack_id="",
    )
    with connection(cluster, broker) as spoken:
        spoken.speak(Api.FETCH, version)
        answer = spoken.ask(Api.FETCH, request).responses[0].partitions[0]
    found = [each for each in unpacked(answer.records) if each.offset >= offset]
    values = tuple((each.value or b"").decode() for each in found)
    return Answer(broker, ErrorCode(answer.error_code), -1, values, answer.high_watermark)


def partitions(cluster: Cluster, broker: int, topic: str) -> dict[int, int]:
    """Each partition's leader, as this broker tells its clients."""
    wanted = Body(topic_id=None, name=topic)
    request = Body(
        topics=(wanted,),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    with connection(cluster, broker) as spoken:
        found = spoken.ask(Api.METADATA, request).topics[0].partitions
    return {each.partition_index: each.leader_id for each in found}


def order(cluster: Cluster, broker: int, controller: int, epoch: int) -> ErrorCode:
    """An order to a broker as a controller of that epoch would give it, about nothing at all."""
    request = UpdateMetadataRequest(
        controller_id=controller,
        controller_epoch=epoch,
        broker_epoch=cluster.state().brokers[broker].epoch,
        topic_states=(),
        live_brokers=(),
    )
    with connection(cluster, broker) as spoken:
        return ErrorCode(spoken.ask(Api.UPDATE_METADATA, request).error_code)


def unpacked(data: Any) -> Iterator[Record]:
    for position, header in scan(data or b""):
        yield from records.decode(data[position : position + header.size])
