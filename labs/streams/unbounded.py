"""A stream has no end: whoever sums it up has a sum so far. Only a piece of it has a total.

cards   0 1 2 3 ... 99 | 100 ... 199 | 200 ... 299 | 300 ...   somebody writes on
                       ^ so far      ^ so far      ^ so far
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from lab import until
from table import Table

from engine import Cluster, Consumer, TopicPartition
from streams import house, stand
from streams.stand import Record

LOOKS = (100, 200, 300)  # records after which we look
PAUSE = 0.05  # seconds between two rounds of the writer
ROUND = 10

Cases = dict[str, dict[str, bool]]


@dataclass
class Unbounded:
    looks: list[tuple[int, int, bool]]  # records read, sum so far, and whether more came
    bounded: list[int]  # the sum up to a fixed offset, while it grows and afterwards
    ends: list[int]  # of the stream, each time

    def __repr__(self) -> str:
        rows = [*self.looks, *(("only to offset 200", it, "") for it in self.bounded)]
        return repr(Table("records read, sum of all cards, did more come?", rows))

    def verdicts(self) -> Cases:
        sums = [total for _, total, _ in self.looks]
        return {
            "C155": {
                "whenever one has read so far, more comes": all(more for *_, more in self.looks),
                "and the sum is another one": len(set(sums)) == len(sums),
                "a piece of it has one total, also when the stream has grown": len(
                    set(self.bounded)
                )
                == 1
                and self.ends[1] > self.ends[0],
            }
        }


def unbounded(cluster: Cluster) -> Unbounded:
    topic = stand.topic(cluster, "cards")
    with writing(cluster, topic):
        looks = list(_look(cluster, topic))
        first, then = _sum(stand.read(cluster, topic, upto=200)), _end(cluster, topic)
        until("more records", lambda: _end(cluster, topic) > then)
        second, now = _sum(stand.read(cluster, topic, upto=200)), _end(cluster, topic)
    return Unbounded(looks, [first, second], [then, now])


def _look(cluster: Cluster, topic: str) -> Iterator[tuple[int, int, bool]]:
    """A plain consumer, that adds up what comes."""
    with cluster.consumer({"group.id": stand.fresh("sum")}) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        read: list[Record] = []
        for number in LOOKS:
            until("more records", partial(_more, consumer, read, number))
            yield number, _sum(read[:number]), len(read) > number


def _more(consumer: Consumer, read: list[Record], number: int) -> bool:
    read += stand.poll(consumer)
    return len(read) > number


def _sum(records: list[Record]) -> int:
    return sum(int(it.value or 0) for it in records)


def _end(cluster: Cluster, topic: str) -> int:
    with cluster.consumer({"group.id": "reader"}) as consumer:
        return stand.ends(consumer, topic)[0]


@contextmanager
def writing(cluster: Cluster, topic: str) -> Iterator[None]:
    """Somebody uses a card all the time, meanwhile."""
    ends = threading.Event()

    def write() -> None:
        with cluster.producer({"linger.ms": "5"}) as producer:
            for number, (guest, amount) in enumerate(house.cards()):
                producer.produce(topic, f"{amount:+}", guest)
                if number % ROUND == 0 and ends.wait(PAUSE):
                    return

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ends.set()
        writer.join()
