"""04_streams, as it is run by whoever begins in the middle and goes back; and without Spark.

A claim's test breaks the experiment: then the verdict must not be the same any more.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import pytest
from IPython.lib.pretty import pretty

from engine import Cluster
from engine.cluster.state import Status
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
from streams import crew, database, house, remote, stand, tap
sys.exit("pyspark" in sys.modules)
"""


def test_what_needs_no_spark_does_not_even_look_for_it() -> None:
    path = f"{LABS}:{LABS.parent}"
    found = subprocess.run([sys.executable, "-c", SPARKLESS], env={"PYTHONPATH": path}, check=False)
    assert found.returncode == 0


# -- what the experiments rest on ------------------------------------------------------------


def test_guests_do_the_same_each_time() -> None:
    house = import_module("streams.house")
    assert house.some_cards(3) == house.some_cards(5)[:3]
    assert house.counts([("Mei", 20), ("Tom", 5), ("Mei", -4)]) == {"Mei": 2, "Tom": 1}


def test_a_step_is_the_same_function_in_another_process() -> None:
    loop = import_module("streams.loop")

    def count(guest: str, amount: str, memory: dict[str, int]) -> int:
        memory[guest] = memory.get(guest, 0) + 1
        return memory[guest]

    step, memory = loop.unpacked(loop.packed(count)), {"Mei": 2}
    assert step.__name__ == "count"
    assert step("Mei", "4", memory) == 3


def test_programs_below_a_process_are_its_children_and_theirs() -> None:
    programs = import_module("streams.crew").programs
    script = "sleep 60 & echo there; read line; kill $!"
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "there\n"
        assert programs(shell.pid) == {"sleep"}
        shell.communicate("end\n")


# -- the claims: mutants ---------------------------------------------------------------------


def broken(reader: Reader, cells: str, name: str, old: str, new: str) -> str:
    """What the last of some cells finds when one of them was changed."""
    cell = reader.cell(name)
    assert old in cell.source, f"{name} has no {old!r}"
    cell.source = cell.source.replace(old, new)
    with pytest.raises(Contradiction) as told:
        reader.through(*cells.split())
    return str(told.value)


DUALITY = "duality-predict duality-run back-run"
STATELESS = "stateless-predict stateless-steps stateless-run stateless-backwards stateless-verdict"
DATABASE = "database-predict database-shop database-run"
QUICK: dict[str, tuple[str, str, str, str]] = {
    "C155": (  # nothing follows what was read
        "unbounded-predict unbounded-run unbounded-verdict",
        *("unbounded-run", "islice(events, 100)", "islice(events, 100 if number == 100 else 0)"),
    ),
    "C163": (  # a fold that forgets
        *("duality-predict duality-run duality-verdict", "duality-run"),
        *("table[it.key] += int", "table[it.key] = int"),
    ),
    "C162": (  # the changes are not the table's
        *(f"{DUALITY} back-verdict", "back-run"),
        *("changes.append((guest, balance[guest]))", "changes.append((guest, amount))"),
    ),
    "C166": (  # a cleaner that removes the newest
        *(f"{DUALITY} compacted-run compacted-verdict", "compacted-run"),
        *("stand.cleaned(cluster, changelog, 400)", "every[:300]"),
    ),
    "C164": (  # a trigger that misses changes of prices
        *(f"{DATABASE} database-verdict", "database-shop"),
        *("AFTER UPDATE ON", "AFTER UPDATE OF tea ON"),
    ),
    "C171": (  # changes in the wrong order
        *(f"{DATABASE} broadcast-run broadcast-verdict", "broadcast-run"),
        *("stand.read(cluster, prices)", "stand.read(cluster, prices)[::-1]"),
    ),
    "C167": (  # the far database is here
        "remote-predict remote-count remote-run remote-outcome remote-verdict",
        *("remote-run", "counted(0.001, 1)", "counted(None, 1)"),
    ),
    "C168": (  # the database goes on
        *("remote-predict dependence-jobs dependence-run dependence-verdict", "dependence-run"),
        "far.process.pause()  # change me: kill() instead\n    "
        'send("the database stands still", events[100:200], ["here"])',
        'send("the database stands still", events[100:200])',
    ),
}
SLOW: dict[str, tuple[str, str, str, str]] = {
    "C160": (  # a greeting that knows how many came before
        *(STATELESS, "stateless-steps", 'return f"Hello, {guest}"'),
        "memory[0] = memory.get(0, 0) + 1\n    return memory[0]",
    ),
    "C161": (  # a filter with a memory
        *(STATELESS, "stateless-steps", "return amount if abs(int(amount)) >= 5 else None"),
        "memory[0] = memory.get(0, 0) + 1\n    return memory[0]",
    ),
    "C158": (  # what is stopped is not what does the work
        *("stateless-predict stateless-steps stateless-run where-run where-verdict", "where-run"),
        *("greeter.pause()", "stand.send(cluster, out, [('Mei', 'Hello')])"),
    ),
    "C159": (  # nothing to share
        "stateless-predict instances-run instances-shifts instances-verdict",
        *("instances-shifts", '("two", 4, "ab")', '("two", 1, "ab")'),
    ),
    "C170": (  # nobody reads the changelog back
        "replay-predict replay-step replay-run replay-verdict",
        *("replay-run", "restore=back", "restore=False"),
    ),
}


