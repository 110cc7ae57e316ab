"""A pipeline that is watched from outside, through its topics, and killed as a machine dies."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from engine.cluster.cluster import Cluster
from tests.interop.watch import until
from tests.limits import SPARK_S

DRIVER = Path(__file__).with_name("sink_driver.py")
ROOT = DRIVER.parents[2]
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "SPARK_MASTER": "local[2,4]",  # a task has four attempts
}


class Sight(NamedTuple):
    """What there is in the topics."""

    staged: int  # records in the staging topic
    decided: int  # epochs
    published: int  # epochs
    stored: int  # records in the target


class Watch:
    """Consumers that see what is there, as anyone may."""

    def __init__(self, bootstrap: str, target: str) -> None:
        self.target, self._ledger = target, f"{target}-epochs"
        settings = {"bootstrap.servers": bootstrap, "group.id": "watch"}
        self._consumer = Consumer(settings)
        self._reader = Consumer({**settings, "auto.offset.reset": "earliest"})
        self._reader.assign([TopicPartition(self._ledger, 0, 0)])
        self._decided: set[bytes] = set()
        self._published: set[bytes] = set()

    def close(self) -> None:
        self._consumer.close()
        self._reader.close()

    def places(self, topic: str) -> list[TopicPartition]:
        """Where each of its partitions ends; none if the topic is not there yet."""

        def asked() -> list[list[TopicPartition]]:
            with suppress(KafkaException):  # leaders move, and then they are not known for a moment
                found = self._consumer.list_topics(topic, timeout=10).topics[topic]
                places = [TopicPartition(topic, n) for n in found.partitions]
                for each in places:
                    each.offset = self._consumer.get_watermark_offsets(each, timeout=10)[1]
                return [places]
            return []

        return until(asked, SPARK_S)[0]

    def size(self, topic: str) -> int:
        return sum(each.offset for each in self.places(topic))

    def look(self) -> Sight:
        staged = self.size(f"{self.target}-staging")
        if self.size(self._ledger):
            for message in self._reader.consume(1000, timeout=0.01):
                self._note(message)
        stored = self.size(self.target)
        return Sight(staged, len(self._decided), len(self._published), stored)

    def _note(self, message: Any) -> None:
        if message.error() is None and message.value() is not None:
            _, epoch, kind, *_ = message.key().split(b"/")
            (self._decided if kind == b"decided" else self._published).add(epoch)

    def records(self) -> Counter[str]:
        """All that a plain consumer finds in the target, from the beginning to the end."""
        places = self.places(self.target)
        end, found = sum(each.offset for each in places), Counter[str]()
        self._consumer.assign([TopicPartition(it.topic, it.partition, 0) for it in places])

        def all_read() -> bool:
            for message in self._consumer.consume(500, timeout=0.5):
                if message.error() is None:
                    found[message.value().decode()] += 1
            return found.total() >= end

        until(all_read, SPARK_S)
        self._consumer.unassign()
        return found


class Life:
    """One driver's, from its start to its end."""

    def __init__(self, work: dict[str, Any], log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(DRIVER), json.dumps(work)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ENVIRONMENT},
                start_new_session=True,
            )
        self._family: set[int] = {self._process.pid}

    @property
    def jvm(self) -> int:
        first = until(lambda: self._first_line() or self._ended(), SPARK_S)
        assert first.isdecimal(), f"the driver did not start: {self.log()}"
        return int(first)

    def _first_line(self) -> str:
        head, end, _ = self.log().partition("\n")
        return head if end else ""

    def _ended(self) -> str:
        return "" if self._process.poll() is None else f"exit {self._process.returncode}"

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def await_sight(self, condition: Callable[[], bool]) -> None:
        """Until it is so, or the driver has come to its end by itself."""
        until(lambda: condition() or self._ended(), SPARK_S)

    def kill(self, workers: bool) -> None:
        """The driver and its JVM at once; its Python workers too, or they go on for a moment."""
        self._family |= {*descendants(self._process.pid)}
        doomed = self._family if workers else {self._process.pid, self.jvm}
        for pid in doomed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def kill_worker(self) -> None:
        """A Python worker at its task: one that Spark's daemon has forked."""
        for pid in descendants(self.jvm, forked=".daemon"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """All is written, and the driver ends by itself."""
        until(self._ended, SPARK_S)
        assert self._process.returncode == 0, self.log()

    def bury(self) -> None:
        """Nothing of it is left, whatever happened."""
        if self._process.poll() is None:
            self.kill(workers=True)
        until(lambda: not any(map(_alive, self._family)), SPARK_S)


def _alive(pid: int) -> bool:
    state = _ps("-o", "stat=", "-p", str(pid))
    return bool(state.strip()) and not state.startswith("Z")


def _ps(*words: str) -> str:
    """What it tells; nothing if there is no such process."""
    return subprocess.run(["ps", *words], capture_output=True, text=True, check=False).stdout


def descendants(root: int, forked: str = "") -> list[int]:
    """Processes below this one; with `forked`, those whose command and parent's have that."""
    rows = [line.split(None, 2) for line in _ps("-axo", "pid=,ppid=,args=").splitlines()]
    table = {int(pid): (int(parent), " ".join(args)) for pid, parent, *args in rows}
    found, fresh = [], [root]
    while fresh:
        fresh = [pid for pid, (parent, _) in table.items() if parent in fresh]
        found += fresh
    if forked:
        of = {pid: table.get(table[pid][0], (0, ""))[1] for pid in found}
        found = [pid for pid in found if forked in table[pid][1] and forked in of[pid]]
    return found


class Pipeline:
    """Lines in files, a topic, and drivers that live one after the other."""

    def __init__(self, cluster: Cluster, folder: Path, target: str, **options: str) -> None:
        self.watch = Watch(cluster.bootstrap, target)
        self.lines: list[str] = []
        self._folder, self._numbers = folder, count()
        (folder / "input").mkdir()
        self._work = {
            "input": str(folder / "input"),
            "checkpoint": str(folder / "checkpoint"),
            "options": {
                "kafka.bootstrap.servers": cluster.bootstrap,
                "kafka.batch.size": "2000",  # many batches, so there is a middle to be killed in
                "topic": target,
                "ledgerTopic": f"{target}-epochs",
                **options,
            },
        }

    def add(self, epochs: int, rows: int) -> None:
        """Two files for each epoch; files are taken in the order of their ages."""
        for number in range(2 * epochs):
            lines = [f"k{n % 50} {number} {n} {'x' * 60}" for n in range(rows // 2)]
            path = self._folder / "input" / f"{number:03}.txt"
            path.write_text("".join(f"{line}\n" for line in lines))
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
            self.lines += lines

    @contextmanager
    def life(self) -> Iterator[Life]:
        life = Life(self._work, self._folder / f"life-{next(self._numbers)}.log")
        try:
            yield life
        finally:
            life.bury()
