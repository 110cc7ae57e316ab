"""A chain of stock clients that read, write and commit in transactions, while faults are injected.

    writer ──> orders ──> copier-1 ──┐
                     ╰──> copier-2 ──┴──> copies ──> a reader of what is committed
                          one group

Each copier is a process (copier.py) that kills itself now and then; librdkafka, too, may end it by
an assertion. One that has ended, or does nothing for long, has a successor with the same
transactional.id, which fences it.

Which errors a copier may meet is not judged, only what is stored in the end: see
transaction_judge.py.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Self

from confluent_kafka import KafkaException, TopicPartition

from engine.cluster.cluster import Cluster
from proof.chaos import judge
from proof.chaos.client_supervisor import ClientSupervisor
from proof.chaos.cluster_reader import as_read, consumer, read_all
from proof.chaos.copier import GROUP, STEP
from proof.chaos.history import ClientHistory, ReadRecord
from proof.chaos.judge import ChaosFinding, ChaosVerdict, FindingKind, files_alike
from proof.chaos.transaction_history import TransactionEnd, TransactionHistory
from proof.chaos.transaction_judge import compare
from proof.chaos.wait import Late, until
from proof.chaos.workload import ChaosWorkload, TailReader

COPIERS = 3
RATE = 150  # records a second, into the source
LIFE = 100_000  # transactions of one process of a copier, at most
PATIENCE = 120.0  # seconds until transactions are committed, or more records are copied


class CopierWorkload:
    """A writer, copiers and a reader, and the verdict in the end; as `ChaosWorkload`."""

    def __init__(
        self,
        cluster: Cluster,
        source: str,
        sink: str,
        await_whole: Callable[[], object],
        *,
        partitions: int,
    ) -> None:
        self.history = TransactionHistory(source, sink, partitions)
        self._cluster, self.await_whole = cluster, await_whole
        self.feed = ChaosWorkload(cluster, source, await_whole, partitions=partitions, rate=RATE)
        copies = ClientHistory(sink, partitions)  # of the reader alone
        self.history.seen = copies.seen
        self.history.errors = copies.errors
        self.follower = TailReader(cluster.bootstrap, copies, "the reader of copies")
        names = [f"copier-{number + 1}" for number in range(COPIERS)]
        self.copiers = ClientSupervisor(names, self._command, self._heard, cluster.data)

    def _command(self, name: str, life: int) -> list[str]:
        history = self.history
        history.lives = life + 1
        what = [history.source, history.sink, str(history.partitions), name, str(life * LIFE)]
        return [sys.executable, "-m", "proof.chaos.copier", self._cluster.bootstrap, *what]

    def _heard(self, name: str, life: int, line: str) -> None:
        match line.split():
            case ["begin", number, *values]:
                made = self.history.begin(name, int(number))
                made.values = {each.encode() for each in values}
            case ["committed" | "aborted" as end, number]:
                self.history.transactions[name, int(number)].end = TransactionEnd(end)

    def advance(self, count: int = 50) -> None:
        """Wait until `count` more records are written, and some more transactions committed."""
        done = self.history.committed()
        self.feed.advance(count)
        enough = done + COPIERS
        until(lambda: self.history.committed() > enough, PATIENCE, "that transactions commit")
        if self.history.errors:
            raise Late(f"the copiers make no progress: {self.history.errors}")

    def verdict(self) -> ChaosVerdict:
        """Stop writing, wait until all is copied, and judge."""
        self.await_whole()
        self.feed.stop()
        bootstrap, history = self._cluster.bootstrap, self.history
        written = self.feed.history
        inputs = read_all(bootstrap, history.source, written.ends())
        ends = {read.partition: read.offset + 1 for read in inputs}
        findings = []
        try:
            await_copies(self._offsets, ends)
        except Late as late:
            findings.append(ChaosFinding(FindingKind.ERROR, str(late)))
        self.close()
        outputs, below = read_committed(bootstrap, history.sink, history.partitions)
        verdict = compare(history, inputs, outputs, self._offsets())
        findings += files_alike(self._cluster, history.sink, below)
        source = judge.judge(written, self._cluster)
        findings += source.findings
        evidence = f"{verdict.evidence}; the source: {source.evidence}"
        return ChaosVerdict((*verdict.findings, *findings), evidence)

    def close(self) -> None:
        self.feed.close()
        self.copiers.stop()
        self.follower.stop()

    def _offsets(self) -> dict[int, int]:
        """The offsets of the group."""
        with consumer(self._cluster.bootstrap, **{"group.id": GROUP}) as reader:
            numbers = range(self.history.partitions)
            asked = [TopicPartition(self.history.source, number) for number in numbers]
            try:
                found = reader.committed(asked, timeout=STEP)
            except KafkaException:
                return {}
            return {each.partition: each.offset for each in found if each.error is None}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_committed(
    bootstrap: str, topic: str, partitions: int
) -> tuple[list[ReadRecord], dict[int, int]]:
    """Every committed record, and each partition's high watermark. Every transaction has to end:
    one that stays open hides what is behind it, and then the records are missing here.

    A consumer that reads what is committed would get the last stable offset for a high watermark:
    another one asks for it, and the first waits until the transactions of clients that have crashed
    are over.
    """
    found, ends = list[ReadRecord](), dict[int, int]()
    with (
        consumer(bootstrap, **{"enable.partition.eof": True}) as reader,
        consumer(bootstrap, **{"isolation.level": "read_uncommitted"}) as other,
    ):
        for number in range(partitions):
            at, deadline = 0, time.monotonic() + PATIENCE
            asked = TopicPartition(topic, number, 0)
            ends[number] = other.get_watermark_offsets(asked, timeout=STEP)[1]
            reader.assign([asked])
            while at < ends[number] and time.monotonic() < deadline:
                for message in reader.consume(1000, 0.1):
                    offset = message.offset()
                    if message.error() is None:
                        found.append(as_read(message))
                    elif offset is not None and offset >= 0:
                        at = offset  # the end, by now
    return found, ends


def await_copies(
    offsets: Callable[[], Mapping[int, int]], ends: Mapping[int, int], patience: float = PATIENCE
) -> None:
    """The copiers may be far behind the writers, but they must make progress."""
    copied: Mapping[int, int] = {}

    def further() -> Mapping[int, int]:
        found = offsets()
        return {} if found == copied else found

    while copied != ends:
        what = f"that the copies, at {dict(copied)}, end at {dict(ends)}"
        copied = until(further, patience, what)
