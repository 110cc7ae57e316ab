"""The cluster of the playground: producers and readers are at work, and nothing breaks by itself.

    every 500 ms   observe ──> check the invariants ──> send some records

It is a run of the storms without a storm. The first invariant that does not hold stops the clock:
what is on the screen is the moment in which it broke.

With acks=1 records may be lost though they were acknowledged. That breaks no invariant, so they are
counted (`lost`).
"""

from engine.sim.client import Delivery
from engine.sim.disk import MemoryLog
from proof.storms.invariants import ALWAYS, Violation, check
from proof.storms.run import Run
from widgets.playground.simulated_cluster import SimulatedCluster

SEED = 7  # with three brokers and a consumer group
ENDLESS_S = 1e6  # nobody looks for so long
TURN_MS = 500  # between two batches of records, and two checks
HASTE = {"1": 1.0, "all": 0.0}  # by acks: the share of records that wait for the leader only


class CalmRun(Run):
    """A simulated run without faults of its own: what breaks is broken by hand."""

    def __init__(self, seed: int, *, kraft: bool) -> None:
        super().__init__(seed, ENDLESS_S, kraft=kraft)
        self.lost: set[str] = set()  # records that were acknowledged, and that a leader has not

    def _turn(self) -> None:
        self.observed.observe()
        check(self.observed, ALWAYS)
        self._search()
        self.workload.send()
        self.group_workload.turn()
        self.world.clock.after(TURN_MS, self._turn)

    @property
    def acknowledged(self) -> list[Delivery]:
        return [sent for sent in self.workload.sent if sent.acknowledged]

    def _search(self) -> None:
        """Note the acknowledged records that the leader of their partition does not have."""
        logs = {partition.id: log for _, _, partition, log in self.observed.leaders}
        for sent in self.acknowledged:
            if sent.partition in logs and not has(logs[sent.partition], sent):
                self.lost.add(sent.value)


def has(log: MemoryLog, sent: Delivery) -> bool:
    """Whether the record is in this log, at its offset."""
    place = log.before(sent.offset)
    return place < len(log.batches) and sent.value.encode() in log.batches[place].data


class PlaygroundCluster(SimulatedCluster):
    def __init__(self, *, kraft: bool = False, seed: int = SEED) -> None:
        self.violation: Violation | None = None  # the first invariant that did not hold
        self.checked = [invariant.__name__.replace("_", " ") for invariant in ALWAYS]
        self.acks = "all"
        self._run = CalmRun(seed, kraft=kraft)
        super().__init__(self._run.world)
        self.choose_acks(self.acks)

    def choose_acks(self, acks: str) -> None:
        """Set the acks, "all" or "1", of the records that are sent from now on."""
        self.acks, self._run.workload.haste = acks, HASTE[acks]

    @property
    def acknowledged(self) -> int:
        """How many records were acknowledged."""
        return len(self._run.acknowledged)

    @property
    def lost(self) -> int:
        """How many acknowledged records no leader has any more."""
        return len(self._run.lost)

    def pass_time(self, ms: float) -> None:
        """All that happens in so many milliseconds, unless an invariant has broken."""
        if self.violation is not None:
            return
        try:
            super().pass_time(ms)
        except Violation as violation:
            self.violation = violation
