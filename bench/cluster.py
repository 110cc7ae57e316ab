"""A cluster by itself, beside its goals: python -m bench.cluster, some minutes.

    ready           three and five brokers from nothing
    replicated      acks=all to three replicas beside acks=all to one, on the same three brokers
    failover        a leader is killed: from then to the next acknowledged write, less the session
    1,000           partitions with three replicas: to create them; a broker's death handled, less
                    the session; Cluster.state()

Shares of the goals, so below 1 is better; except `replicated`, the rate beside the goal of a third,
where above 1 is better.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.table import number, table
from engine import Cluster
from engine.model import TopicPartition

SESSION = 3.0  # seconds; what is told is above it
CONFIG = {"zookeeper.session.timeout.ms": str(int(SESSION * 1000))}
VALUE = bytes(200)
PATIENCE = 120.0  # seconds until something is given up


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.cluster", description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=200_000, metavar="N")
    parser.add_argument("--partitions", type=int, default=1000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    options = parser.parse_args()
    rows = [("ready: 3 brokers, of 4 s", ready(3) / 4), ("ready: 5 brokers, of 6 s", ready(5) / 6)]
    with Cluster(brokers=3, config=CONFIG) as cluster:
        share = replicated(cluster, options.records, options.rounds)
        rows.append(("replicated three times, beside a third of the rate of one", share * 3))
    with Cluster(brokers=3, config=CONFIG) as cluster:
        elected, acknowledged = failover(cluster, options.rounds)
        rows.append(("failover: a new leader, above the session, of 1 s", elected))
        rows.append(("... librdkafka's next acknowledged write", acknowledged))
    with Cluster(brokers=3, config=CONFIG) as cluster:
        rows += many(cluster, options.partitions)
    print(table(["", "of the goal"], [(name, number(value)) for name, value in rows]))


def ready(brokers: int) -> float:
    began = time.monotonic()
    with Cluster(brokers=brokers):
        return time.monotonic() - began


@contextmanager
def producer(cluster: Cluster) -> Iterator[Producer]:
    made = Producer(
        {"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 5, "log_level": 0}
    )
    yield made
    made.flush(PATIENCE)


def create(cluster: Cluster, name: str, partitions: int, replication: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topic = NewTopic(name, partitions, replication)
    (future,) = admin.create_topics([topic], operation_timeout=PATIENCE).values()
    future.result(PATIENCE)


def replicated(cluster: Cluster, records: int, rounds: int) -> float:
    """The rate to three replicas as a share of that to one, taken in turns."""
    create(cluster, "one", 1, 1)
    create(cluster, "three", 1, 3)
    shares = []
    for _ in range(rounds + 1):  # the first warms up
        alone, three = produce(cluster, "one", records), produce(cluster, "three", records)
        shares.append(alone / three)
    return median(shares[1:])


def produce(cluster: Cluster, topic: str, records: int) -> float:
    with producer(cluster) as client:
        client.list_topics(topic)
        began = time.perf_counter()
        for _ in range(records):
            while True:
                try:
                    client.produce(topic, VALUE)
                    break
                except BufferError:
                    client.poll(0.01)
        assert client.flush(PATIENCE) == 0
        return time.perf_counter() - began


def failover(cluster: Cluster, rounds: int) -> tuple[float, float]:
    """Seconds from the death of a leader, less the session: to a new leader, to the next write.

    librdkafka looks for a lost leader once a second, and often twice before it takes the new one.
    """
    create(cluster, "orders", 1, 3)
    elections, writes = [], []
    with producer(cluster) as client:
        for _ in range(rounds):
            acknowledge(client, "orders")
            leader = leads(cluster)
            cluster.kill(leader)
            began = time.monotonic()
            until(lambda leader=leader: leads(cluster) not in (-1, leader))
            elections.append(time.monotonic() - began - SESSION)
            cluster.restart(leader)
            until(lambda: all(len(each.isr) == 3 for each in cluster.state().partitions.values()))
            acknowledge(client, "orders")
            leader = leads(cluster)
            cluster.kill(leader)
            began = time.monotonic()
            acknowledge(client, "orders")
            writes.append(time.monotonic() - began - SESSION)
            cluster.restart(leader)
            until(lambda: all(len(each.isr) == 3 for each in cluster.state().partitions.values()))
    return median(elections), median(writes)


def leads(cluster: Cluster) -> int:
    return cluster.state().partitions[TopicPartition("orders", 0)].leader


def acknowledge(client: Producer, topic: str) -> None:
    told: list[object] = []
    client.produce(topic, VALUE, on_delivery=lambda error, message: told.append(error))
    while not told:
        client.poll(0.01)
    assert told == [None], told


def many(cluster: Cluster, partitions: int) -> list[tuple[str, float]]:
    began = time.monotonic()
    create(cluster, "many", partitions, 3)
    created = time.monotonic() - began
    until(lambda: len(cluster.state().partitions) == partitions)
    states = []
    for _ in range(20):
        began = time.monotonic()
        cluster.state()
        states.append(time.monotonic() - began)
    victim = next(broker for broker, each in cluster.state().brokers.items() if not each.active)
    cluster.kill(victim)
    began = time.monotonic()
    until(
        lambda: all(
            each.leader not in (-1, victim) and victim not in each.isr
            for each in cluster.state().partitions.values()
        )
    )
    handled = time.monotonic() - began - SESSION
    what = f"{partitions:,} partitions"
    return [
        (f"{what}: created, of 20 s", created / 20),
        (f"{what}: a broker's death above the session, of 3 s", handled / 3),
        (f"{what}: state(), of 100 ms", median(states) / 0.1),
    ]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "given up"
        time.sleep(0.02)


if __name__ == "__main__":
    main()
