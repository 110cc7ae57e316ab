"""03_rebalance: begun in the middle, run again, and what would change its verdicts."""

import importlib
from dataclasses import replace

import pytest

from engine.cluster.state import Status
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_03 import MUTANTS
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "03_rebalance.ipynb"


@pytest.mark.long  # `make order` begins anywhere, and goes back
@pytest.mark.timeout(300)
def test_one_may_begin_in_the_middle_go_back_and_do_it_again(reader: Reader) -> None:
    reader.through("rounds-predict")
    reader.names["guess"].choose("1 The coordinator")
    reader.through("rounds-run")
    assert "You predicted: The coordinator." in repr(reader.through("rounds-outcome"))
    reader.through("rounds-offers", "rounds-beats", "rounds-verdict")
    assert "Run the cells of C100" in repr(reader.through("table"))

    cluster = reader.names["cluster"]
    shares = repr(reader.through("sharing-predict", "sharing-run"))
    reader.through("sharing-verdict")
    assert reader.names["cluster"] is cluster
    assert repr(reader.through("sharing-run")) == shares
    reader.through("sharing-verdict", "rounds-predict", "rounds-run", "rounds-verdict")

    cluster.kill(2)  # a learner has played with it; a section's first cell makes it whole
    reader.through("coordinator-predict")
    assert {it.status for it in cluster.state().brokers.values()} == {Status.UP}
    reader.through("coordinator-fallen", "coordinator-found", "coordinator-start")
    reader.through("coordinator-calm", "coordinator-verdict", "coordinator-start-verdict")


# -- what would change a verdict -----------------------------------------------------------------


@pytest.mark.timeout(120)
@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


# -- and the ledger ------------------------------------------------------------------------------


def test_a_wrong_verdict_in_the_ledger_stops_the_cell(
    shared: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.through("storms-predict")
    shared.names |= {"by_brokers": {1: 1000, 10: 1000}, "hanging": 8000}
    shared.through("storms-verdict")
    ledger = shared.names["ledger"]
    monkeypatch.setitem(ledger.claims, "C138", replace(ledger.claims["C138"], verdict="holds"))
    with pytest.raises(Contradiction, match=r"C138 conditional, and labs/claims\.json says holds"):
        shared.through("storms-verdict")


def test_a_wait_in_vain_says_for_what() -> None:
    stand = importlib.import_module("rebalance.stand")
    with pytest.raises(TimeoutError, match="the moon: not within 0 seconds"):
        stand.until("the moon", lambda: False, 0)


def test_a_program_that_ends_says_why(shared: Reader) -> None:
    """A learner's mistake in the zombie's program is told, and not waited for."""
    shared.through("zombie-predict")
    team = importlib.import_module("rebalance.team").Team
    with team(shared.names["cluster"], shared.names["cluster"].topic("lines")) as one:
        process = one.start("a", "print(consume)")
        with pytest.raises(RuntimeError, match="NameError: name 'consume' is not defined"):
            process.wait_for("works on")
