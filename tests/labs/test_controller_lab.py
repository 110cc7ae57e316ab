"""08_controller: sections in any order, exercises, and mutants that change a verdict.

A mutant changes the engine in this process, or one line of a cell. Then the section is run, and the
ledger has to contradict what labs/claims.json says.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module as lab
from typing import Any

import pytest

from engine import Cluster
from engine.controller import partition_state_machine
from engine.controller.controller import Controller
from engine.controller.controller_epoch import ControllerEpoch
from engine.controller.election import NOBODY, Elected
from engine.controller.requests import ControllerRequestBatch
from engine.controller.topic_changes import TopicChanges
from engine.errors import ErrorCode
from engine.replication.partition import Partition
from engine.zookeeper import znodes
from engine.zookeeper.requests import CheckVersion, Children, Set
from tests.interop.watch import until
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "08_controller.ipynb"
SIMULATED = {  # sections that need no cluster: from their first cell to their last
    "race": ("race-predict", "race", "race-outcome", "race-late", "race-verdict"),
    "without": (
        "without-predict",
        "without-work",
        "without",
        "without-done",
        "without-outcome",
        "without-verdict",
    ),
    "told": (
        *("told-predict", "told", "told-outcome", "told-watches"),
        *("told-verdict", "told-verdict-2"),
    ),
    "death": ("death-predict", "death", "death-outcome", "death-verdict", "exercise-1", "try-1"),
    "isr": ("isr-predict", "isr", "isr-outcome", "isr-verdict"),
    "takeover": ("takeover-predict", "takeover", "takeover-outcome", "takeover-verdict"),
    "herd": (
        *("herd-predict", "herd", "herd-outcome", "herd-each"),
        *("queue", "queue-run", "herd-verdict", "queue-verdict"),
    ),
}


def run(reader: Reader, *names: str, **changed: str) -> Any:
    """Run cells, with one text of a cell replaced: old="...", new="..."."""
    value, there = None, False
    for name in names:
        cell = reader.cell(name)
        if changed and changed["old"] in cell.source:
            cell.source, there = cell.source.replace(changed["old"], changed["new"]), True
        value = reader.run(cell)[1]
    assert there or not changed, f"no cell has {changed['old']!r}"
    return value


def contradicted(reader: Reader, section: str, **changed: str) -> set[str]:
    """The claims that a whole section, run so, contradicts."""
    found: set[str] = set()
    for name in SIMULATED[section]:
        cell = reader.cell(name)
        try:
            run(reader, name, **changed) if changed.get("cell") == name else reader.run(cell)
        except Contradiction as error:
            said = str(error).splitlines()
            found |= {line.split()[3] for line in said if line.startswith("This run finds ")}
    return found


def test_sections_stand_alone_in_any_order_and_twice(reader: Reader) -> None:
    reader.check_sections(SIMULATED)


def test_a_guess_is_answered(reader: Reader) -> None:
    reader.run(reader.cell("race-predict"))
    reader.names["guess"].choose("1 Broker 1: it is started first")
    reader.run(reader.cell("race"))
    assert reader.run(reader.cell("race-outcome"))[1].right is False


def test_a_wrong_verdict_in_the_ledger_fails_its_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(reader, "race-predict", "race", "race-late")
    ledger = reader.names["ledger"]
    planted = replace(ledger.claims["C073"], verdict="holds")
    monkeypatch.setitem(ledger.claims, "C073", planted)
    with pytest.raises(Contradiction, match=r"C073 conditional, and .* says holds"):
        run(reader, "race-verdict")


def test_the_table_names_what_was_not_run(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    run(reader, "verdicts")
    ledger = reader.names["ledger"]
    monkeypatch.setattr(ledger, "findings", {})
    told = repr(run(reader, "verdicts"))
    assert "2 to come, with several ZooKeeper servers" in told
    assert "Run the cells of C072, C073" in told


# -- mutants: the engine ------------------------------------------------------------------------


def test_nothing_is_contradicted_as_it_is(reader: Reader) -> None:
    assert [contradicted(reader, section) for section in SIMULATED] == [set()] * len(SIMULATED)


def test_a_broker_that_is_not_told(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker 4 hears of brokers, and of no partition."""
    metadata = ControllerRequestBatch.metadata

    def without_broker_4(self: ControllerRequestBatch, brokers: Any, partitions: Any = ()) -> None:
        news = list(partitions)
        metadata(self, [each for each in brokers if each != 4 or not news], news)

    monkeypatch.setattr(ControllerRequestBatch, "metadata", without_broker_4)
    assert contradicted(reader, "told") == {"C078", "C081"}
    assert contradicted(reader, "isr") == {"C077"}


