"""One group: its members join, share the work out, and say that they are still there.

    JoinGroup   who takes part, and with what      waits until everyone has joined again
    SyncGroup   the leader's shares for all        waits until the leader's have come and are
                                                   replicated; then each gets its own
    Heartbeat   still there                        27: join again, there is a rebalance
    LeaveGroup  gone

    generation 4   A ─ Join ──┐                       generation 5   A ─ Sync(shares) ──┐
                   B ─ Join ──┴─> to A: all members;                 B ─ Sync ──────────┴─> shares
                                  to B: wait for A

A group's first rebalance takes its time, `group.initial.rebalance.delay.ms`, as members rarely
come alone: each that comes prolongs it. Later ones end as soon as all members are back, and those
that are not when the longest of their rebalance time-outs is over are out.

What a group decides is `append`ed, and takes effect when it is replicated. What is only in memory
(who waits, whose session ends when) is lost with this broker; its successor starts from the last
generation that was stable, and gives everyone a new session.

Invariant: all members of a generation get the shares that its leader gave, or nobody does.
Invariant: a member that waits for an answer is not taken for dead, unless it is new.

Left out: if a static member's new id can't be written down, Kafka gives the old one its place
back. Here it stays fenced, and the new one tries again.
"""

from collections.abc import Iterable
from typing import Any

from engine.client.assignors.protocol import decode_assignment
from engine.coordinator import answers
from engine.coordinator.answers import NO_MEMBER, Since, knows
from engine.coordinator.effects import Caller, Host
from engine.coordinator.member import Member, Protocols
from engine.coordinator.offsets import Offsets, tombstones
from engine.coordinator.records import UNKNOWN, GroupKey, GroupValue, encode_key, encode_value
from engine.coordinator.roster import CONSUMER, Roster
from engine.coordinator.states import BEFORE, State, check
from engine.coordinator.timers import Alarm, Kind
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
