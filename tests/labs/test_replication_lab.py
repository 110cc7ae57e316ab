"""02_replication: its sections in any order, and what would change its verdicts."""

from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer
from kazoo.client import KazooClient

from engine.controller import partition_state_machine
from engine.replication.follower_partition import FollowerPartition
from engine.replication.partition import Partition
from tests.labs.mutants import Mutant, check, otherwise, parameters
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "02_replication.ipynb"
SIMULATED = {  # sections that need no cluster: from their first cell to their last
    "sync": ("sync-predict", "waiting", "sync-outcome", "pace", "sync-verdict"),
    "cut": ("cut-predict", "cut", "cut-outcome", "split", "cut-verdict"),
    "futures": ("futures-predict", "futures", "futures-outcome", "futures-view"),
    "five": ("five-predict", "pair", "five", "five-outcome", "five-verdict"),
    "marks": (
        *("marks-predict", "one", "talk", "marks-outcome", "moments", "one-verdict"),
        *("held", "unseen", "held-verdict"),
    ),
}


@pytest.mark.long
def test_sections_stand_alone_in_any_order_and_twice(reader: Reader) -> None:
    reader.check_sections(SIMULATED)


def test_a_guess_is_answered(reader: Reader) -> None:
    reader.run(reader.cell("five-predict"))
    reader.names["guess"].choose("1 Yes, always")
    assert reader.through("pair", "five", "five-outcome").right is False


def test_a_wrong_verdict_in_the_ledger_fails_its_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.through("five-predict", "pair", "five")
    ledger = reader.names["ledger"]
    planted = replace(ledger.claims["C070"], verdict="holds")
    monkeypatch.setitem(ledger.claims, "C070", planted)
    with pytest.raises(Contradiction, match=r"C070 conditional, and .* says holds"):
        reader.run(reader.cell("five-verdict"))


