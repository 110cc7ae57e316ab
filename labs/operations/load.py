"""A steady load: records that are sent all the time, and when each was answered.

    with Load(cluster, "orders") as load:          fifty records a second, in a thread
        load.settle()                              until some are answered
        killed = perf_counter()
        cluster.kill(1)
        load.answered(killed)                      how many that were sent since then are answered
        load.first_answer(killed)                  when the first of them was; None: not yet

Invariant: a record that is sent is answered once, or failed once, or is still on its way.
"""

import threading
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

from lab import until

from engine import Cluster

EVERY = 0.02  # seconds between two records
SETTLED = 10  # answers


@dataclass(slots=True)
class SentRecord:
    sent: float  # by perf_counter
    answered: float | None = None
    error: str = ""  # its name


class Load:
    def __init__(
        self, cluster: Cluster, topic: str, *, partitions: int = 1, size: int = 20, **config: Any
    ) -> None:
        """One partition after the other. `config`: of the producer, with _ for each dot."""
        self.cluster, self.topic = cluster, topic
        self.records: list[SentRecord] = []
        self._partitions, self._size = partitions, size
        self._config = {"acks": "all"} | {name.replace("_", "."): it for name, it in config.items()}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"load of {topic}", daemon=True)

    def __enter__(self) -> Self:
        self._producer = self.cluster.producer(self._config)
        self._producer.list_topics(self.topic)  # who leads is known before the first record
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if kind is not None:  # the cell was stopped, or has failed: nobody waits for the rest
            self._producer.purge()
        self._producer.flush(30)
        self._producer.close()

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            record = SentRecord(perf_counter())
            number = len(self.records)
            self.records.append(record)

            def note(error: Any, _: object, record: SentRecord = record) -> None:
                if error is None:
                    record.answered = perf_counter()
                else:
                    record.error = error.name()

            try:
                value = f"{number}".ljust(self._size)
                self._producer.produce(
                    self.topic, value, None, number % self._partitions, on_delivery=note
                )
                self._producer.poll(0)  # which calls `note` for those that are answered
            except Exception as error:  # counted as the record's
                record.error = type(error).__name__

    # -- what was seen -------------------------------------------------------------------

    @property
    def errors(self) -> int:
        return sum(bool(each.error) for each in [*self.records])

    def sent(self, since: float, before: float) -> int:
        return sum(since <= each.sent < before for each in [*self.records])

    def answered(self, since: float, before: float | None = None) -> int:
        """How many of the records that were sent since then have been answered, up to now or up to
        another time."""
        return sum(
            each.sent >= since and each.answered is not None
            for each in [*self.records]
            if before is None or (each.answered or before) < before
        )

    def first_answer(self, since: float) -> float | None:
        """Of the records that were sent since then."""
        found = [it.answered for it in [*self.records] if it.sent >= since and it.answered]
        return min(found, default=None)

    def settle(self) -> None:
        """Until some that were sent from now on are answered."""
        now = perf_counter()
        until("answers to the load", lambda: self.answered(now) >= SETTLED)
