"""04_streams, as it is run by whoever begins in the middle and goes back; and without Spark.

A claim's test breaks the experiment: then the verdict must not be the same any more.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import pytest
from IPython.lib.pretty import pretty

from engine import Cluster
from engine.cluster.state import Status
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "04_streams.ipynb"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One for all tests: the lab's own, which every section asks for."""
    cluster: Cluster = import_module("streams.stand").cluster()
    yield cluster
    cluster.stop()


@pytest.fixture
def reader(cluster: Cluster) -> Reader:
    return Reader(LAB)


def same_as_saved(reader: Reader, *names: str) -> None:
    for name in names:
        cell = reader.cell(name)
        value = reader.through(name)
        if value is not None and not cell.metadata.get("tags"):
            assert pretty(value) == cell.outputs[0].data["text/plain"], name


@pytest.mark.long  # `make order` begins anywhere, and goes back
@pytest.mark.timeout(300)
def test_one_may_begin_in_the_middle_go_back_and_do_it_again(reader: Reader) -> None:
    reader.through("middle-predict")
    reader.names["guess"].choose("1 All orders")
    same_as_saved(reader, "middle-run", "middle-rest")
    assert "As you predicted: All orders." in repr(reader.through("middle-outcome"))
    reader.through("middle-verdict")
    assert "Run the cells of C152" in repr(reader.through("table"))

    cluster = reader.names["cluster"]
    sourced = ("duality-predict", "duality-run", "duality-outcome", "duality-verdict")
    for _ in range(2):
        same_as_saved(reader, *sourced, "back-predict", "back-run", "back-verdict")
        assert reader.names["cluster"] is cluster

    cluster.kill(2)  # a learner has played with it; a section's first cell makes it whole
    reader.through("database-predict")
    assert {it.status for it in cluster.state().brokers.values()} == {Status.UP}
    reader.through("database-shop")
    same_as_saved(reader, "database-run", "database-outcome", "database-verdict", "broadcast-run")


def test_a_wrong_verdict_in_the_ledger_stops_the_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.through("duality-predict", "duality-run", "back-run")
    made = reader.names["made"]
    assert made["from other cards"] == made["from the cards"], made  # so it is conditional
    ledger = reader.names["ledger"]
    planted = replace(ledger.claims["C162"], verdict="holds")
    monkeypatch.setitem(ledger.claims, "C162", planted)
    with pytest.raises(Contradiction, match=r"C162 conditional, and .* says holds"):
        reader.through("back-verdict")


def test_a_wait_in_vain_says_for_what() -> None:
    until = import_module("streams.stand").until
    with pytest.raises(TimeoutError, match="the moon: not within 0 seconds"):
        until("the moon", lambda: False, 0)


SPARKLESS = """
import streams.exercises, streams.questions, streams.session, sys
from streams import processes, database, sample, remote, stand, tap
sys.exit("pyspark" in sys.modules)
"""


def test_what_needs_no_spark_does_not_even_look_for_it() -> None:
    path = f"{LABS}:{LABS.parent}"
    found = subprocess.run([sys.executable, "-c", SPARKLESS], env={"PYTHONPATH": path}, check=False)
    assert found.returncode == 0


# -- what the experiments rest on ------------------------------------------------------------


def test_guests_do_the_same_each_time() -> None:
    sample = import_module("streams.sample")
    assert sample.some_cards(3) == sample.some_cards(5)[:3]
    assert sample.counts([("Mei", 20), ("Tom", 5), ("Mei", -4)]) == {"Mei": 2, "Tom": 1}


def test_a_step_is_the_same_function_in_another_process() -> None:
    loop = import_module("streams.loop")

    def count(guest: str, amount: str, memory: dict[str, int]) -> int:
        memory[guest] = memory.get(guest, 0) + 1
        return memory[guest]

    step, memory = loop.unpacked(loop.packed(count)), {"Mei": 2}
    assert step.__name__ == "count"
    assert step("Mei", "4", memory) == 3


