"""The application's callbacks in a rebalance.

    membership                             the application's thread, in poll
      callbacks: OnRevoke(t-0, t-1)  ->    take; commit; on_revoke; stop reading them
      ...waits                       <-    done(callback)
      JoinGroup ... SyncGroup
      callbacks: OnAssign(t-1)       ->    take; on_assign; read from the committed offset
                                     <-    done(callback)

Callbacks are the application's functions, so they run in its own thread. The membership waits for
them: a revoked partition must not be assigned to another member while a callback works with it.

Invariant: callbacks run in their order, one at a time. One that nobody has taken from the queue may
be withdrawn; one that was taken counts when it is `done`.
"""

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

from engine.model import TopicPartition


@dataclass(frozen=True)
class RebalanceCallback:
    event: ClassVar[str]
    partitions: tuple[TopicPartition, ...]


class OnAssign(RebalanceCallback):
    """The application reads these too; none if nothing has changed."""

    event = "assigned"


class OnRevoke(RebalanceCallback):
    """The application gives these up. What it has read can still be committed."""

    event = "revoked"


class OnLost(RebalanceCallback):
    """Others may own these already, so nothing can be committed any more."""

    event = "lost"


class CallbackQueue:
    def __init__(self) -> None:
        self.waiting: deque[RebalanceCallback] = deque()
        self._taken = 0  # and not done

    def add(self, callback: RebalanceCallback) -> None:
        self.waiting.append(callback)

    def take(self) -> RebalanceCallback:
        self._taken += 1
        return self.waiting.popleft()

    def done(self) -> None:
        assert self._taken > 0, "a callback is taken from the queue first"
        self._taken -= 1

    def withdraw(self) -> None:
        """Those that nobody has taken."""
        self.waiting.clear()

    @property
    def are_done(self) -> bool:
        return not self.waiting and not self._taken
