"""A quota of 1 MB/s, and a client beside it: python -m bench.quotas

On a broker of ours, and on one of Apache Kafka if `make real` has fetched it. Both clients are
confluent-kafka's producers. The limited one sends as fast as it is let; its neighbour, without a
quota, sends five times the quota, all the time. Shown are the limited one's rate in its first ten
seconds, and in the next 22, as parts of its quota; and what part of the neighbour's load was
stored, alone and beside it, with the time until a record was stored.

A quota allows the bytes of ten seconds at once, and again when the window in which they were sent
is forgotten, after eleven seconds. So the rate of ten seconds depends on when they begin, and the
first ten have up to a fifth more than their share: the windows are not full yet.
"""

import argparse
import math
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message, Producer

from bench.table import table
from engine.cluster.cluster import Cluster
from engine.cluster.kafka_process import KAFKA
from engine.errors import ApiException
from engine.quotas.entity import ClientQuotaEntity

QUOTA = 1_000_000  # bytes a second
LOAD = 5 * QUOTA  # of the neighbour
VALUE = b"x" * 10_000


class Client:
    """Produces in a thread, and counts what is stored."""

    def __init__(self, bootstrap: str, name: str, load: float = math.inf) -> None:
        self.stored = 0
        self.waited: list[float] = []  # seconds until a record was stored
        self._name = name
        self._pause = len(VALUE) / load
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "linger.ms": 5,
                "batch.size": 100_000,
                "queue.buffering.max.kbytes": 1_000,
                "log_level": 2,
            }
        )
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            self._thread.join()
            self._producer.purge()
            self._producer.flush(30)

    def rate(self, seconds: float) -> float:
        """Bytes a second, from now on for so long."""
        stored, began = self.stored, time.perf_counter()
        time.sleep(seconds)
        return (self.stored - stored) / (time.perf_counter() - began)

    def _run(self) -> None:
        due = time.perf_counter()
        while not self._stopped.is_set():
            try:
                sent = partial(self._delivered, time.perf_counter())
                self._producer.produce(self._name, VALUE, on_delivery=sent)
                due += self._pause
            except BufferError:  # the queue is full
                self._producer.poll(0.01)
            self._producer.poll(max(0, due - time.perf_counter()))

    def _delivered(self, sent: float, error: ClientError | None, message: Message) -> None:
        if error is None:
            self.stored += len(VALUE)
            self.waited.append(time.perf_counter() - sent)


def main() -> None:
    argparse.ArgumentParser(
        prog="bench.quotas",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    with Cluster() as cluster:
        rows = measured(cluster, 1)
        try:
            real = cluster.add_broker(KAFKA)
            rows += [[f"Kafka: {row[0]}", *row[1:]] for row in measured(cluster, real)]
        except ApiException as error:
            print(f"without Apache Kafka: {error.message}")
    print(table(["producer", "part of its quota, or load", "ms until stored (median)"], rows))


def measured(cluster: Cluster, broker: int) -> list[list[str]]:
    """The rows of a broker: each topic is there, and is named like its client."""
    topics = [cluster.topic(name, replicas=[broker]) for name in ("alone", "beside", "limited")]
    name = topics[2]
    quotas = {ClientQuotaEntity(client=name): {"producer_byte_rate": float(QUOTA)}}
    for future in cluster.admin.alter_client_quotas(quotas).values():
        future.result()
    alone, beside = (Client(cluster.bootstrap, each, LOAD) for each in topics[:2])
    with alone.running():
        rate_alone = alone.rate(10)
    limited = Client(cluster.bootstrap, name)
    with beside.running(), limited.running():
        stored = beside.stored
        began = time.perf_counter()
        first, then = limited.rate(10), limited.rate(22)
        rate_beside = (beside.stored - stored) / (time.perf_counter() - began)
    return [
        ["limited, first ten seconds", f"{first / QUOTA:.2f}", ""],
        ["limited, the next 22", f"{then / QUOTA:.2f}", ""],
        ["neighbour, alone", f"{rate_alone / LOAD:.3f}", _median(alone.waited)],
        ["neighbour, beside it", f"{rate_beside / LOAD:.3f}", _median(beside.waited)],
    ]


def _median(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.1f}"


if __name__ == "__main__":
    main()
