"""State in this process, or in a database that others use, too.

with remote.database(0.001) as store:         in a process of its own (server.py), over TCP
    store.put("Mei", store.get("Mei") + 1)    store.bytes: what has travelled for that
with remote.database(None) as store:          the same database, here
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import plotly.graph_objects as go  # type: ignore[import-untyped]
from lab import until

from engine import Cluster, TopicPartition
from engine.cluster.child import Child
from engine.cluster.scratch import Scratch
from streams import sample, server, stand
from streams.processes import launch


class LocalStore(server.ServedTable):
    bytes = 0


class RemoteStore:
    """Every question is a round trip."""

    def __init__(self, port: int, process: Child) -> None:
        self.process = process
        self._line = socket.create_connection(("127.0.0.1", port))
        self._line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._line.makefile("rb")
        self.bytes = 0

    def get(self, key: str) -> int:
        return int(self._ask(key))

    def put(self, key: str, value: int) -> None:
        self._ask(f"{key} {value}")

    def close(self) -> None:
        self._answers.close()
        self._line.close()

    def _ask(self, words: str) -> bytes:
        question = f"{words}\n".encode()
        self._line.sendall(question)
        answer = self._answers.readline()
        self.bytes += len(question) + len(answer)
        return answer


@contextmanager
def database(delay: float | None) -> Iterator[LocalStore | RemoteStore]:
    """`delay`: seconds that each answer takes more; None: no server, the table is here."""
    if delay is None:
        yield LocalStore()
        return
    scratch = Scratch()
    place, log = scratch.path / "port", scratch.path / "log"
    process = launch(log, "streams.server", [str(place), str(delay)], (scratch.end,))
    try:
        until("the database", place.exists)
        store = RemoteStore(int(place.read_text()), process)
        yield store
        store.close()
    finally:
        process.kill()
        scratch.remove()


class StoreJob(threading.Thread):
    """Counts what comes to a topic of one partition, in a store."""

    def __init__(self, cluster: Cluster, topic: str, store: LocalStore | RemoteStore) -> None:
        super().__init__(daemon=True)
        self._cluster, self._topic, self._store = cluster, topic, store
        self._consumer = cluster.consumer({"group.id": f"job on {topic}"})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._ends = threading.Event()
        self.done = 0  # records
        self.start()

    def run(self) -> None:
        while not self._ends.is_set():
            for it in stand.poll(self._consumer):
                self._store.put(it.key, self._store.get(it.key) + 1)
                self.done += 1
        self._consumer.close()

    @property
    def behind(self) -> int:
        """Records of its topic that it has not counted."""
        with self._cluster.consumer({"group.id": "reader"}) as consumer:
            return stand.ends(consumer, self._topic)[0] - self.done

    def end(self) -> dict[str, int]:
        """No more cards; the counts of all guests."""
        self._ends.set()
        self.join()
        return {guest: self._store.get(guest) for guest in sorted(sample.GUESTS)}


def chart(ratios: Mapping[str, float]) -> go.Figure:
    """How long one thing takes beside another: ratios, never seconds."""
    figure = go.Figure()
    figure.add_bar(
        y=list(ratios),
        x=list(ratios.values()),
        orientation="h",
        text=[f"{it:,.1f}" for it in ratios.values()],
        marker={"color": "#4c78a8"},
    )
    figure.update_layout(
        template="simple_white",
        height=120 + 50 * len(ratios),
        margin={"t": 30},
        xaxis_title=f"time; 1: {next(iter(ratios))}",
        yaxis={"autorange": "reversed"},
    )
    return figure
