"""ControlledShutdown (api key 7): a broker that is about to stop asks for its partitions to move.

    broker                              controller
      | -- broker id, broker epoch --------> |  elects another leader wherever there is one
      | <----- what the broker still leads - |

    request  | broker id | broker epoch |        epoch: from v2
    answer   | error | remaining partitions |

Versions 1 to 3.
"""

from dataclasses import dataclass, field

from engine.errors import ErrorCode
from engine.wire.messages.versions import Error, Int32, Int64, String, since


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledShutdownRequest:
    broker_id: Int32
    broker_epoch: Int64 = field(default=-1, metadata=since(2))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingPartition:
    topic_name: String
    partition_index: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledShutdownResponse:
    error_code: Error = ErrorCode.none
    remaining_partitions: tuple[RemainingPartition, ...] = ()
