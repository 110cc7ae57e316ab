"""Batches to the leaders of their partitions, several on the way at once.

    send -> | batch | batch | batch |  -> leader 1       at most 5 on the way to a broker:
         -> | batch |                  -> leader 2       max.in.flight.requests.per.connection

While all goes well nobody waits for an answer. When something fails that passes (the leader moved,
the connection broke), what it concerns is sent again, one batch at a time and in order.

Invariant: `done` is called once for each batch: when the acks asked for have come, or with the
error that there is no way around. A batch may be stored twice, if only its answer was lost, and
behind a later one, if it was refused at first. (A producer id would prevent both.)
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, Self

from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from engine.client.cluster import PASSING, ClusterView, check
from engine.client.connection import REQUEST_TIMEOUT, Connection, wait
from engine.errors import KafkaError
from engine.model import TopicPartition
from engine.storage.files import Buffer
from engine.wire.apis import Api

IN_FLIGHT = 5

Done = Callable[[Any, KafkaError | None], None]  # (what `send` noted with the batch, its error)


class Pending(NamedTuple):
    """A batch that is not acknowledged yet."""

    partition: TopicPartition
    batch: Buffer
    about: Any


class Writer:
    def __init__(self, cluster: ClusterView, done: Done, acks: int = -1) -> None:
        self._cluster = cluster
        self._done = done
        self._acks = acks
        self._pipes: dict[int, Connection] = {}  # by leader

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for pipe in self._pipes.values():
            pipe.close()

    def send(self, partition: TopicPartition, batch: Buffer, about: Any = None) -> None:
        """Put a batch on its way; waits only if there are too many of them already."""
        pending = Pending(partition, batch, about)
        leader = self._cluster.metadata.leader(partition)
        while leader in self._pipes and self._pipes[leader].on_the_way >= IN_FLIGHT:
            self._receive(leader)
        try:
            if leader not in self._pipes:
                self._pipes[leader] = self._cluster.open(leader)
            self._pipes[leader].send(Api.PRODUCE, self._request(pending), pending, self._acks != 0)
        except KafkaError as error:
            if error.code not in PASSING:
                raise
            pipe = self._pipes.pop(leader, None)
            self._send_again([*(pipe.abandon() if pipe else ()), pending])
        else:
            if self._acks == 0:
                self._done(about, None)

    def poll(self, timeout: float) -> None:
        """Take in answers for so many seconds; with 0, those that are here."""
        until = time.monotonic() + timeout
        while True:
            busy = {leader: pipe for leader, pipe in self._pipes.items() if pipe.on_the_way}
            ready = wait(busy.values(), until - time.monotonic())
            for leader, pipe in busy.items():
                if pipe in ready:
                    self._receive(leader)
            if not ready:
                return

    def flush(self) -> None:
        """Wait until there is word of every batch."""
        for leader in list(self._pipes):
            while leader in self._pipes and self._pipes[leader].on_the_way:
                self._receive(leader)

    def _receive(self, leader: int) -> None:
        """Take in a broker's next answer; if it has to be sent again, those behind it first."""
        pipe = self._pipes[leader]
        failed = self._take(pipe)
        if failed:
            while pipe.on_the_way:
                failed += self._take(pipe)
            del self._pipes[leader]
            pipe.close()
            self._send_again(failed)

    def _take(self, pipe: Connection) -> list[Pending]:
        """Take in an answer; returns what has to be sent again, which may be all that is left."""
        try:
            pending, response = pipe.receive()
        except KafkaError as error:
            if error.code not in PASSING:
                raise
            return pipe.abandon()
        try:
            self._check(pending, response)
        except KafkaError as error:
            if error.code in PASSING:
                return [pending]
            self._done(pending.about, error)
        else:
            self._done(pending.about, None)
        return []

    def _send_again(self, failed: list[Pending]) -> None:
        """The slow path: one batch after the other, each until it is stored or hope is lost."""
        for place, pending in enumerate(failed):
            try:
                self._cluster.retry(partial(self._send_and_wait, pending), stale=place == 0)
            except KafkaError as error:
                self._done(pending.about, error)
            else:
                self._done(pending.about, None)

    def _send_and_wait(self, pending: Pending) -> None:
        node = self._cluster.node(self._cluster.leader(pending.partition))
        if self._acks == 0:
            node.send(Api.PRODUCE, self._request(pending), answered=False)
        else:
            self._check(pending, node.ask(Api.PRODUCE, self._request(pending)))

    def _check(self, pending: Pending, response: Any) -> None:
        answer = response.responses[0].partition_responses[0]
        check(answer.error_code, answer.error_message, str(pending.partition))

    def _request(self, pending: Pending) -> ProduceRequest:
        (topic, number), batch, _ = pending
        data = PartitionProduceData(index=number, records=batch)
        return ProduceRequest(
            transactional_id=None,
            acks=self._acks,
            timeout=timedelta(seconds=REQUEST_TIMEOUT),
            topic_data=(TopicProduceData(name=topic, partition_data=(data,)),),
        )