def test_a_process_that_was_taken_for_dead_goes_on_from_the_last_commit(cluster: Cluster) -> None:
    """It stands still for longer than its session, with records in hand: its commit is refused."""
    stand, processors = import_module("streams.stand"), import_module("streams.processes")

    def slow(guest: str, amount: str, memory: dict[str, int]) -> str:
        time.sleep(0.02)
        return guest

    cards, out = cluster.topic("cards"), cluster.topic("greetings")
    stand.send(cluster, cards, [("Mei", number) for number in range(300)])
    with processors.ProcessorProcesses(cluster) as processes:
        child = processes.start("late", slow, source=cards, target=out)
        stand.written(cluster, out, 120)
        child.pause()
        group = f"makers of {out}"
        cluster.wait("a group without members", lambda: not cluster.state().groups[group].members)
        child.resume()
        cluster.wait("the last commit", lambda: stand.lag(cluster, group, cards) == 0)
        assert child.alive and "not committed: " in child.output()
    numbers = [int(record.headers["from"]) for record in stand.read(cluster, out)]
    assert set(numbers) == set(range(300)) and len(numbers) > 300, "some again, none left out"


def test_programs_below_a_process_are_its_children_and_theirs() -> None:
    programs = import_module("streams.processes").programs
    script = "sleep 60 & echo there; read line; kill $!"
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "there\n"
        assert programs(shell.pid) == {"sleep"}
        shell.communicate("end\n")


# -- the claims: mutants ---------------------------------------------------------------------

STATELESS = "stateless-predict stateless-steps stateless-run stateless-backwards stateless-verdict"
DUALITY = "duality-predict duality-run back-run"
DATABASE = "database-predict database-shop database-run"
BY_HAND = [  # sections 1 to 7
    Mutant(
        "nothing follows what was read",
        "C155",
        "unbounded-predict unbounded-run unbounded-verdict",
        [("islice(events, 100)", "islice(events, 100 if number == 100 else 0)")],
    ),
    Mutant(
        "a greeting says how many came before",
        "C160 C161",
        STATELESS,
        [
            (
                'return f"Hello, {guest}"',
                "memory[0] = memory.get(0, 0) + 1\n    return memory[0]",
            ),
        ],
    ),
    Mutant(
        "a filter numbers the cards",
        "C161",
        STATELESS,
        [
            (
                "return amount if abs(int(amount)) >= 5 else None",
                "memory[0] = memory.get(0, 0) + 1\n    return memory[0]",
            ),
        ],
    ),
    Mutant(
        "somebody else writes while the processor stands still",
        "C158",
        "stateless-predict stateless-steps stateless-run where-run where-verdict",
        [("greeter.pause()", "stand.send(cluster, out, [('Mei', 'Hello')])")],
    ),
    Mutant(
        "one partition, and so nothing to share",
        "C159",
        "stateless-predict instances-run instances-shifts instances-verdict",
        [('("two", 4, "ab")', '("two", 1, "ab")')],
    ),
    Mutant(
        "three instances, and one is killed",
        "C159",
        "stateless-predict instances-run instances-shifts instances-verdict",
        [('("two", 4, "ab")', '("two", 4, "abc")')],
    ),
    Mutant(
        "a fold forgets what came before",
        "C163",
        "duality-predict duality-run duality-verdict",
        [("table[it.key] += int", "table[it.key] = int")],
    ),
    Mutant(
        "what is sent are not the table's changes",
        "C162",
        f"{DUALITY} back-verdict",
        [("changes.append((guest, balance[guest]))", "changes.append((guest, amount))")],
    ),
    Mutant(
        "a cleaner removes the newest",
        "C166",
        f"{DUALITY} compacted-run compacted-verdict",
        [("stand.cleaned(cluster, changelog, guests + 350)", "every[:300]")],
    ),
    Mutant(
        "tables at two other offsets, and a table of 500 guests",
        "",
        "duality-predict duality-run duality-outcome duality-verdict back-run"
        " compacted-run compacted-verdict",
        [("(10, 50, 100)", "(30, 70)"), ("guests = 50", "guests = 500")],
    ),
    Mutant(
        "a trigger misses the changes of prices",
        "C164",
        f"{DATABASE} database-verdict",
        [("AFTER UPDATE ON", "AFTER UPDATE OF tea ON")],
    ),
    Mutant(
        "another price is raised, and all is run twice",
        "",
        f"{DATABASE} database-run database-verdict"
        " broadcast-run broadcast-run broadcast-verdict database-verdict",
        [("tea <> 'oolong'", "tea = 'pu-erh'")],
    ),
    Mutant(
        "changes are read in the wrong order",
        "C171",
        f"{DATABASE} broadcast-run broadcast-verdict",
        [("stand.read(cluster, prices), own", "stand.read(cluster, prices)[::-1], own")],
    ),
    Mutant(
        "the far database is here",
        "C167",
        "remote-predict remote-run remote-outcome remote-verdict",
        [("counted(0.001, 1)", "counted(None, 1)")],
    ),
    Mutant(
        "the database goes on, and all is run twice",
        "C168",
        "remote-predict dependence-run dependence-run dependence-verdict",
        [("far.process.pause()", "pass"), (', events[100:200], ["here"])', ", events[100:200])")],
    ),
    Mutant(
        "nobody reads the changelog back",
        "C170",
        "replay-predict replay-step replay-run replay-verdict",
        [("restore=back", "restore=False")],
    ),
    Mutant(
        "processors are killed sooner, and all is run twice",
        "",
        "replay-predict replay-step replay-run replay-run replay-verdict",
        [("counts[name], 600)", "counts[name], 500)")],
    ),
    Mutant(
        "services change no field, orders are kept, and all is run twice",
        "C177",
        "middle-predict middle-run middle-rest middle-rest middle-verdict",
        [('orders, "drink")', "orders)"), ("= stand.read(cluster, short)", "= orders")],
    ),
]
ON_SPARK = [  # sections 8 to 12
    Mutant(
        "all orders come at once, none is changed, and a program counts to one",
        "C152 C154 C156 C172",
        "flow-predict flow-run flow-outcome flow-verdict"
        " processed-run processed-look processed-verdict languages-run languages-verdict",
        [
            ("(orders[:8], orders[8:16], orders[16:])", "(orders,)"),
            ("upper(STRING(value)) value", "STRING(value) value"),
            ("memory[tea] = memory.get(tea, 0) + 1", "memory[tea] = 1"),
        ],
    ),
    Mutant(
        "the count is in memory, and no card comes after the restart",
        "C165 C169",
        "counting-predict counting-kinds counting-verdict"
        " compared-run compared-far compared-verdict",
        [('"complete", pipes.ROCKSDB', '"complete", pipes.IN_MEMORY'), ("many[:1]", "[]")],
    ),
    Mutant(
        "Tom has not moved, and nothing is restarted",
        "C157 C176",
        "enriched-predict enriched-run enriched-verdict"
        " joined-predict joined-steps joined-run joined-look joined-verdict",
        [('("Tom", "bar"), ', ""), ("((right[:4], 2), (right[4:], 22))", "((right, 22),)")],
    ),
    Mutant(
        "an hour is waited for late errors, and no window is over",
        "",
        "late-predict late-query late-run late-outcome late-verdict",
        [('"timestamp", "10 seconds")  # change', '"timestamp", "1 hour")  # change')],
    ),
    Mutant(
        "SQL counts by guest, and one too many; no column is mistyped",
        "C173 C174",
        "sql-predict sql-queries sql-run sql-plan sql-broker sql-verdict",
        [
            (
                "SELECT tea, count(*) AS cups FROM orders GROUP BY tea",
                "SELECT guest, count(*) + 1 AS cups FROM orders GROUP BY guest",
            ),
            ("SELECT teh", "SELECT tea"),
        ],
    ),
    Mutant(
        "another statement is the same statement",
        "C174",
        "sql-predict sql-queries sql-run sql-broker sql-verdict",
        [("spark.sql(OTHER)", "spark.sql(COUNT)")],
    ),
]
MUTANTS = BY_HAND + ON_SPARK


