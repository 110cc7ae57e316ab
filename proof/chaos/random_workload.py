"""Stock clients that send and poll in random transactions while faults are injected.

    client-1 ──┐            ┌── chaos-random-0
    client-2 ──┼── txn ─────┼── chaos-random-1        each sends to some, and reads others
    client-3 ──┘            └── chaos-random-2

Each client is a process (random_client.py) that kills itself now and then, or is paused for longer
than its transaction may last; its successor has the same transactional.id and fences it. In the end
everything committed is read, and the history is checked (anomalies.py).

A request of theirs that the network delivers late can do harm that Kafka 2.8 allows, too
(docs/transactions.md): a finding may be of that kind.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

from engine.cluster.cluster import Cluster
from proof.chaos import anomalies, jepsen_edn
from proof.chaos.client_supervisor import ClientSupervisor
from proof.chaos.history import ReadRecord
from proof.chaos.judge import ChaosFinding, ChaosVerdict, FindingKind, files_alike
from proof.chaos.operations import (
    TXN,
    ClientOperation,
    OperationHistory,
    OperationType,
    Poll,
    PolledValue,
    from_line,
)
from proof.chaos.transaction_workload import PATIENCE, read_committed
from proof.chaos.wait import until

CLIENTS = 4
PAUSE = 13.0  # seconds, at most: a transaction may take 10


class RandomWorkload:
    def __init__(
        self, cluster: Cluster, topic: str, await_whole: Callable[[], object], *, partitions: int
    ) -> None:
        self.history = OperationHistory()
        self.topic, self._partitions = topic, partitions
        self._cluster, self.await_whole = cluster, await_whole
        self._began = time.monotonic()
        self._open: dict[int, ClientOperation] = {}  # by process: what it has begun
        names = [f"client-{number + 1}" for number in range(CLIENTS)]
        self._supervisor = ClientSupervisor(
            names, self._command, self._heard, cluster.data, pauses=PAUSE, ended=self._ended
        )

    def _command(self, name: str, life: int) -> list[str]:
        what = [self._cluster.bootstrap, self.topic, str(self._partitions), name, str(life)]
        return [sys.executable, "-m", "proof.chaos.random_client", *what]

    def _heard(self, name: str, life: int, line: str) -> None:
        if not line.startswith("{"):
            return  # of librdkafka, or a traceback
        operation = from_line(life, json.loads(line), self._began)
        self.history.operations.append(operation)
        if operation.type is OperationType.INVOKE:
            self._open[life] = operation
        else:
            self._open.pop(life, None)

    def _ended(self, life: int) -> None:
        """What it had begun has an end that nobody knows."""
        if (begun := self._open.pop(life, None)) is not None:
            at = time.monotonic() - self._began
            lost = ClientOperation(
                life, OperationType.INFO, begun.what, begun.steps, begun.partitions, at
            )
            self.history.operations.append(lost)

    def committed(self) -> int:
        return sum(it.type is OperationType.OK for it in self.history.completed())

    def advance(self, count: int = 50) -> None:
        """Wait until some more transactions are committed."""
        enough = self.committed() + CLIENTS
        until(lambda: self.committed() > enough, PATIENCE, "that random transactions commit")

    def verdict(self) -> ChaosVerdict:
        self.await_whole()
        self.close()
        bootstrap = self._cluster.bootstrap
        final, below = read_committed(bootstrap, self.topic, self._partitions)
        self._note_final(final)
        self.history.sort()
        findings = anomalies.find(self.history, final)
        findings += files_alike(self._cluster, self.topic, below)
        done = self.history.completed()
        if not self.committed():
            findings.append(ChaosFinding(FindingKind.BLIND, "no random transaction was committed"))
        counts = Counter(it.type.value for it in done)
        ends = ", ".join(
            f"{counts[each.value]} {each.value}" for each in OperationType if counts[each.value]
        )
        evidence = (
            f"{len(done)} random transactions ({ends}) of {self._supervisor.lives} clients, "
            f"{sum(len(it.sent) for it in done)} values sent, "
            f"{sum(len(it.read) for it in done)} polled, {len(final)} committed in the end"
        )
        return ChaosVerdict(tuple(findings), evidence)

    def _note_final(self, final: list[ReadRecord]) -> None:
        """The last reading as one more process, which has polled everything."""
        at, process = time.monotonic() - self._began, self._supervisor.lives
        records = tuple(PolledValue(it.partition, it.offset, int(it.value)) for it in final)
        for kind, step in ((OperationType.INVOKE, Poll()), (OperationType.OK, Poll(records))):
            self.history.operations.append(ClientOperation(process, kind, TXN, (step,), at=at))

    def write_history(self, path: Path) -> None:
        path.write_text("".join(f"{line}\n" for line in jepsen_edn.lines(self.history)))

    def close(self) -> None:
        self._supervisor.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