@pytest.mark.parametrize("claim", QUICK)
@pytest.mark.timeout(300)
def test_another_experiment_comes_to_another_verdict(reader: Reader, claim: str) -> None:
    assert f"This run finds {claim} " in broken(reader, *QUICK[claim])


@pytest.mark.long
@pytest.mark.parametrize("claim", SLOW)
@pytest.mark.timeout(300)
def test_another_processor_comes_to_another_verdict(reader: Reader, claim: str) -> None:
    assert f"This run finds {claim} " in broken(reader, *SLOW[claim])


@pytest.mark.timeout(300)
def test_services_that_change_nothing_and_keep_all_are_free(reader: Reader) -> None:
    cell = reader.cell("middle-rest")
    cell.source = cell.source.replace('"drink"', '"tea"').replace(
        "audit = stand.read(cluster, short)", "audit = orders"
    )
    with pytest.raises(Contradiction, match="finds C177 holds"):
        reader.through("middle-predict", "middle-run", "middle-rest", "middle-verdict")


# -- with Spark ------------------------------------------------------------------------------


@pytest.fixture
def with_spark(reader: Reader) -> Iterator[Reader]:
    yield reader
    if "spark" in reader.names:
        import_module("engine.streams.session").stop(reader.names["spark"])


ON_SPARK = {
    "late": "late-predict late-query late-run late-outcome late-verdict",
    "enriched": "enriched-predict enriched-run enriched-outcome enriched-verdict",
}
BROKEN: dict[str, tuple[str, str, str, str]] = {
    "C176": (  # Tom has not moved
        *("enriched-predict enriched-run enriched-verdict", "enriched-run"),
        *('("Tom", "bar"), ', ""),
    ),
    "C157": (  # no restart
        "joined-predict joined-steps joined-query joined-run joined-look joined-verdict",
        *("joined-run", "((right[:4], 2), (right[4:], 12))", "((right, 12),)"),
    ),
    "C174": (  # a comparison that shows nothing
        "sql-predict sql-queries sql-run sql-broker sql-verdict sql-verdict-2",
        *("sql-queries", "spark.sql(OTHER)", "spark.sql(COUNT)"),
    ),
    "C165": (  # the count is kept elsewhere
        "counting-predict counting-kinds counting-verdict",
        *("counting-kinds", '"complete", pipes.ROCKSDB', '"complete", pipes.IN_MEMORY'),
    ),
}


@pytest.mark.long  # `make order` goes through them, too
@pytest.mark.timeout(600)
def test_sections_with_spark_stand_alone_in_any_order(with_spark: Reader) -> None:
    reader = with_spark
    for section in ("enriched", "late", "enriched"):
        same_as_saved(reader, *ON_SPARK[section].split())
    spark = reader.names["spark"]
    reader.through("flow-predict")
    assert reader.names["spark"] is spark


@pytest.mark.long
@pytest.mark.timeout(900)
def test_another_query_comes_to_another_verdict(with_spark: Reader) -> None:
    for claim, how in BROKEN.items():
        with_spark.notebook = (again := Reader(LAB)).notebook
        with_spark.cells = again.cells
        assert f"This run finds {claim} " in broken(with_spark, *how)
