"""Our own clients beside kafka-python and confluent-kafka: python -m bench.clients.

    our broker  <--  kafka-python | ours | confluent-kafka        200-byte records, one partition

The same records to and from the same broker, each client in turn, round after round; a record
counts when it is acknowledged by all replicas, or delivered to the application. Each client has its
default settings. The ratios are medians over the rounds, each taken within one round.

kafka-python is Python like ours, and Python is what is compared. confluent-kafka is C (librdkafka)
with a thin Python layer, and shows the distance to that.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import count
from statistics import median
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from bench.table import number, table
from engine import Cluster
from engine.client.consumer import Consumer
from engine.client.producer import Producer
from engine.client.values import TopicPartition

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way
    import kafka

VALUE = bytes(200)
PATIENCE = 120.0  # seconds until something is given up
OURS = "ours"
PEERS = ("kafka-python", "confluent-kafka")

Load = Callable[[str, str, int], float]  # (bootstrap, topic, records) -> seconds
_numbers = count()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.clients", description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=100_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    options = parser.parse_args()
    with Cluster() as cluster:
        rounds = [one_round(cluster.bootstrap, options.records) for _ in range(options.rounds + 1)]
    print(told(rounds[1:], options.records))  # the first warms up


def one_round(bootstrap: str, records: int) -> dict[tuple[str, str], float]:
    """Seconds, by load and by client."""
    seconds: dict[tuple[str, str], float] = {}
    for client, produce in PRODUCE.items():
        topic = create(bootstrap)
        seconds["produce", client] = produce(bootstrap, topic, records)
    for client, consume in CONSUME.items():
        seconds["consume", client] = consume(bootstrap, topic, records)
    return seconds


def told(rounds: list[dict[tuple[str, str], float]], records: int) -> str:
    rows = []
    for what in ("produce", "consume"):
        rates = [
            f"{records / median(each[what, client] for each in rounds):,.0f}"
            for client in (PEERS[0], OURS, PEERS[1])
        ]
        ratios = [median(each[what, peer] / each[what, OURS] for each in rounds) for peer in PEERS]
        rows.append([f"{what}, records a second", *rates, *map(number, ratios)])
    head = ["", PEERS[0], OURS, PEERS[1], *(f"ours / {peer}" for peer in PEERS)]
    return table(head, rows)


def create(bootstrap: str) -> str:
    name = f"bench-{next(_numbers)}"
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    (future,) = admin.create_topics([NewTopic(name, 1, 1)]).values()
    future.result(PATIENCE)
    return name


# -- kafka-python ----------------------------------------------------------------------------


def kafka_python_produce(bootstrap: str, topic: str, records: int) -> float:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    producer.partitions_for(topic)
    began = time.perf_counter()
    for _ in range(records):
        producer.send(topic, VALUE, partition=0)
    producer.flush(PATIENCE)
    spent = time.perf_counter() - began
    producer.close()
    return spent


def kafka_python_consume(bootstrap: str, topic: str, records: int) -> float:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest"
    )
    consumer.assign([kafka.TopicPartition(topic, 0)])
    began = time.perf_counter()
    left = records
    while left:
        left -= sum(map(len, consumer.poll(1000).values()))
    spent = time.perf_counter() - began
    consumer.close()
    return spent


# -- confluent-kafka, and ours: the same methods ---------------------------------------------


def produce_with(make: Callable[[dict[str, Any]], Any], more: dict[str, Any]) -> Load:
    def produce(bootstrap: str, topic: str, records: int) -> float:
        producer = make({"bootstrap.servers": bootstrap, "acks": "all"} | more)
        producer.list_topics(topic, 10)  # connects
        began = time.perf_counter()
        for _ in range(records):
            while True:
                try:
                    producer.produce(topic, VALUE, partition=0)
                    break
                except BufferError:
                    producer.poll(0.01)
        assert producer.flush(PATIENCE) == 0
        spent = time.perf_counter() - began
        producer.close()
        return spent

    return produce


def consume_with(make: Callable[[dict[str, Any]], Any], place: Any, more: dict[str, Any]) -> Load:
    def consume(bootstrap: str, topic: str, records: int) -> float:
        settings = {"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False}
        consumer = make(settings | more)
        consumer.list_topics(topic, timeout=10)  # connects
        began = time.perf_counter()
        consumer.assign([place(topic, 0, 0)])
        left = records
        while left:
            left -= len(consumer.consume(min(left, 500), 1.0))
        spent = time.perf_counter() - began
        consumer.close()
        return spent

    return consume


QUIET = {"log_level": 0}

PRODUCE: dict[str, Load] = {
    "kafka-python": kafka_python_produce,
    OURS: produce_with(Producer, {}),
    "confluent-kafka": produce_with(confluent_kafka.Producer, QUIET),
}
CONSUME: dict[str, Load] = {
    "kafka-python": kafka_python_consume,
    OURS: consume_with(Consumer, TopicPartition, {}),
    "confluent-kafka": consume_with(
        confluent_kafka.Consumer, confluent_kafka.TopicPartition, QUIET
    ),
}

if __name__ == "__main__":
    main()
