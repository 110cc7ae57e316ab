"""03_rebalance, as it is run by whoever begins in the middle and goes back."""

from dataclasses import replace

import pytest

from engine.cluster.state import Status
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "03_rebalance.ipynb"


def run(reader: Reader, *names: str) -> object:
    """These cells; the value that the last of them shows."""
    value = None
    for name in names:
        _, value = reader.run(reader.cell(name))
    return value


@pytest.mark.timeout(300)
def test_one_may_begin_in_the_middle_go_back_and_do_it_again(reader: Reader) -> None:
    run(reader, "rounds-cluster", "rounds-predict")
    reader.names["guess"].choose("1 The coordinator")
    run(reader, "rounds-run")
    assert "You predicted: The coordinator." in repr(run(reader, "rounds-outcome"))
    run(reader, "rounds-verdict")
    assert "Run the cells of C100" in repr(run(reader, "table"))

    cluster = reader.names["cluster"]
    shares = repr(run(reader, "sharing-cluster", "sharing-run"))
    run(reader, "sharing-verdict")
    assert reader.names["cluster"] is cluster
    assert repr(run(reader, "sharing-run")) == shares
    run(reader, "sharing-verdict", "rounds-run", "rounds-verdict")

    cluster.kill(2)  # a learner has played with it; a section's first cell makes it whole
    run(reader, "triggers-cluster")
    assert {it.status for it in cluster.state().brokers.values()} == {Status.UP}
    run(reader, "triggers-assigned", "triggers-assigned-verdict")


def test_a_wrong_verdict_in_the_ledger_stops_the_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(reader, "strategies-cluster", "strategies-hashed", "strategies-hashed-verdict")
    ledger = reader.names["ledger"]
    monkeypatch.setitem(ledger.claims, "C139", replace(ledger.claims["C139"], verdict="holds"))
    with pytest.raises(Contradiction, match=r"C139 conditional, and labs/claims\.json says holds"):
        run(reader, "strategies-hashed-verdict")


def test_a_wait_in_vain_says_for_what(reader: Reader) -> None:
    run(reader, "strategies-cluster")
    with pytest.raises(TimeoutError, match="the moon: not within 0 seconds"):
        reader.names["stand"].until("the moon", lambda: False, 0)
