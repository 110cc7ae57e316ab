"""The throttle: a limit for the rate of replication, so that a move does not block clients.

    leader.replication.throttled.rate       bytes a second that this broker sends, and that it
    follower.replication.throttled.rate     fetches, for the replicas that are listed in
    *.replication.throttled.replicas        a topic's configuration: partition:broker, or *

The rate is the average of the last eleven seconds. Bytes are counted after they were sent, so one
response may exceed the rate; then nothing is sent until the average has fallen.

Invariant: a replica in the ISR is never throttled, or the throttle would remove it from the ISR.
"""

from collections import deque

from engine.model import TopicPartition

SAMPLES = 11
SAMPLE_MS = 1000


class Throttle:
    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque()  # (when it began, bytes)

    def record(self, size: int, now: int) -> None:
        self._forget(now)
        if self._samples and now - self._samples[-1][0] < SAMPLE_MS:
            began, before = self._samples.pop()
            self._samples.append((began, before + size))
        else:
            self._samples.append((now, size))

    def exceeds(self, rate: int, now: int) -> bool:
        self._forget(now)
        if not self._samples:
            return False
        elapsed = max(now - self._samples[0][0], SAMPLE_MS)
        return sum(size for _, size in self._samples) * 1000 > rate * elapsed

    def _forget(self, now: int) -> None:
        while self._samples and now - self._samples[0][0] >= SAMPLES * SAMPLE_MS:
            self._samples.popleft()


def is_listed(replicas: tuple[str, ...], partition: TopicPartition, broker_id: int) -> bool:
    return "*" in replicas or f"{partition.partition}:{broker_id}" in replicas
