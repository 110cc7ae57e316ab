"""The cost of a transaction: python -m bench.transactions

The same records, by confluent-kafka's producer to one partition, with idempotence alone and in
transactions of so many records each, on one broker and on three. Where `make real` has copied
Kafka's jars, Kafka 2.8 is measured in the same run.

The first table has the rate as a part of that without transactions, in the same round; of the
rounds the median. The first round warms up and is left out. The second one has the transactions per
second of the engine, divided by Kafka's.

A transaction costs the same however large it is: one record in the coordinator's log to begin and
two to end it, a marker in each partition, and the time until all of these are replicated.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.peers.apache import Kafka28
from bench.peers.engine import Engine
from bench.peers.kafka import KafkaPeer
from bench.table import number, table

TOPIC = "orders"
SIZES = (10_000, 1_000, 100)  # records of a transaction
HEADINGS = [f"{size:,} records each" for size in SIZES]
VALUE = b"x" * 200
PATIENCE = 120.0
PEERS = {1: (Engine(), Kafka28()), 3: (Engine(3), Kafka28(3))}  # by number of brokers


class Cost:
    """Of one peer: in each round the seconds without transactions, and those of each size."""

    def __init__(self, rounds: Sequence[tuple[float, Sequence[float]]]) -> None:
        self.part = [
            statistics.median(usual / it[place] for usual, it in rounds)
            for place in range(len(SIZES))
        ]
        self.seconds = [
            statistics.median(it[place] for _, it in rounds) for place in range(len(SIZES))
        ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.transactions", description=__doc__)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    parts, beside = [], []
    for brokers, peers in PEERS.items():
        costs = [
            cost(it, brokers, options.records, options.rounds) for it in peers if it.installed()
        ]
        parts += [
            [f"{peer.name}", f"{brokers}", *map(number, it.part)]
            for peer, it in zip(peers, costs, strict=False)
        ]
        if len(costs) == len(peers):
            ours, kafka = (it.seconds for it in costs)
            ratios = [theirs / own for own, theirs in zip(ours, kafka, strict=True)]
            beside.append([f"{brokers}", *map(number, ratios)])
    print(table(["", "brokers", *HEADINGS], parts))
    if beside:
        print()
        print(table(["the engine beside Kafka, brokers", *HEADINGS], beside))


def cost(peer: KafkaPeer, brokers: int, records: int, rounds: int) -> Cost:
    with TemporaryDirectory() as home:
        peer.start(Path(home))
        try:
            client = AdminClient({"bootstrap.servers": peer.bootstrap, "log_level": 2})
            new = NewTopic(TOPIC, 1, brokers)
            client.create_topics([new], operation_timeout=PATIENCE)[TOPIC].result(PATIENCE)
            settings = {"bootstrap.servers": peer.bootstrap, "linger.ms": 5, "log_level": 2}
            plain = Producer(settings | {"enable.idempotence": True})
            within = Producer(settings | {"transactional.id": "bench"})
            within.init_transactions(PATIENCE)
            found = [
                (
                    written(plain, records),
                    [
                        sum(committed(within, size) for _ in range(records // size))
                        for size in SIZES
                    ],
                )
                for _ in range(rounds + 1)
            ]
        finally:
            peer.stop()
    return Cost(found[1:])


def committed(producer: Producer, records: int) -> float:
    began = time.perf_counter()
    producer.begin_transaction()
    produce(producer, records)
    producer.commit_transaction(PATIENCE)
    return time.perf_counter() - began


def written(producer: Producer, records: int) -> float:
    began = time.perf_counter()
    produce(producer, records)
    assert producer.flush(PATIENCE) == 0
    return time.perf_counter() - began


def produce(producer: Producer, records: int) -> None:
    left = records
    while left:
        with suppress(BufferError):  # its queue is full: some must be delivered first
            producer.produce(TOPIC, VALUE)
            left -= 1
            continue
        producer.poll(0.1)


if __name__ == "__main__":
    main()