def test_the_table_names_what_was_not_run(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.run(reader.cell("verdicts"))
    ledger = reader.names["ledger"]
    monkeypatch.setattr(ledger, "findings", {})
    told = repr(reader.run(reader.cell("verdicts"))[1])
    assert "Run the cells of C042, C043" in told


# -- what would change a verdict: engines with a defect, and a producer of old --------------------


def a_leader_that_commits_at_once(patch: pytest.MonkeyPatch) -> None:
    def advance(partition: Partition, now: int) -> bool:
        before, partition.high_watermark = partition.high_watermark, partition.end
        return partition.end > before

    patch.setattr(Partition, "advance", advance)


def a_leader_that_never_drops_a_follower(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "lagging", lambda partition, now: ())


def a_follower_that_commits_by_itself(patch: pytest.MonkeyPatch) -> None:
    def copied(self: FollowerPartition, data: Any, now: int) -> int:
        size = copy(self, data, now)
        self.partition.high_watermark = self.log.end_offset
        return size

    copy = FollowerPartition.copy
    patch.setattr(FollowerPartition, "copy", copied)


def a_controller_that_goes_by_the_isr(patch: pytest.MonkeyPatch) -> None:
    def first_of_isr(replicas: Any, isr: Any, live: Any, **how: Any) -> Any:
        return elect(isr, isr, live, **how)

    elect = partition_state_machine.elect
    patch.setattr(partition_state_machine, "elect", first_of_isr)


def a_controller_that_takes_anybody(patch: pytest.MonkeyPatch) -> None:
    def anybody(replicas: Any, isr: Any, live: Any, **how: Any) -> Any:
        return elect(replicas, isr, live, **(how | {"unclean": True}))

    elect = partition_state_machine.elect
    patch.setattr(partition_state_machine, "elect", anybody)


class ZookeeperProducer:
    """As the article has it: it finds the leader of each partition in its state node."""

    def __init__(self, zookeeper: str) -> None:
        self.client = KazooClient(zookeeper)
        self.connected = self.client.start_async()
        self.left = 0

    def produce(self, topic: str, value: str, partition: int) -> None:
        if self.connected.wait(0.3):
            self.client.get(f"/brokers/topics/{topic}/partitions/{partition}/state")
        else:
            self.left += 1  # whoever leads

    def flush(self, timeout: float) -> int:
        self.client.stop()
        self.client.close()
        return self.left


# -- what would change a verdict: mutants ---------------------------------------------------------

PRODUCER = "cluster.producer({"
DOOR = "door-predict door door-verdict metadata-verdict"
MARKS = "marks-predict one talk moments one-verdict"
SEEN = "marks-predict held unseen held-verdict"
ISR = "isr-predict departures lag isr-verdict"
PAUSED = {"isr": {"while it is paused": [1, 2], "afterwards": [1, 2, 3]}}  # as in the real cluster
SHORTER = [("range(0, 2000, 125)", "(0, 1000)")]
LOSS = "crash-predict least disasters survivors cost survivors-verdict opinion"
DISASTER = {
    "leads": {"false": -1, "true": 3},
    "kept": {"false": 1010, "true": 10},
    "removed": {"true": 1000},
}
MUTANTS = [
    Mutant(
        "both partitions have the same replicas, and the dead broker is back too soon",
        "C042 C047",
        "copies-predict copies copies-verdict",
        [
            ("[1, 2], [3, 2]", "[1, 2], [1, 2]"),
            ("(2, 3))\nafter", "(2, 3))\ncluster.mend()\nafter"),
        ],
    ),
    Mutant(
        "the dead broker is back before ZooKeeper is asked",
        "C094",
        "copies-predict copies-znode-verdict",
        [("== 2)\nleft", "== 2)\nbeside.mend()\nleft")],
    ),
    Mutant(
        "a producer that asks ZooKeeper",
        "C053 C071 C099",
        DOOR,
        [(PRODUCER, "old(cluster.zookeeper)  # {")],
        given={"old": ZookeeperProducer},
    ),
    Mutant(
        "followers that pass records on, and are asked as before Kafka 2.3",
        "C043 C044 C052",
        "roles-predict roles stale roles-verdict stale-verdict",
        [
            ("by_hand.produce(cluster, b, orders", "by_hand.produce(cluster, 1, orders"),
            ("version=11) for b", "version=10) for b"),
        ],
    ),
    Mutant(
        "no follower is paused",
        "C045 C046",
        "pull-predict pull sizes pull-verdict",
        [("cluster.pause(paused)", "pass")],
    ),
    Mutant(
        "a producer that writes to a follower first",
        "C054",
        MARKS,
        [
            (
                'sim.send("orders", "two teas", acks="all")',
                '[sim.send("orders", "two teas", acks="all", to=b, producer=str(b))'
                " for b in (2, 1)][-1]",
            ),
        ],
    ),
    Mutant("acks=1", "C056", MARKS, [('"two teas", acks="all"', '"two teas", acks=1')]),
    Mutant("a follower stands still", "C056", MARKS, [("began =", "sim.pause(3)\nbegan =")]),
    Mutant(
        "a leader that commits at once: an answer",
        "C055 C056",
        MARKS,
        defect=a_leader_that_commits_at_once,
    ),
    Mutant(
        "a leader that commits at once: what is shown",
        "C058 C059",
        SEEN,
        defect=a_leader_that_commits_at_once,
    ),
    Mutant(
        "a follower that commits by itself", "C060", SEEN, defect=a_follower_that_commits_by_itself
    ),
    Mutant(
        "two records, and nothing is cut",
        "C057 C059",
        SEEN,
        [
            ('("b", 0.4), ("c", 4)', '("b", 4)'),
            ("sim.cut(1, [2, 3], both=False)", "pass"),
        ],
    ),
    Mutant("the HW stands still", "C058 C060", SEEN, [("rows = []", "rows = []\nsim.pause(3)")]),
    Mutant("the leader is down", "C058 C060", SEEN, [("rows = []", "rows = []\nsim.kill(1)")]),
    Mutant(
        "followers without a link to their leader",
        "C062",
        SEEN,
        [
            ("sim.slow(1, 3, ms=250)", "pass"),
            ("sim.run(ms=1100)", "sim.cut(1, [2, 3])\nsim.run(2)"),
        ],
    ),
    Mutant(
        "a leader that never drops a follower",
        "C049",
        ISR,
        SHORTER,
        a_leader_that_never_drops_a_follower,
        given=PAUSED,
    ),
    Mutant(
        "a follower near its leader",
        "C051",
        ISR,
        [*SHORTER, ("sim.slow(1, 3, ms=250)", "pass")],
        given=PAUSED,
    ),
    Mutant(
        "a link is cut for longer than the limit, and nobody leaves before the leader dies",
        "C048 C050",
        "isr-predict heir heir-run heir-verdict",
        [("short.run(2)", "short.run(7)"), ("sim, _ = cut_off(3, 2)", "sim, _ = cut_off(4, 2)")],
    ),
    Mutant(
        "no link is cut, and none is slow",
        "C064 C065",
        "sync-predict waiting pace sync-verdict",
        [("sim.cut(1, 3)\nrows", "rows"), ("sim.slow(1, 3, ms=200)", "sim.slow(1, 3, ms=2)")],
    ),
    Mutant(
        "the topic wants one in sync, and all are sent with acks=1",
        "C068 C069",
        LOSS,
        [
            (
                "replicas=[1, 2, 3], min_insync_replicas=least)\n    sim.store",
                "replicas=[1, 2, 3])\n    sim.store",
            ),
            ("for n in range(20)], acks=acks", "for n in range(20)], acks=1"),
            ("Random(n)) for n in range(10)", "Random(n)) for n in (0, 1)"),
        ],
    ),
    Mutant(
        "the follower is not cut off before the crash",
        "C066",
        "crash-predict crash crash-after crash-verdict",
        [("cluster.cut(leader, follower)", "pass")],
    ),
    Mutant(
        "the controller dies, too, and followers are equally far",
        "C087 C089 C097",
        "order-predict order lengths lengths-run order-verdict",
        [
            ("sim.kill(2)", "sim.kill(1)\nsim.kill(2)"),
            ("random.choice((1, 20, 60))", "1"),
        ],
    ),
    Mutant(
        "a controller that goes by the ISR",
        "C087 C088",
        "order-predict order order-verdict",
        defect=a_controller_that_goes_by_the_isr,
        given={"first": 0},
    ),
    Mutant(
        "the setting has its real name",
        "C090",
        "order-predict allowed",
        [("leader_selection", "leader_election")],
    ),
    Mutant(
        "the controller dies with the leader",
        "C086",
        "order-predict three-run three-verdict",
        [("sim.kill(1)", "pass"), ("sim.kill(2)", "sim.kill(1)\nsim.kill(2)")],
        given={"former": "a", "latter": "b"},
    ),
    Mutant(
        "a controller that takes anybody",
        "C091",
        "unclean-predict hour unclean-verdict",
        defect=a_controller_that_takes_anybody,
        given=DISASTER,
    ),
    Mutant(
        "nothing comes while a replica is away",
        "C091 C092",
        "unclean-predict unclean unclean-after hour unclean-verdict",
        [("for n in range(1000)", "for n in range(0)")],
    ),
    Mutant(
        "an unclean election is not allowed",
        "C061",
        "unclean-predict read-back read-back-run read-back-verdict",
        [("Random(0), unclean=True", "Random(0)")],
    ),
    Mutant(
        "followers of old cut by leader epoch, too",
        "C063",
        "cut-predict cut split cut-verdict",
        [('"0.10.2"', '"2.8"')],
    ),
    Mutant(
        "three die",
        "C070",
        "five-predict pair five five-verdict",
        [("combinations((1, 2, 3, 4, 5), 2)", "[(1, 2, 3)]")],
    ),
]


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


def test_rows_never_seen_bear_nothing_out(shared: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """In none of them all three brokers run."""
    mutant = Mutant("", "", SEEN, [("rows = []", "rows = []\nsim.kill(2)")])
    assert otherwise(shared, mutant, monkeypatch)["C058"] == "wrong"


def test_a_machine_that_is_slow_before_the_crash_changes_no_verdict(
    shared: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that lags for longer than the other sections allow is still in the ISR."""
    slow = [("cluster.kill(leader)", "__import__('time').sleep(5)\ncluster.kill(leader)")]
    mutant = Mutant("", "", "crash-predict crash crash-after crash-verdict", slow)
    assert not otherwise(shared, mutant, monkeypatch)
    brokers = shared.names["cluster"].state().brokers.values()
    assert {each.max_lag_ms for each in brokers} == {3000}


def test_a_stock_client_needs_no_zookeeper_either(
    shared: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = Mutant("", "", DOOR, [(PRODUCER, "Producer({")], given={"Producer": Producer})
    check(shared, stock, monkeypatch)