def test_brokers_that_all_watch(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told by ZooKeeper when another one goes."""
    look = Controller._look

    def watching(self: Controller) -> Any:
        yield [Children(znodes.BROKER_IDS, watch=True)]
        return (yield from look(self))

    monkeypatch.setattr(Controller, "_look", watching)
    assert contradicted(reader, "told") == {"C079"}
    assert contradicted(reader, "herd") == {"C082", "C084"}


def test_a_controller_that_elects_nobody(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(replicas: Any, isr: Any, live: Any, **how: Any) -> Elected:
        return Elected(NOBODY, tuple(isr))

    monkeypatch.setattr(partition_state_machine, "elect", nobody)
    assert contradicted(reader, "death") == {"C075"}
    assert contradicted(reader, "without") == {"C076", "C085"}


def test_a_controller_that_overlooks_changes_of_the_isr(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_at_isrs(self: TopicChanges) -> Any:
        yield []

    monkeypatch.setattr(TopicChanges, "look_at_isrs", look_at_isrs)
    assert contradicted(reader, "isr") == {"C077"}


def test_a_controller_that_reads_half(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    read = ControllerEpoch.read

    def half(self: ControllerEpoch, partitions: Any, *, watch: bool = False) -> Any:
        some = partitions[: (len(partitions) + 1) // 2]
        found = yield from read(self, some, watch=watch)
        return found + [None] * (len(partitions) - len(some))

    monkeypatch.setattr(ControllerEpoch, "read", half)
    assert contradicted(reader, "takeover") == {"C080"}


def test_a_request_for_each_partition(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    role = ControllerRequestBatch.role

    def at_once(self: ControllerRequestBatch, *order: Any, new: bool = False) -> None:
        role(self, *order, new=new)
        self.send()

    monkeypatch.setattr(ControllerRequestBatch, "role", at_once)
    assert contradicted(reader, "herd") == {"C082"}


COMPETE = "failover-compete", "failover-verdict"
FOUND = {"stays": True, "dead": 1, "following": 2, "third": 3}  # as in the real cluster


def test_brokers_that_do_not_compete(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    run(reader, "race-predict")  # the names that it imports
    reader.names.update(FOUND)
    run(reader, *COMPETE)
    reader.names["third"] = FOUND["following"]  # one that is stopped stays in office
    with pytest.raises(Contradiction, match="C074"):
        run(reader, *COMPETE)

    campaign = Controller._run_for_controller

    def two_only(self: Controller, *how: Any) -> Any:
        return campaign(self, *how) if self.broker_id < 3 else iter(())

    reader.names.update(FOUND)
    monkeypatch.setattr(Controller, "_run_for_controller", two_only)
    with pytest.raises(Contradiction, match="C074"):
        run(reader, *COMPETE)


SUPERSEDED = "leader-predict", "leader", "leader-outcome", "zombie-verdict"


def test_a_leader_that_waits_for_nobody(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def advance(self: Partition, now: int) -> bool:
        moved, self.high_watermark = self.end > self.high_watermark, self.end
        return moved

    run(reader, "race-predict")
    seen = {
        "code": ErrorCode.stale_controller_epoch,
        "believed": True,
        "controllers": 1,
        "questions": lab("controller.questions"),
    }
    reader.names.update(seen)
    run(reader, *SUPERSEDED)
    for name, otherwise in (("controllers", 2), ("believed", False), ("code", ErrorCode.none)):
        reader.names.update(seen | {name: otherwise})
        with pytest.raises(Contradiction, match="C083"):
            run(reader, "zombie-verdict")

    reader.names.update(seen)
    monkeypatch.setattr(Partition, "advance", advance)
    with pytest.raises(Contradiction, match="C083"):
        run(reader, *SUPERSEDED)


# -- mutants: a line of a cell ------------------------------------------------------------------

CHANGED = {
    "all brokers are dead before the fourth starts": (
        *("race", "race-late", "sim.add(4)"),
        "[sim.kill(each) for each in (1, 2, 3)], sim.run(seconds=25), sim.add(4)",
        {"C073"},
    ),
    "two are so far away that they need not try": (
        *("race", "race", "{1: 53, 2: 50, 3: 51}", "{1: 90, 2: 50, 3: 80}", {"C073"}),
    ),
    "the controller is not killed": (
        *("without", "without", "sim.kill(1)", "pass", {"C072", "C076", "C085"}),
    ),
    "its session is over too soon": (
        *("without", "without", "60_000", "6_000", {"C072", "C076", "C085"}),
    ),
    "no partitions are added": (
        "told",
        "told",
        'sim.add_partitions("orders", [[3, 4], [3, 4]])',
        "None",
        {"C078", "C081"},
    ),
    "another broker dies": ("death", "death", "sim.kill(dead)", "sim.kill(1)", {"C075"}),
    "the controller dies, and no leader": (
        *("herd", "herd", "2, 100)", "1, 100)", {"C082", "C084"}),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_another_experiment_comes_out_otherwise(reader: Reader, name: str) -> None:
    section, cell, old, new, claims = CHANGED[name]
    found = contradicted(reader, section, cell=cell, old=old, new=new)
    assert found == claims


# -- the exercises ------------------------------------------------------------------------------


def first_in_isr(states: Any, replicas: Any, dead: int, live: Any) -> Any:
    return {
        n: (isr[isr[0] == dead], epoch + 1, [it for it in isr if it != dead])
        for n, (leader, epoch, isr) in states.items()
        if dead in isr and len(isr) > 1
    }


def only_where_it_led(states: Any, replicas: Any, dead: int, live: Any) -> Any:
    written = lab("answers.controller").after(states, replicas, dead, live)
    return {n: state for n, state in written.items() if states[n][0] == dead}


def with_an_empty_isr(states: Any, replicas: Any, dead: int, live: Any) -> Any:
    written = lab("answers.controller").after(states, replicas, dead, live)
    return {
        n: (who, age, [it for it in isr if it != dead]) for n, (who, age, isr) in written.items()
    }


EPOCH = znodes.CONTROLLER_EPOCH
WRONG: dict[str, list[Callable[..., Any]]] = {
    "after": [first_in_isr, only_where_it_led, with_an_empty_isr, lambda *known: None],
    "fenced": [
        lambda path, data, version, epoch_version: [Set(path, data, version)],
        lambda path, data, version, epoch_version: [CheckVersion(EPOCH, epoch_version)],
        lambda path, data, version, epoch_version: [
            CheckVersion(EPOCH, epoch_version),
            Set(path, data),
        ],
        lambda path, data, version, epoch_version: [
            Set(EPOCH, b"7", epoch_version),
            Set(path, data, version),
        ],
        lambda path, data, version, epoch_version: None,
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_an_exercise_in_code_takes_the_answer_and_no_other(name: str) -> None:
    exercise, answer = getattr(lab("controller.exercises"), name), lab("answers.controller")
    assert exercise().run(getattr(answer, name)).passed
    for wrong in WRONG[name]:
        outcome = exercise().run(wrong)
        assert not outcome.passed
        assert outcome.words.startswith("Not yet: ")


# -- the real cluster ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster: Cluster = lab("controller.shared").cluster()
    yield cluster
    cluster.stop()


def test_who_shall_be_controller(running: Cluster) -> None:
    exercises, answers = lab("controller.exercises"), lab("answers.controller")
    named = lab("controller.shared").controller
    wanted = next(each for each in running.brokers if each != named(running))
    check = exercises.chosen(running, wanted)
    assert check.missing == f"broker {wanted} is not the controller"
    other = next(each for each in running.brokers if each not in (wanted, named(running)))
    running.stop_broker(other)
    assert not check.check()
    running.restart(other)
    answers.chosen(running, wanted)
    until(check.check)


def test_a_tree_that_is_not_what_it_was_said_to_be(running: Cluster, reader: Reader) -> None:
    """Only one broker is stopped; then a leader is told of that ZooKeeper does not have."""
    run(reader, "tree-predict")
    run(reader, "tree", old="in cluster.brokers:  # change me", new="in [2]:  # changed")
    with pytest.raises(Contradiction, match="C095"):
        run(reader, "tree-verdict")
    reader.names["gone"] = {"/controller", *(f"/brokers/ids/{each}" for each in (1, 2, 3))}
    run(reader, "tree-verdict")
    reader.names["leaders"] = [1, 1, 2]
    with pytest.raises(Contradiction, match="C093"):
        run(reader, "tree-verdict")
