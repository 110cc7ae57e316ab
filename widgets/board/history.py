"""The figures of a cluster over time, taken from its states and events.

    state ──> sample    under-replicated partitions, offline ones, the ends of all logs, lags, bytes
    isr.changed ──────> a step down or up

Only what is small is kept, so an hour costs little: a sample each second, and one at each change of
the partitions' health.

Invariant: samples are in the order of time.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, Status
from widgets.group.lag import lags
from widgets.story import internal

INTERVAL = 1_000  # ms between two samples
PATIENCE = 3_000  # ms for a broker that is late; then it counts as one that leads nothing
MOST = 7_200  # samples: of the older half every other one goes then
KAFKAS = "Kafka's own"  # __consumer_offsets, __transaction_state


class BoardSample(NamedTuple):
    at: int  # ms since 1970
    under_replicated: int
    offline: int
    records: Mapping[str, int]  # by topic, the sum of the leaders' log ends
    lag: Mapping[str, int]  # by group
    disk: Mapping[str, int]  # bytes by topic, all replicas
    requests: Mapping[str, tuple[int, int]]  # by API, of all brokers: how many, and their ms

    @property
    def health(self) -> tuple[int, int]:
        return self.under_replicated, self.offline


class BoardIsrChange(NamedTuple):
    at: int
    partition: str
    was: tuple[int, ...]
    isr: tuple[int, ...]

    @property
    def shrinks(self) -> bool:
        return bool(set(self.was) - set(self.isr))


class BoardHistory:
    def __init__(self) -> None:
        self.samples: list[BoardSample] = []
        self.changes: list[BoardIsrChange] = []
        self._numbers: set[int] = set()  # of the events that were seen

    def see(self, state: ClusterState) -> None:
        last = self.samples[-1] if self.samples else None
        if last is not None and (state.at <= last.at or _is_late(state, state.at - last.at)):
            return
        new = sample(state)
        if last is None or state.at - last.at >= INTERVAL or new.health != last.health:
            self.samples.append(new)
        if len(self.samples) > MOST:
            half = len(self.samples) // 2
            self.samples[:half] = self.samples[:half:2]

    def add_events(self, events: Iterable[ClusterEvent]) -> None:
        for event in events:
            if event.kind == "isr.changed" and event.number not in self._numbers:
                self._numbers.add(event.number)
                data = event.data
                partition = f"{data['topic']}-{data['partition']}"
                change = BoardIsrChange(event.at, partition, tuple(data["was"]), tuple(data["isr"]))
                self.changes.append(change)

    def between(self, start: int, end: int) -> Sequence[BoardSample]:
        """The samples of a time, and the one before."""
        first = bisect_right(self.samples, start, key=lambda it: it.at) - 1
        return self.samples[max(first, 0) : bisect_right(self.samples, end, key=lambda it: it.at)]

    def changed(self, start: int, end: int) -> Sequence[BoardIsrChange]:
        first = bisect_left(self.changes, start, key=lambda it: it.at)
        return self.changes[first : bisect_right(self.changes, end, key=lambda it: it.at)]


def _is_late(state: ClusterState, passed: int) -> bool:
    """A broker runs and has not answered yet: what it leads is not known, rather than offline."""
    silent = (it for it in state.brokers.values() if it.status is Status.UP and not it.answers)
    return passed < PATIENCE and any(silent)


def sample(state: ClusterState) -> BoardSample:
    under = offline = 0
    records, disk = Counter[str](), Counter[str]()
    for (topic, _), partition in state.partitions.items():
        led = partition.leader in partition.replicas and state.brokers[partition.leader].answers
        offline += not led
        under += led and len(partition.isr) < len(partition.assignment)
        if led and not internal(topic):
            records[topic] += partition.replicas[partition.leader].log_end
        name = KAFKAS if internal(topic) else topic
        disk[name] += sum(each.size for each in partition.replicas.values())
    requests: dict[str, tuple[int, int]] = {}
    for broker in state.brokers.values():
        for api, (number, ms) in broker.requests.items():
            before = requests.get(api, (0, 0))
            requests[api] = before[0] + number, before[1] + ms
    behind = {name: sum(lags(state, group).values()) for name, group in state.groups.items()}
    return BoardSample(state.at, under, offline, records, behind, disk, requests)
