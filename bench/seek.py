"""Fetch at random offsets: is a log of 1 GB as fast as one of 1 MB?

A broker finds the place in the sparse index of a segment, so the length of a log should not
matter. Both logs are asked in turn, by requests encoded beforehand on a plain socket.
"""

import random
import socket
import statistics
import time
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from kio.schema.fetch.v12.request import FetchPartition, FetchRequest, FetchTopic
from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from bench.peers.limits import drain
from bench.peers.peer import VALUE
from engine.client.address import Address
from engine.client.cluster import ClusterClient, check
from engine.client.network import Submitted
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.records import Record
from engine.wire.apis import Api
from engine.wire.codec import encode_request
from engine.wire.errors import RequestHeader
from engine.wire.frame import SIZE

MB = 1024 * 1024
PER_BATCH = 80  # records, which make 16 KB
MAX_BYTES = 4096  # so the answer is one batch
FETCHES = 1000
IN_FLIGHT = 5  # requests


def seek(bootstrap: str, megabytes: int) -> tuple[float, float]:
    """The median seconds of a fetch from the large log, and from one of 1 MB."""
    with ClusterClient([Address.parse(bootstrap)]) as cluster:
        large = _requests("bench-large", fill(cluster, "bench-large", megabytes * MB))
        small = _requests("bench-small", fill(cluster, "bench-small", MB))
    with socket.create_connection(Address.parse(bootstrap)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pairs = [
            (timed(connection, one), timed(connection, other))
            for one, other in zip(large, small, strict=True)
        ]
    in_large, in_small = zip(*pairs, strict=True)
    return statistics.median(in_large), statistics.median(in_small)


def fill(cluster: ClusterClient, topic: str, size: int) -> int:
    """Write a log of so many bytes; returns how many records it has."""
    batch = records.encode([Record(i, 0, None, VALUE) for i in range(PER_BATCH)])
    cluster.topic(topic, create=True)
    place = TopicPartition(topic, 0)
    batches = max(size // len(batch), 1)

    under_way: deque[Submitted] = deque()
    for _ in range(batches):
        request = produce_request(topic, batch)
        under_way.append(cluster.submit(cluster.leader(place), Api.PRODUCE, request))
        if len(under_way) == IN_FLIGHT:
            _check(cluster.result(under_way.popleft()))
    while under_way:
        _check(cluster.result(under_way.popleft()))
    return batches * PER_BATCH


def produce_request(topic: str, batch: bytes) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=batch)
    return ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout=timedelta(seconds=30),
        topic_data=(TopicProduceData(name=topic, partition_data=(data,)),),
    )


def _check(response: Any) -> None:
    check(response.responses[0].partition_responses[0].error_code)


def _requests(topic: str, count: int) -> Iterator[bytes]:
    chance = random.Random(topic)
    for number in range(FETCHES):
        wanted = FetchPartition(
            partition=0, fetch_offset=chance.randrange(count), partition_max_bytes=MAX_BYTES
        )
        request = FetchRequest(
            max_wait=timedelta(),
            min_bytes=1,
            max_bytes=MAX_BYTES,
            topics=(FetchTopic(topic=topic, partitions=(wanted,)),),
            forgotten_topics_data=(),
        )
        yield encode_request(RequestHeader(int(Api.FETCH), 12, number, "bench"), request)


def timed(connection: socket.socket, request: bytes) -> float:
    start = time.perf_counter()
    connection.sendall(request)
    size = SIZE.unpack(connection.recv(SIZE.size, socket.MSG_WAITALL))[0]
    drain(connection, size)
    return time.perf_counter() - start
