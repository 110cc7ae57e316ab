"""Two clocks of a member: when to send a heartbeat, and whether the application has hung up.

    heartbeat.interval.ms   the next heartbeat is due
    max.poll.interval.ms    the application has not polled: it hangs, leave the group for it

Heartbeats come from a thread of their own, so they say that the process lives, not that it gets
on; that is why there is the second clock (KIP-62). A third, session.timeout.ms, is how long the
answer to a heartbeat is waited for. The coordinator counts it the other way round: no heartbeat
for so long, and the member is out.
"""

from engine.config.consumer import ConsumerConfig


class Heartbeat:
    def __init__(self, config: ConsumerConfig) -> None:
        self.interval = config.heartbeat_interval_ms / 1000
        self.patience = config.max_poll_interval_ms / 1000
        self.backoff = config.retry_backoff_ms / 1000
        self._next = self._polled = 0.0
        self._on_its_way = False

    def start(self, now: float) -> None:
        self._next, self._on_its_way = now + self.interval, False

    def is_due(self, now: float) -> bool:
        return now >= self._next and not self._on_its_way

    def sent(self, now: float) -> None:
        self._next, self._on_its_way = now + self.interval, True

    def answered(self) -> None:
        self._on_its_way = False

    def failed(self, now: float) -> None:
        """Again soon, without waiting for the next one to be due."""
        self._next, self._on_its_way = now + self.backoff, False

    def polled(self, now: float) -> None:
        self._polled = now

    def is_idle(self, now: float) -> bool:
        return now >= self._polled + self.patience

    def due(self) -> float | None:
        return None if self._on_its_way else self._next

    def idle_at(self) -> float:
        return self._polled + self.patience
