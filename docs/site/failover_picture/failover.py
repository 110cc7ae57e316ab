"""The facts of one failover, from a recording: times, in ms from its first record, and numbers.

    0          kill                  gone, elected          started      back       in sync
    ├───────────▲▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒★─────────────────────●────────────●────────────┤
     leader A    no leader              leader B              A is a follower of B

Invariant: every number is from the recording; a run without a failover is refused.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.recording import Recording
from engine.cluster.state import ClusterState, PartitionState
from engine.model import TopicPartition

LEAD_IN = 700  # ms before the first record

Counts: TypeAlias = list[tuple[int, int]]  # from when on, how many


class Failover(NamedTuple):
    brokers: tuple[int, ...]
    controller: int
    first: int  # the first leader, which is killed
    second: int  # the next leader
    length: int  # ms, as all times
    killed: int
    gone: int  # its session has run out
    elected: int
    started: int
    back: int  # it has a session again
    whole: int  # all are in sync
    ends: dict[int, Counts]  # of each log
    committed: Counts  # the high watermark, as the leader has it
    kept: int  # records that were committed when the leader was killed

    def leader(self, at: int) -> int:
        """-1: nobody."""
        return self.first if at < self.killed else -1 if at < self.elected else self.second


def failover_of(recording: Recording, partition: TopicPartition) -> Failover:
    """Of a recording with one kill in it."""
    states = [it for it in recording if partition in it.partitions]
    start = next(at for at, count in _committed(states, partition) if count) - LEAD_IN
    events = [it for it in recording.events() if it.at >= start]
    kill = _event(events, "broker.killed")
    first, later = kill.data["broker"], [it for it in events if it.at >= kill.at]
    elected = _event(later, "leader.elected", topic=partition.topic)
    assert elected.data["clean"], "an unclean election is another failover"
    kept = [count for at, count in _committed(states, partition) if at <= kill.at][-1]
    for cut in (it.data for it in later if it.kind == "log.truncated"):
        own = (cut["topic"], cut["partition"]) == partition
        assert not own or cut["end_offset"] >= kept, "no committed record may be lost"
    brokers = sorted(states[0].brokers)
    ends = {number: _since(start, _ends(states, partition, number)) for number in brokers}
    committed = _since(start, _committed(states, partition))
    return Failover(
        tuple(ends),
        states[0].controller,
        first,
        elected.data["leader"],
        recording.end - start,
        kill.at - start,
        _event(later, "broker.down", broker=first).at - start,
        elected.at - start,
        _event(later, "broker.started", broker=first).at - start,
        _event(later, "broker.up", broker=first).at - start,
        _event(later, "isr.changed", topic=partition.topic).at - start,
        ends,
        committed,
        kept,
    )


def _event(events: list[ClusterEvent], kind: str, **facts: object) -> ClusterEvent:
    """The first of its kind with these facts."""
    found = (it for it in events if it.kind == kind and facts.items() <= it.data.items())
    event = next(found, None)
    assert event is not None, f"this run has no {kind} {facts}"
    return event


def _of(state: ClusterState, partition: TopicPartition) -> PartitionState:
    return state.partitions[partition]


def _ends(
    states: list[ClusterState], partition: TopicPartition, broker: int
) -> Iterator[tuple[int, int]]:
    for state in states:
        replica = _of(state, partition).replicas.get(broker)
        yield state.at, replica.log_end if replica else 0


def _committed(states: list[ClusterState], partition: TopicPartition) -> Iterator[tuple[int, int]]:
    """The high watermark of the leader; it never falls, though a new leader knows less."""
    most = 0
    for state in states:
        found = _of(state, partition)
        if found.leader in found.replicas:
            most = max(most, found.replicas[found.leader].high_watermark)
        yield state.at, most


def _since(start: int, changes: Iterator[tuple[int, int]]) -> Counts:
    """Each time that a number changes."""
    every = [(max(at - start, 0), count) for at, count in changes]
    return [(0, every[0][1]), *(new for old, new in pairwise(every) if new[1] != old[1])]
