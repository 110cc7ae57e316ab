"""What a member has the application told: orders, carried out by the thread that polls.

    membership                            the application's thread, in poll
      orders: Revoke(t-0, t-1)  ────────>   popleft; commit; on_revoke; stop reading them
      ...waits                  <────────   done(order)
      JoinGroup ... SyncGroup
      orders: Assign(t-1)       ────────>   popleft; on_assign; read it from what was committed
                                <────────   done(order)

Callbacks belong to the application, and run only where it expects them. The protocol waits for
them: what is revoked may not be given to others while a callback still works with it.

Invariant: orders are carried out in their order, one at a time. An order that nobody has taken
from the queue yet may be withdrawn; one that was taken counts when it is `done`.
"""

from dataclasses import dataclass
from typing import ClassVar

from engine.model import TopicPartition


@dataclass(frozen=True)
class Order:
    done: ClassVar[str]  # as events have it
    partitions: tuple[TopicPartition, ...]


class Revoke(Order):
    """Give these up; what was read of them can still be committed."""

    done = "revoked"


class Lost(Order):
    """These have been given to others, perhaps long since: nothing can be committed any more."""

    done = "lost"


class Assign(Order):
    """Read these, too. They are none if nothing has changed."""

    done = "assigned"
