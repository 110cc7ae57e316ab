"""04_streams, as it is run by whoever begins in the middle and goes back; and without Spark."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import pytest

from engine.cluster.state import Status
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "04_streams.ipynb"


def saved(reader: Reader, name: str) -> str:
    """What that cell showed when the lab was saved."""
    return str(reader.cell(name).outputs[0].data["text/plain"])


@pytest.mark.long  # `make order` begins anywhere, and goes back
@pytest.mark.timeout(300)
def test_one_may_begin_in_the_middle_go_back_and_do_it_again(reader: Reader) -> None:
    reader.through("middle-cluster", "middle-predict")
    reader.names["guess"].choose("1 All orders")
    reader.through("middle-run")
    assert "As you predicted: All orders." in repr(reader.through("middle-outcome"))
    reader.through("middle-verdict")
    assert "Run the cells of C152" in repr(reader.through("table"))

    cluster = reader.names["cluster"]
    found = repr(reader.through("duality-cluster", "sourced-run"))
    assert reader.names["cluster"] is cluster
    reader.through("sourced-verdict", "back-run", "back-verdict")
    assert repr(reader.through("sourced-run")) == found

    cluster.kill(2)  # a learner has played with it; a section's first cell makes it whole
    reader.through("database-cluster")
    assert {it.status for it in cluster.state().brokers.values()} == {Status.UP}
    assert repr(reader.through("replica-run")) == saved(reader, "replica-run")
    reader.through("replica-verdict", "broadcast-run", "broadcast-verdict", "replica-verdict")


def test_a_wrong_verdict_in_the_ledger_stops_the_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.through("duality-cluster", "back-run")
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
from streams import database, duality, middle, remote, replay, stand, stateless, unbounded
sys.exit("pyspark" in sys.modules)
"""


def test_what_needs_no_spark_does_not_even_look_for_it() -> None:
    path = f"{LABS}:{LABS.parent}"
    found = subprocess.run([sys.executable, "-c", SPARKLESS], env={"PYTHONPATH": path}, check=False)
    assert found.returncode == 0


# -- what the experiments rest on ------------------------------------------------------------


def test_a_fold_and_a_record_of_the_house_are_what_they_say() -> None:
    house, duality = import_module("streams.house"), import_module("streams.duality")
    assert house.some_cards(3) == house.some_cards(5)[:3]
    assert house.balances([("Mei", "+20"), ("Tom", 5), ("Mei", "-4")]) == {"Mei": 16, "Tom": 5}
    changes = [*duality.changes([("Mei", 20), ("Tom", 5), ("Mei", -4)])]
    assert changes == [("Mei", "20"), ("Tom", "5"), ("Mei", "16")]


# -- with Spark ------------------------------------------------------------------------------


@pytest.fixture
def with_spark(reader: Reader) -> Iterator[Reader]:
    yield reader
    if "spark" in reader.names:
        import_module("engine.streams.session").stop(reader.names["spark"])


@pytest.mark.long  # `make order` goes through them, too
@pytest.mark.timeout(600)
def test_sections_with_spark_stand_alone_in_any_order(with_spark: Reader) -> None:
    reader = with_spark
    for first, section in (("joins", "enriched"), ("late", "late"), ("joins", "enriched")):
        value = reader.through(f"{first}-cluster", f"{section}-run")
        assert repr(value) == saved(reader, f"{section}-run")
        reader.through(f"{section}-verdict")
    spark = reader.names["spark"]
    reader.through("flow-cluster")
    assert reader.names["spark"] is spark
