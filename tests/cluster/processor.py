"""Reads one topic and writes each record into another, exactly once: a process of its own.

    python -m tests.cluster.processor CLIENT BOOTSTRAP GROUP SOURCE SINK

What it writes and how far it has read is one transaction. If one fails, it begins again where the
last one that was committed ended; so does its successor, should it be killed.

    owns orders-0 orders-1     its partitions, whenever they are others
    done N                     so many records with the transaction that was just committed
    failed WHAT                a transaction, and it begins again
    closed

CLIENT is confluent or ours, whose classes have the same methods. SIGTERM ends it in good order.
"""

import signal
import sys
from importlib import import_module
from typing import Any

from tests.limits import ANSWER_S

MODULES = {"confluent": "confluent_kafka", "ours": "engine"}
SESSION, HEARTBEAT = 2000, 300  # milliseconds
BATCH = 50  # records of a transaction


def say(*words: object) -> None:
    print(*words, flush=True)


class Processor:
    def __init__(self, client: str, bootstrap: str, group: str, source: str, sink: str) -> None:
        self._api = import_module(MODULES[client])
        self._sink = sink
        self._ending = False
        self._consumer = self._api.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": SESSION,
                "heartbeat.interval.ms": HEARTBEAT,
                "isolation.level": "read_committed",
            }
        )
        self._producer = self._api.Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": f"{group}-processor",
                "transaction.timeout.ms": 10_000,
                "request.timeout.ms": 3000,  # less, or a broker that hangs costs the transaction
                "linger.ms": 5,
            }
        )
        self._consumer.subscribe([source], on_assign=self._owns, on_revoke=self._owns_not)

    def _owns(self, consumer: Any, partitions: list[Any]) -> None:
        say("owns", *sorted(f"{each.topic}-{each.partition}" for each in partitions))

    def _owns_not(self, consumer: Any, partitions: list[Any]) -> None:
        say("owns")

    def run(self) -> None:
        self._insist(lambda: self._producer.init_transactions(ANSWER_S))
        while not self._ending:
            records = [
                each for each in self._consumer.consume(BATCH, timeout=0.2) if not each.error()
            ]
            if records:
                self._process(records)
        self._consumer.close()
        say("closed")

    def _process(self, records: list[Any]) -> None:
        try:
            self._producer.begin_transaction()
            for each in records:
                self._producer.produce(self._sink, each.value(), partition=each.partition())
            self._producer.send_offsets_to_transaction(
                _behind(self._api, records), self._consumer.consumer_group_metadata(), ANSWER_S
            )
            self._insist(lambda: self._producer.commit_transaction(ANSWER_S))
            say("done", len(records))
        except self._api.KafkaException as error:
            say("failed", error)
            if error.args[0].fatal():
                raise
            self._insist(lambda: self._producer.abort_transaction(ANSWER_S))
            self._back()

    def _insist(self, step: Any) -> None:
        """What may be tried again is tried again; nothing else."""
        while True:
            try:
                return step()
            except self._api.KafkaException as error:
                if not error.args[0].retriable() or self._ending:
                    raise
                say("again", error)

    def _back(self) -> None:
        """To where the last transaction that was committed ended."""
        places = self._consumer.committed(self._consumer.assignment(), timeout=ANSWER_S)
        for each in places:
            beginning = self._api.TopicPartition(each.topic, each.partition, max(each.offset, 0))
            self._consumer.seek(beginning)

    def end(self, *_: object) -> None:
        self._ending = True


def _behind(api: Any, records: list[Any]) -> list[Any]:
    """In each partition the offset behind the last record."""
    ends = {(each.topic(), each.partition()): each.offset() + 1 for each in records}
    return [api.TopicPartition(topic, number, offset) for (topic, number), offset in ends.items()]


if __name__ == "__main__":
    processor = Processor(*sys.argv[1:])
    signal.signal(signal.SIGTERM, processor.end)
    processor.run()
