"""Mutants of 05_controller: controllers with a defect, and lines of cells that are changed.

Simulated brokers run in this process, so a defect can be planted in them. The brokers of the real
cluster are processes of their own.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from engine.controller import partition_state_machine
from engine.controller.controller import Controller
from engine.controller.election import Elected
from engine.controller.metadata_store import MetadataStore
from engine.controller.requests import ControllerRequestBatch
from engine.controller.topic_changes import TopicChanges
from engine.errors import ErrorCode
from engine.model import NO_BROKER
from engine.replication.partition import Partition
from engine.zookeeper import znodes
from engine.zookeeper.requests import Children
from tests.labs.mutants import Mutant

# -- engines with a defect -----------------------------------------------------------------------


def a_broker_that_is_not_told(patch: pytest.MonkeyPatch) -> None:
    """Broker 4 hears of brokers, and of no partition."""

    def without_broker_4(batch: ControllerRequestBatch, brokers: Any, partitions: Any = ()) -> None:
        news = list(partitions)
        metadata(batch, [each for each in brokers if each != 4 or not news], news)

    metadata = ControllerRequestBatch.metadata
    patch.setattr(ControllerRequestBatch, "metadata", without_broker_4)


def brokers_that_all_watch(patch: pytest.MonkeyPatch) -> None:
    """Each is told by ZooKeeper when another one goes."""

    def watching(broker: Controller) -> Any:
        yield [Children(znodes.BROKER_IDS, watch=True)]
        return (yield from elect(broker))

    elect = Controller._elect
    patch.setattr(Controller, "_elect", watching)


def a_controller_that_elects_nobody(patch: pytest.MonkeyPatch) -> None:
    def nobody(replicas: Any, isr: Any, live: Any, **how: Any) -> Elected:
        return Elected(NO_BROKER, tuple(isr))

    patch.setattr(partition_state_machine, "elect", nobody)


def a_controller_that_overlooks_changes_of_the_isr(patch: pytest.MonkeyPatch) -> None:
    def process_isr_notifications(changes: TopicChanges) -> Any:
        yield []

    patch.setattr(TopicChanges, "process_isr_notifications", process_isr_notifications)


def a_controller_that_reads_half(patch: pytest.MonkeyPatch) -> None:
    def half(store: MetadataStore, partitions: Any, *, watch: bool = False) -> Any:
        some = partitions[: (len(partitions) + 1) // 2]
        found = yield from read(store, some, watch=watch)
        return found + [None] * (len(partitions) - len(some))

    read = MetadataStore.read_states
    patch.setattr(MetadataStore, "read_states", half)


def a_request_for_each_partition(patch: pytest.MonkeyPatch) -> None:
    def at_once(batch: ControllerRequestBatch, *order: Any, new: bool = False) -> None:
        role(batch, *order, new=new)
        batch.send()

    role = ControllerRequestBatch.leader_and_isr
    patch.setattr(ControllerRequestBatch, "leader_and_isr", at_once)


def a_broker_that_does_not_compete(patch: pytest.MonkeyPatch) -> None:
    def two_only(broker: Controller, *how: Any) -> Iterator[Any]:
        return campaign(broker, *how) if broker.broker_id < 3 else iter(())

    campaign = Controller._run_for_controller
    patch.setattr(Controller, "_run_for_controller", two_only)


def a_leader_that_waits_for_nobody(patch: pytest.MonkeyPatch) -> None:
    def advance(partition: Partition, now: int) -> bool:
        moved, partition.high_watermark = partition.end > partition.high_watermark, partition.end
        return moved

    patch.setattr(Partition, "advance", advance)


# -- the table -----------------------------------------------------------------------------------

WITHOUT = "without-predict without-work without without-done without-verdict"
TOLD = "told-predict told told-outcome told-watches told-verdict told-verdict-2"
DEATH = "death-predict death death-outcome death-verdict"
ISR = "isr-predict isr isr-verdict"
FAILOVER = "failover-before failover-predict failover failover-compete failover-verdict"
ZOMBIE = "zombie-predict zombie leader zombie-verdict"
HERD = "herd-predict herd herd-each queue queue-run herd-verdict queue-verdict"
IN_REAL = {"stays": True, "dead": 1, "following": 2, "third": 3}  # as the real cluster does
REFUSED = {"code": ErrorCode.stale_controller_epoch, "believed": True, "controllers": 1}

MUTANTS = [
    Mutant(
        "the leader is stopped before the look at ZooKeeper, and nobody after it",
        "C093 C095",
        "tree-predict tree tree-verdict",
        [
            ("leader, setting = ", "cluster.stop_broker(leaders[0])\nleader, setting = "),
            ("in cluster.brokers:  # change", "in ():  # change"),
        ],
    ),
    Mutant(
        "all brokers are dead before the fourth starts",
        "C073",
        "race-predict race race-late race-verdict",
        [("sim.add(4)", "[*map(sim.kill, (1, 2, 3))]\nsim.run(seconds=25)\nsim.add(4)")],
    ),
    Mutant(
        "two are so far away that they need not try",
        "C073",
        "race-predict race race-late race-verdict",
        [("{1: 53, 2: 50, 3: 51}", "{1: 90, 2: 50, 3: 80}")],
    ),
    Mutant("the controller is not killed", "C072 C076 C085", WITHOUT, [("sim.kill(1)", "pass")]),
    Mutant("its session is over too soon", "C072 C076 C085", WITHOUT, [("60_000", "6_000")]),
    Mutant(
        "a controller that elects nobody: work",
        "C076 C085",
        WITHOUT,
        defect=a_controller_that_elects_nobody,
    ),
    Mutant(
        "a broker that is not told of partitions",
        "C078 C081",
        TOLD,
        defect=a_broker_that_is_not_told,
    ),
    Mutant(
        "no partitions are added",
        "C078 C081",
        TOLD,
        [('sim.add_partitions("orders", [[3, 4], [3, 4]])', "None")],
    ),
    Mutant("brokers that all watch brokers", "C079", TOLD, defect=brokers_that_all_watch),
    Mutant(
        "a controller that elects nobody: a death",
        "C075",
        DEATH,
        defect=a_controller_that_elects_nobody,
    ),
    Mutant("another broker dies", "C075", DEATH, [("sim.kill(dead)", "sim.kill(1)")]),
    Mutant("a broker that is not told of an ISR", "C077", ISR, defect=a_broker_that_is_not_told),
    Mutant(
        "a controller that overlooks changes of the ISR",
        "C077",
        ISR,
        defect=a_controller_that_overlooks_changes_of_the_isr,
    ),
    Mutant(
        "the second controller is not stopped", "C074", FAILOVER, [("cluster.stop_broker(", "(")]
    ),
    Mutant(
        "a broker that does not compete",
        "C074",
        "race-predict failover-compete failover-verdict",
        defect=a_broker_that_does_not_compete,
        given=IN_REAL,
    ),
    Mutant(
        "a controller that reads half",
        "C080",
        "takeover-predict takeover takeover-verdict",
        defect=a_controller_that_reads_half,
    ),
    Mutant("an order with the next epoch", "C083", ZOMBIE, [("epoch=epoch)", "epoch=epoch + 1)")]),
    Mutant(
        "a leader that waits for nobody",
        "C083",
        "race-predict leader-predict leader zombie-verdict",
        defect=a_leader_that_waits_for_nobody,
        given=REFUSED,
    ),
    Mutant("a request for each partition", "C082", HERD, defect=a_request_for_each_partition),
    Mutant("brokers that all watch: a herd", "C082 C084", HERD, defect=brokers_that_all_watch),
    Mutant("the controller dies, and no leader", "C082 C084", HERD, [("2, 100)", "1, 100)")]),
]
