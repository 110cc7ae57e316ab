"""State in the processor, or in a database that others use, too.

cards ──> count ── get Mei, put Mei 17 ──> SQLite in this process              Here
              └──────────────────────────> SQLite in another one, over TCP     Far

The same code counts with either, on the same database; Far counts its round trips and bytes.
"""

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, Protocol

import plotly.graph_objects as go  # type: ignore[import-untyped]
from lab import until
from table import Table

from engine import Cluster, TopicPartition
from engine.cluster.child import Child
from engine.cluster.scratch import Scratch
from streams import house, server, stand, times
from streams.crew import launch
from streams.unbounded import Cases

EVENTS = 1500
DELAY = 0.001  # seconds: the next building
FEW = 100


class Store(Protocol):
    def get(self, key: str) -> int: ...

    def put(self, key: str, value: int) -> None: ...


class Here(server.Table):
    """In this process."""

    trips = bytes = 0


class Far:
    """Over there: every question is a round trip."""

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection(("127.0.0.1", port))
        self._line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._line.makefile("rb")
        self.trips = self.bytes = 0

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
        self.trips += 1
        self.bytes += len(question) + len(answer)
        return answer


def count(keys: Iterable[str], store: Store) -> None:
    """The stateful operation, whoever keeps its state."""
    for key in keys:
        store.put(key, store.get(key) + 1)


class Server:
    """The database's process."""

    def __init__(self, delay: float = 0.0) -> None:
        self._scratch = Scratch()
        place = self._scratch.path / "port"
        self.child: Child = launch(
            self._scratch.path / "log",
            "streams.server",
            [str(place), str(delay)],
            (self._scratch.end,),
        )
        until("the database", place.exists)
        self.port = int(place.read_text())

    def close(self) -> None:
        self.child.kill()
        self._scratch.remove()


@contextmanager
def database(delay: float = 0.0) -> Iterator[Server]:
    found = Server(delay)
    try:
        yield found
    finally:
        found.close()


# -- what it costs ---------------------------------------------------------------------------


class Cost(NamedTuple):
    trips: int
    bytes: int
    seconds: float
    table: dict[str, int]


@dataclass
class Costs:
    """The same events counted with each store."""

    events: int
    size: int  # bytes of all events
    of: dict[str, Cost]

    def __repr__(self) -> str:
        rows = [(name, it.trips, it.bytes) for name, it in self.of.items()]
        return repr(Table(("state is", "round trips", "bytes for the state"), rows))

    def ratio(self, name: str) -> float:
        """How many times as long as here."""
        return self.of[name].seconds / self.of["here"].seconds

    def figure(self) -> go.Figure:
        seconds = {f"state is {name}": it.seconds for name, it in self.of.items()}
        return times.figure(seconds, "time for all cards; 1: state is here")

    def verdicts(self) -> Cases:
        here, near, far = self.of.values()
        return {
            "C167": {
                "all count the same": here.table == near.table == far.table,
                "over the network every event costs two round trips, here none": (
                    here.trips,
                    near.trips,
                    far.trips,
                )
                == (0, 2 * self.events, 2 * self.events),
                "more bytes travel for the state than for the events": near.bytes > self.size,
                "it takes more than twice as long": self.ratio("near") > 2,
                "from another building more than ten times": self.ratio("far") > 10,
            }
        }


def costs() -> Costs:
    """No cluster is needed: this is about what lies beyond it."""
    keys = [guest for guest, _ in house.some_cards(EVENTS)]
    found = {"here": _cost(keys, Here())}
    for name, delay in {"near": 0.0, "far": DELAY}.items():
        with database(delay) as process:
            store = Far(process.port)
            found[name] = _cost(keys, store)
            store.close()
    return Costs(EVENTS, sum(map(len, keys)), found)


def _cost(keys: list[str], store: Here | Far) -> Cost:
    took = []
    for key in keys:
        began = time.perf_counter()
        count([key], store)
        took.append(time.perf_counter() - began)
    seconds = median(took) * len(keys)  # when the machine stalls, that is nobody's cost
    trips, size = store.trips, store.bytes
    return Cost(trips, size, seconds, {key: store.get(key) for key in sorted(set(keys))})


# -- what it depends on ----------------------------------------------------------------------


class Job(threading.Thread):
    """Counts what comes to a topic, in a store."""

    def __init__(self, cluster: Cluster, topic: str, store: Store) -> None:
        super().__init__(daemon=True)
        self._consumer = cluster.consumer({"group.id": stand.fresh("job")})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._store = store
        self._ends = threading.Event()
        self.done = 0  # records

    def run(self) -> None:
        while not self._ends.is_set():
            for it in stand.poll(self._consumer):
                count([it.key], self._store)
                self.done += 1
        self._consumer.close()

    def end(self) -> None:
        self._ends.set()
        self.join()


@dataclass
class Dependence:
    """Two jobs on one topic, while the database stands still, and after somebody was in it."""

    still: dict[str, int]  # records done while it stood still
    resumed: dict[str, int]  # and when it went on
    tables: dict[str, dict[str, int]]  # in the end
    truth: dict[str, int]

    def __repr__(self) -> str:
        rows = [
            (name, self.still[name], self.resumed[name], self.tables[name] == self.truth)
            for name in self.still
        ]
        head = ("state is", "done while the database stands still", "when it goes on")
        return repr(Table((*head, "counts are right in the end"), rows))

    def verdicts(self) -> Cases:
        return {
            "C168": {
                "the database stands still: so does the job with remote state": not self.still[
                    "far"
                ]
                and self.resumed["far"] == FEW,
                "the job with local state goes on": self.still["here"] == FEW,
                "somebody changes a row: the job's counts are wrong from then on": self.tables[
                    "far"
                ]
                != self.truth,
                "local counts are right": self.tables["here"] == self.truth,
            }
        }


def dependence(cluster: Cluster) -> Dependence:
    topic, events = stand.topic(cluster, "cards"), house.some_cards(3 * FEW)
    records = house.pairs(events)
    with database() as process:
        stores: dict[str, Here | Far] = {"here": Here(), "far": Far(process.port)}
        jobs = {name: Job(cluster, topic, store) for name, store in stores.items()}
        for job in jobs.values():
            job.start()
        stand.send(cluster, topic, records[:FEW])
        until("the first", lambda: all(job.done == FEW for job in jobs.values()))
        process.child.pause()
        stand.send(cluster, topic, records[FEW : 2 * FEW])
        until("the local job", lambda: jobs["here"].done == 2 * FEW)
        still = {name: job.done - FEW for name, job in jobs.items()}
        process.child.resume()
        until("the other one", lambda: jobs["far"].done == 2 * FEW)
        resumed = {name: job.done - FEW for name, job in jobs.items()}
        other = Far(process.port)  # of another team
        other.put("Mei", 1000)
        stand.send(cluster, topic, records[2 * FEW :])
        until("the last", lambda: all(job.done == 3 * FEW for job in jobs.values()))
        for job in jobs.values():
            job.end()
        tables = {
            name: {key: store.get(key) for key in sorted(house.GUESTS)}
            for name, store in stores.items()
        }
    return Dependence(still, resumed, tables, house.counts(events))
