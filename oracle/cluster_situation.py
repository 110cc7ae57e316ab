"""A situation on a simulated cluster: the brokers' own code on a virtual clock and network.

    prepare      until now: topics, records, who lags
    strike       what happens now
    observe      what came out of it

A timing is a seed of the network and a range of its delays: the same events come in the same
order, earlier or later.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from random import Random
from typing import Any

from engine.sim.simulation import Simulation
from engine.table import Table
from oracle.situation import Situation

TOPIC = "orders"
DELAYS = ((1, 1), (1, 4), (3, 8))  # ms that a message takes: by timing
SESSION_MS = 3000
LAG_MS = 4000  # replica.lag.time.max.ms
CONFIG: dict[str, Any] = {
    "zookeeper_session_timeout_ms": SESSION_MS,
    "replica_lag_time_max_ms": LAG_MS,
    "replica_socket_timeout_ms": 3000,
    # Leaders write the ISR to ZooKeeper themselves: a cut between two brokers does not keep the
    # controller, which may be one of them, from hearing of it.
    "inter_broker_protocol_version": "2.6",
    "transaction_state_log_num_partitions": 1,
    "transaction_state_log_replication_factor": 3,
}
NAMES = "abcdefghij"  # the records' values, in the order in which they are sent


class ClusterSituation(Situation):
    brokers = 3

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.order = chance.sample([1, 2, 3], 3)  # the replicas: the first leads
        self.leader, *self.followers = self.order
        self._sent = 0  # records, in this run

    def prepare(self, sim: Simulation) -> None:
        """From a new cluster to the situation."""

    def strike(self, sim: Simulation) -> None:
        """What happens now."""

    def observe(self, sim: Simulation) -> Hashable:
        raise AssertionError("each kind observes something")

    def begin(
        self, timing: int, watch: Callable[[Simulation], object] = lambda sim: None
    ) -> Simulation:
        """A cluster in this situation; `watch` gets it while it is still empty."""
        self._sent = 0
        sim = Simulation(self.brokers, seed=timing, delay=DELAYS[timing], **CONFIG)
        watch(sim)
        self.prepare(sim)
        return sim

    def outcome(self, timing: int) -> Hashable:
        sim = self.begin(timing)
        self.strike(sim)
        return self.observe(sim)

    def table(self) -> Table | None:
        sim = self.begin(0)
        return Table("broker, role, records, high watermark, epoch", self._replicas(sim))

    def _replicas(self, sim: Simulation) -> Iterator[tuple[object, ...]]:
        leader, isr = sim.leader(TOPIC), sim.isr(TOPIC)
        for broker in self.order:
            rows = sim.log(broker, TOPIC)
            role = "leader" if broker == leader else "follower"
            if not sim.is_up(broker):
                role = "down"
            elif broker not in isr:
                role += ", not in the ISR"
            values = " ".join(row.value for row in rows) or "none"
            mark = sim.high_watermark(broker, TOPIC)
            epoch = rows[-1].leader_epoch if rows else ""
            yield broker, role, values, "" if mark is None else mark, epoch

    # -- steps -----------------------------------------------------------------------------

    def create(self, sim: Simulation, **config: object) -> None:
        sim.topic(TOPIC, replicas=self.order, **config)

    def store(self, sim: Simulation, count: int, acks: int | str = "all") -> None:
        """Records that are acknowledged before anything else happens."""
        sim.store(TOPIC, self.values(count), acks=acks)
        sim.run(ms=600)  # the followers learn the high watermark by their next Fetch

    def values(self, count: int) -> list[str]:
        """The next records."""
        self._sent += count
        return list(NAMES[self._sent - count : self._sent])

    def drop_from_isr(self, sim: Simulation, *brokers: int) -> None:
        """Cut off from the leader for so long that they leave the ISR; they stay cut off.

        One record is written meanwhile: a follower that has all there is does not lag.
        """
        for broker in brokers:
            sim.cut(self.leader, broker)
        sim.store(TOPIC, self.values(1), acks=1)
        sim.wait(lambda: not set(brokers) & set(sim.isr(TOPIC)))
        sim.run(ms=100)

    def await_leader(self, sim: Simulation, seconds: float = 12) -> int:
        """Until every session is over, and whoever can lead does."""
        sim.run(seconds)
        return sim.leader(TOPIC)


def listed(brokers: Iterable[int]) -> str:
    """2, 1, 3"""
    return ", ".join(map(str, brokers))
