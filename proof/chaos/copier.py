"""A process that reads one topic and writes each record twice into another, in transactions.

    python -m proof.chaos.copier BOOTSTRAP SOURCE SINK PARTITIONS NAME FIRST

    begin 7 copier-1/7/0/204/0 copier-1/7/0/204/1 ...    what transaction 7 is to write
    committed 7
    aborted 7

It has a consumer of the group and a producer with a transactional.id of its own, which is NAME; its
transactions are numbered from FIRST on. Now and then it kills itself in the middle of one. When a
transaction fails, it aborts it and goes back to what the group has committed; after any other error
it ends, with status 1. SIGTERM ends it in good order.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from random import random
from threading import Event
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from proof.chaos.cluster_reader import QUICK, as_read
from proof.chaos.transaction_history import SIDES, CopiedRecord

GROUP = "copiers"
BATCH = 50  # records of a transaction, at most
CRASHES = 0.02  # of its transactions, at each of two places
STEP, INSISTENCE = 10.0, 30.0  # seconds for a step of a transaction; for all attempts at it


def say(*words: object) -> None:
    print(*words, flush=True)


class Copier:
    def __init__(
        self, bootstrap: str, source: str, sink: str, partitions: int, name: str, first: int
    ) -> None:
        self.name, self._source, self._sink, self._partitions = name, source, sink, partitions
        self._number = first
        self._moved = False  # its partitions are others since the last look
        self.over = Event()
        addressed = QUICK | {"bootstrap.servers": bootstrap}
        self._producer = Producer(
            addressed
            | {
                "transactional.id": name,
                "transaction.timeout.ms": 10_000,
                "request.timeout.ms": 2000,
                "linger.ms": 5,
            }
        )
        self._consumer = Consumer(
            addressed
            | {
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 500,
            }
        )

    def run(self) -> None:
        producer, consumer = self._producer, self._consumer
        insist(partial(producer.init_transactions, STEP))
        consumer.subscribe([self._source], on_assign=self._is_moved, on_revoke=self._is_moved)
        while not self.over.is_set():
            records = [each for each in consumer.consume(BATCH, 0.2) if each.error() is None]
            if self._moved:  # some of these may be of partitions that another has now
                self._go_back()
            elif records:
                self._copy(records)
        consumer.close()

    def _copy(self, records: list[Message]) -> None:
        producer, number = self._producer, self._number
        self._number += 1
        try:
            ends = self._write(number, records)
            may_crash()
            members = self._consumer.consumer_group_metadata()
            insist(partial(producer.send_offsets_to_transaction, ends, members, STEP))
            may_crash()
            insist(partial(producer.commit_transaction, STEP))
            say("committed", number)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            insist(partial(producer.abort_transaction, STEP))
            say("aborted", number)
            self._go_back()

    def _write(self, number: int, records: list[Message]) -> list[TopicPartition]:
        """Write the copies; returns the offsets up to which the source is read."""
        copies = [
            CopiedRecord(self.name, number, partition, offset, side)
            for partition, offset, _ in map(as_read, records)
            for side in range(SIDES)
        ]
        say("begin", number, *(each.value.decode() for each in copies))
        self._producer.begin_transaction()
        for each in copies:
            target = (each.partition + each.side) % self._partitions
            self._producer.produce(self._sink, each.value, partition=target)
        ends = {each.partition: each.offset + 1 for each in copies}
        return [TopicPartition(self._source, partition, end) for partition, end in ends.items()]

    def _go_back(self) -> None:
        """To the offsets of the group."""
        self._moved = False
        if mine := self._consumer.assignment():
            places = self._consumer.committed(mine, timeout=STEP)
            for each in places:
                if each.error is not None:
                    raise KafkaException(each.error)
                each.offset = max(each.offset, 0)
            self._consumer.assign(places)

    def _is_moved(self, consumer: Consumer, partitions: list[Any]) -> None:
        self._moved = True


def insist(step: Callable[[], object]) -> None:
    """What may be tried again is tried again."""
    deadline = time.monotonic() + INSISTENCE
    while True:
        try:
            step()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise


def may_crash() -> None:
    if random() < CRASHES:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    bootstrap, source, sink, partitions, name, first = sys.argv[1:]
    copier = Copier(bootstrap, source, sink, int(partitions), name, int(first))
    signal.signal(signal.SIGTERM, lambda *_: copier.over.set())
    copier.run()