@pytest.mark.parametrize("mutant", parameters(BY_HAND))
@pytest.mark.timeout(300)
def test_another_experiment_comes_to_another_verdict(
    reader: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(reader, mutant, monkeypatch)


# -- with Spark ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_session() -> Iterator[None]:
    """Whoever is first starts it; it takes longer than what is done with it."""
    yield
    if import_module("sparkstreams.jvm").running():
        spark = import_module("streams.session").starting().spark()
        import_module("sparkstreams.session").stop(spark)


SECTIONS = {
    "late": "late-predict late-query late-run late-outcome late-verdict",
    "enriched": "enriched-predict enriched-run enriched-outcome enriched-verdict",
}


@pytest.mark.long
@pytest.mark.parametrize("mutant", parameters(ON_SPARK))
@pytest.mark.timeout(600)
def test_another_query_comes_to_another_verdict(
    reader: Reader, one_session: None, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(reader, mutant, monkeypatch)


@pytest.mark.long  # `make order` goes through them, too
@pytest.mark.timeout(600)
def test_sections_with_spark_stand_alone_in_any_order(reader: Reader, one_session: None) -> None:
    for section in ("enriched", "late", "enriched"):
        same_as_saved(reader, *SECTIONS[section].split())
    spark = reader.names["spark"]
    reader.through("flow-predict")
    assert reader.names["spark"] is spark
