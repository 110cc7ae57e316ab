"""Guests who order all the time, while a query is looked at."""

import threading

from engine import Cluster
from streams import sample, stand

PAUSE = 0.1  # seconds between two orders

_there: list["Guests"] = []  # one party at most


class Guests:
    def __init__(self, cluster: Cluster, topic: str) -> None:
        """They order until they leave; those who were here before leave now."""
        while _there:
            _there.pop().leave()
        _there.append(self)
        self._cluster, self._topic = cluster, topic
        self._ordered: list[sample.Pair] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._order, daemon=True)
        self._thread.start()

    def leave(self) -> list[sample.Pair]:
        """No more orders; those that were made are stored."""
        self._ends.set()
        self._thread.join()
        return self._ordered

    def _order(self) -> None:
        with self._cluster.producer(stand.WRITER) as producer:
            while not self._ends.is_set():
                for guest, tea in sample.orders(100):
                    if self._ends.wait(PAUSE):
                        break
                    producer.produce(self._topic, tea, guest)
                    self._ordered.append((guest, tea))
