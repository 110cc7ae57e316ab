"""A process that sends and polls in random transactions, by assign or by subscribe.

    python -m proof.chaos.random_client BOOTSTRAP TOPIC PARTITIONS NAME LIFE

    {"type": "invoke", "what": "txn", "partitions": [], "steps": [[0, 7000041], []]}
    {"type": "ok", "what": "txn", "partitions": [], "steps": [[0, 7000041, 12], [[1, 8, 33]]]}

Each line is an operation (operations.py). NAME is its transactional.id; its values are numbers from
LIFE million on. A transaction has some sends and polls in random order, and sometimes it is aborted
on purpose. After an abort the consumer goes back to where the transaction had begun. Now and then
the process kills itself in the middle of a transaction. When it does not know how a transaction has
ended, or its producer is fenced, it ends, with status 1. SIGTERM ends it in good order.
"""

import json
import signal
import sys
import time
from functools import partial
from random import choice, randint, random, sample
from threading import Event
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from proof.chaos.cluster_reader import QUICK, as_read
from proof.chaos.copier import STEP, insist, may_crash
from proof.chaos.operations import (
    ASSIGN,
    SUBSCRIBE,
    TXN,
    ClientOperation,
    OperationType,
    Poll,
    PolledValue,
    SentValue,
    Step,
    as_line,
)

GROUP = "random"
STEPS = 5  # of a transaction, at most
BATCH, WAIT = 20, 0.2  # records of a poll, and seconds that it waits, at most
ABORTS = 0.25  # of the transactions, on purpose
LASTS = 40  # transactions with one assignment
VALUES = 1_000_000  # of one life
INVOKE, OK, FAIL, INFO = OperationType


class RandomClient:
    def __init__(self, bootstrap: str, topic: str, partitions: int, name: str, life: int) -> None:
        self._topic, self._partitions, self._life = topic, partitions, life
        self._next = life * VALUES
        self._positions: dict[int, int] | None = None  # of an assignment; None: it has subscribed
        self._offsets: dict[int, int | None] = {}  # by value, of the transaction that is open
        self._moved = False  # the group has moved partitions since the last look
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
                "fetch.wait.max.ms": 100,
            }
        )

    def run(self) -> None:
        insist(partial(self._producer.init_transactions, STEP))
        turns = 0
        while not self.over.is_set():
            if turns % LASTS == 0:
                self._begin_to_read()
            turns += 1
            self._transact()
        self._consumer.close()

    def _say(self, kind: OperationType, what: str, **facts: Any) -> None:
        operation = ClientOperation(self._life, kind, what, **facts, at=time.monotonic())
        print(json.dumps(as_line(operation)), flush=True)

    # -- where it reads ------------------------------------------------------------------

    def _begin_to_read(self) -> None:
        """From the beginning of some partitions, or as a member of the group."""
        consumer, everything = self._consumer, range(self._partitions)
        consumer.unsubscribe()
        consumer.unassign()
        if random() < 0.5:
            chosen = sorted(sample(everything, randint(1, self._partitions)))
            self._say(INVOKE, ASSIGN, partitions=tuple(chosen))
            self._positions = dict.fromkeys(chosen, 0)
            self._go_back()
            self._say(OK, ASSIGN, partitions=tuple(chosen))
        else:
            self._say(INVOKE, SUBSCRIBE, partitions=tuple(everything))
            self._positions = None
            consumer.subscribe([self._topic], on_assign=self._is_moved, on_revoke=self._is_moved)
            self._say(OK, SUBSCRIBE, partitions=tuple(everything))

    def _go_back(self) -> None:
        """To the positions of before the transaction, or to the group's offsets."""
        self._moved = False
        if self._positions is not None:
            places = [TopicPartition(self._topic, *each) for each in self._positions.items()]
            self._consumer.assign(places)
        elif mine := self._consumer.assignment():
            insist(partial(self._to_committed, mine))

    def _to_committed(self, mine: list[TopicPartition]) -> None:
        places = self._consumer.committed(mine, timeout=STEP)
        for each in places:
            if each.error is not None:
                raise KafkaException(each.error)
            each.offset = max(each.offset, 0)
        self._consumer.assign(places)

    def _is_moved(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._moved = True

    # -- a transaction -------------------------------------------------------------------

    def _transact(self) -> None:
        planned = tuple(self._step() for _ in range(randint(1, STEPS)))
        self._say(INVOKE, TXN, steps=planned)
        done: list[Step] = []
        self._offsets.clear()
        try:
            self._producer.begin_transaction()
            for step in planned:
                done.append(self._send(step) if isinstance(step, SentValue) else self._poll())
                may_crash()
            is_left = self._moved or random() < ABORTS
            if not is_left:
                self._say(OK, TXN, steps=tuple(self._commit(done)))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                self._say(INFO, TXN, steps=planned)
                raise
            is_left = True
        if is_left:
            insist(partial(self._producer.abort_transaction, STEP))
            self._say(FAIL, TXN, steps=(*done, *planned[len(done) :]))
            self._go_back()

    def _send(self, step: SentValue) -> SentValue:
        report = partial(self._delivered, step.value)
        value = str(step.value)
        self._producer.produce(self._topic, value, partition=step.partition, on_delivery=report)
        return step

    def _delivered(self, value: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._offsets[value] = message.offset()

    def _poll(self) -> Poll:
        found = [it for it in self._consumer.consume(BATCH, WAIT) if it.error() is None]
        return Poll(tuple(PolledValue(it[0], it[1], int(it[2])) for it in map(as_read, found)))

    def _commit(self, done: list[Step]) -> list[Step]:
        """What was done, with the offsets that were acknowledged."""
        polls = [each for each in done if isinstance(each, Poll)]
        ends = {record.partition: record.offset + 1 for poll in polls for record in poll.records}
        if self._positions is None and ends:
            places = [TopicPartition(self._topic, *each) for each in ends.items()]
            members = self._consumer.consumer_group_metadata()
            insist(partial(self._producer.send_offsets_to_transaction, places, members, STEP))
            may_crash()
        self._producer.flush(STEP)
        insist(partial(self._producer.commit_transaction, STEP))
        if self._positions is not None:
            self._positions |= ends
        return [
            each._replace(offset=self._offsets.get(each.value))
            if isinstance(each, SentValue)
            else each
            for each in done
        ]

    def _step(self) -> Step:
        if random() < 0.5:
            return Poll()
        self._next += 1
        return SentValue(choice(range(self._partitions)), self._next)


if __name__ == "__main__":
    bootstrap, topic, partitions, name, life = sys.argv[1:]
    client = RandomClient(bootstrap, topic, int(partitions), name, int(life))
    signal.signal(signal.SIGTERM, lambda *_: client.over.set())
    client.run()
