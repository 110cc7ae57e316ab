"""The cost of a transaction: python -m bench.transactions

The same records, by confluent-kafka's producer to one partition, with idempotence alone and in
transactions of so many records each. Shown is the rate as a part of that without transactions, in
the same round, and of the rounds the median; the first round warms up and is left out.

A transaction costs the same however large it is: one record in the coordinator's log to begin and
two to end it, a marker in each partition, and the time until all of these are replicated.
"""

import argparse
import statistics
import time
from contextlib import suppress

from confluent_kafka import Producer

from bench.table import number, table
from engine.cluster.cluster import Cluster

TOPIC = "orders"
SIZES = (10_000, 1_000, 100)  # records of a transaction
VALUE = b"x" * 200
PATIENCE = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.transactions", description=__doc__)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = [
        [f"{brokers}", *map(number, parts(brokers, options.records, options.rounds))]
        for brokers in (1, 3)
    ]
    print(table(["brokers", *(f"{size:,} records each" for size in SIZES)], rows))


def parts(brokers: int, records: int, rounds: int) -> list[float]:
    """For each size the rate, as a part of the rate without transactions."""
    with Cluster(brokers=brokers) as cluster:
        cluster.admin.create_topic(TOPIC, partitions=1, replication=brokers)
        settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 5, "log_level": 2}
        plain = Producer(settings | {"enable.idempotence": True})
        within = Producer(settings | {"transactional.id": "bench"})
        within.init_transactions(PATIENCE)
        found: dict[int, list[float]] = {size: [] for size in SIZES}
        for turn in range(rounds + 1):
            usual = written(plain, records)
            for size, ratios in found.items():
                spent = sum(committed(within, size) for _ in range(records // size))
                ratios += [usual / spent] if turn else []
    return [statistics.median(ratios) for ratios in found.values()]


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
