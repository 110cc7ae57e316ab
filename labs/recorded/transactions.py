"""Orders become bills, in transactions; one of two copiers is killed in the middle of one.

 0 s   a shop writes orders; two copiers of one group write a bill for each, and commit offsets and
       bills in one transaction; of the bills one reader reads committed, another one uncommitted
11 s   the second copier is killed: its transaction stays open, and with it the last stable offset
       the first copier commits more bills: they are read uncommitted, and not committed
17 s   the transaction has taken too long: its coordinator raises the epoch, and sends ABORT markers
       all bills that have waited are read committed, but not those of the open transaction
21 s   the group misses the dead copier: the first one reads those orders, and writes their bills
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from time import time

from lab import until

from engine import Consumer, Producer, TopicPartition
from recorded.stand import Stand
from widgets import AccumulatorView
from widgets.group.group_run import DEEDS

TOPIC, GROUP, DOOMED = "bills", "copiers", "copier-2"
BATCHES = "batches"  # the track of a producer's batches
CONFIG = {
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}
WRITER = {"transaction.timeout.ms": "6000", "linger.ms": "200"}
READER = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
TIMES = {"session.timeout.ms": "11000", "heartbeat.interval.ms": "1000"}
PAUSE, LIFE = 1.2, 40  # seconds: in which a copier collects orders, and of the second one, at most
DIES_AT = 4  # the transaction in which it is killed


def clients(bootstrap: str, name: str) -> tuple[Producer, Consumer]:
    where = {"bootstrap.servers": bootstrap, "client.id": name}
    return Producer(where | WRITER | {"transactional.id": name}), Consumer(where | READER | TIMES)


def copy(producer: Producer, consumer: Consumer, over: Event, dies_at: int = 0) -> None:
    """Write a bill for each order; be killed before the commit of that number."""
    producer.init_transactions()
    consumer.subscribe(["orders"])
    while not over.is_set():
        if not (orders := consumer.consume(20, PAUSE)):
            continue
        producer.begin_transaction()
        for order in orders:
            producer.produce(TOPIC, order.value().replace(b"order", b"bill"), order.key())
        last = {it.partition() or 0: it.offset() or 0 for it in orders}
        read = [TopicPartition("orders", part, offset + 1) for part, offset in last.items()]
        me = consumer.consumer_group_metadata()
        assert me is not None, "it has joined, or it would have no orders"
        producer.send_offsets_to_transaction(read, me)
        dies_at -= 1
        if dies_at == 0:
            producer.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        producer.commit_transaction()
    consumer.close()
    producer.close()


def play(path: Path) -> None:
    doomed: list[subprocess.Popen[bytes]] = []

    def deeds() -> list[tuple[int, str, str]] | None:
        if not doomed or doomed[0].poll() is None:
            return None
        doomed.clear()
        return [(round(time() * 1000), DOOMED, "kill")]

    def batches() -> object:
        return view.moments() if stand.is_ending else None

    tracks = {DEEDS: deeds, BATCHES: batches}
    with Stand(path, config=CONFIG, files={"bills-0": [1]}, tracks=tracks) as stand:
        stand.topic("orders", [[2, 3, 1], [3, 1, 2]])
        stand.topic(TOPIC, [[1, 2, 3]], segment_bytes="20000")
        stand.write(3, partitions=2)
        for level in ("committed", "uncommitted"):
            stand.read(f"reads-{level}", TOPIC, isolation_level=f"read_{level}")
        where = stand.cluster.bootstrap
        command = [sys.executable, "-m", "recorded.transactions", where]
        doomed.append(subprocess.Popen(command, cwd=Path(__file__).parents[1]))
        producer, consumer = clients(where, "copier-1")
        view = AccumulatorView(producer)
        stand.hand(lambda: copy(producer, consumer, stand.over))
        until("its death", lambda: not doomed)
        until("an abort", lambda: stand.states().transactions[DOOMED].state == "CompleteAbort")
        until("the group to miss it", lambda: len(stand.states().groups[GROUP].members) == 1)
        stand.beat(6)
        stand.end()


if __name__ == "__main__":
    signal.alarm(LIFE)
    copy(*clients(sys.argv[1], DOOMED), Event(), DIES_AT)
