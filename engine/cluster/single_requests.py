"""Single requests to one broker: what no client shows, as clients find the leader and try again.

    from engine.cluster import single_requests as by_hand

    by_hand.fetch(cluster, 2, "orders", version=10).code           NOT_LEADER_OR_FOLLOWER
    by_hand.produce(cluster, 1, "orders", "tea").offset
    by_hand.ask(cluster, 1, Api.METADATA, request, version=5)      any request, in any version

    with by_hand.connection(cluster, 1) as one:                    several requests on the way
        one.send(Api.FETCH, by_hand.fetch_request("orders"))
        one.send(Api.PRODUCE, by_hand.produce_request("orders", "tea"))
        one.receive(), one.receive()

The request goes to the broker that is named, whether it leads the partition or not.
"""

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace as Body
from typing import Any, NamedTuple

from engine.client.address import Address
from engine.client.metadata import metadata_request
from engine.client.raw_connection import RawConnection
from engine.cluster.cluster import Cluster
from engine.errors import ErrorCode
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.records import Record
from engine.wire.apis import Api
from engine.wire.messages.update_metadata import UpdateMetadataRequest

REQUEST_TIMEOUT = timedelta(seconds=10)


class RawResponse(NamedTuple):
    broker: int
    code: ErrorCode
    offset: int = -1  # of what was stored
    values: tuple[str, ...] = ()
    high_watermark: int = -1

    @property
    def ok(self) -> bool:
        return self.code == ErrorCode.none


def ask(cluster: Cluster, broker: int, api: Api, request: Any, version: int | None = None) -> Any:
    """The response to one request."""
    with connection(cluster, broker) as one:
        return one.ask(api, request, version)


def connection(cluster: Cluster, broker: int) -> RawConnection:
    """To send further requests before the response to the first is read."""
    port = cluster.state().brokers[broker].port
    return RawConnection(Address("127.0.0.1", port), "by hand", cluster.security_settings)


def produce(
    cluster: Cluster, broker: int, topic: str, value: str, partition: int = 0
) -> RawResponse:
    request = produce_request(topic, value, partition)
    answer = ask(cluster, broker, Api.PRODUCE, request).responses[0].partition_responses[0]
    return RawResponse(broker, ErrorCode(answer.error_code), answer.base_offset)


def produce_request(topic: str, value: str, partition: int = 0, acks: int = 1) -> Body:
    batch = records.encode([Record(0, 0, None, value.encode())])
    row = Body(index=partition, records=batch)
    return Body(
        transactional_id=None,
        acks=acks,
        timeout=REQUEST_TIMEOUT,
        topic_data=(Body(name=topic, partition_data=(row,)),),
    )


def fetch(
    cluster: Cluster,
    broker: int,
    topic: str,
    partition: int = 0,
    *,
    version: int = 12,
    offset: int = 0,
) -> RawResponse:
    request = fetch_request(topic, partition, offset=offset)
    answer = ask(cluster, broker, Api.FETCH, request, version).responses[0].partitions[0]
    found = [each for each in _unpacked(answer.records) if each.offset >= offset]
    values = tuple((each.value or b"").decode() for each in found)
    return RawResponse(broker, ErrorCode(answer.error_code), -1, values, answer.high_watermark)


def fetch_request(
    topic: str, partition: int = 0, *, offset: int = 0, wait_ms: int = 0, max_bytes: int = 1 << 20
) -> Body:
    """`wait_ms`: how long the broker holds it back if there is nothing to read."""
    row = Body(
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )
    return Body(
        cluster_id=None,
        replica_id=-1,
        max_wait=timedelta(milliseconds=wait_ms),
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=(Body(topic=topic, partitions=(row,)),),
        forgotten_topics_data=(),
        rack_id="",
    )


def list_offsets_request(topic: str, timestamp: int, partition: int = 0) -> Body:
    """Which is the first record that is not older than a time?"""
    row = Body(partition_index=partition, current_leader_epoch=-1, timestamp=timestamp)
    wanted = Body(name=topic, partitions=(row,))
    return Body(replica_id=-1, isolation_level=0, topics=(wanted,))


def leaders(cluster: Cluster, broker: int, topic: str) -> dict[int, int]:
    """The leader of each partition, as this broker tells its clients."""
    found = ask(cluster, broker, Api.METADATA, metadata_request([topic])).topics[0].partitions
    return {each.partition_index: each.leader_id for each in found}


def update_metadata(cluster: Cluster, broker: int, controller: int, epoch: int) -> ErrorCode:
    """An empty UpdateMetadata, as a controller of that epoch would send it."""
    request = UpdateMetadataRequest(
        controller_id=controller,
        controller_epoch=epoch,
        broker_epoch=cluster.state().brokers[broker].epoch,
        topic_states=(),
        live_brokers=(),
    )
    return ErrorCode(ask(cluster, broker, Api.UPDATE_METADATA, request).error_code)


def _unpacked(data: Any) -> Iterator[Record]:
    for position, header in scan(data or b""):
        yield from records.decode(data[position : position + header.size])
