"""03_rebalance, as it is run by whoever begins in the middle and goes back."""

from dataclasses import replace

import pytest

from engine.cluster.state import Status
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "03_rebalance.ipynb"


@pytest.mark.long  # `make order` begins anywhere, and goes back
@pytest.mark.timeout(300)
def test_one_may_begin_in_the_middle_go_back_and_do_it_again(reader: Reader) -> None:
    reader.through("rounds-cluster", "rounds-predict")
    reader.names["guess"].choose("1 The coordinator")
    reader.through("rounds-run")
    assert "You predicted: The coordinator." in repr(reader.through("rounds-outcome"))
    reader.through("rounds-verdict")
    assert "Run the cells of C100" in repr(reader.through("table"))

    cluster = reader.names["cluster"]
    shares = repr(reader.through("sharing-cluster", "sharing-run"))
    reader.through("sharing-verdict")
    assert reader.names["cluster"] is cluster
    assert repr(reader.through("sharing-run")) == shares
    reader.through("sharing-verdict", "rounds-run", "rounds-verdict")

    cluster.kill(2)  # a learner has played with it; a section's first cell makes it whole
    reader.through("triggers-cluster")
    assert {it.status for it in cluster.state().brokers.values()} == {Status.UP}
    reader.through("triggers-assigned", "triggers-assigned-verdict")


def test_a_wrong_verdict_in_the_ledger_stops_the_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.through("strategies-cluster", "strategies-hashed", "strategies-hashed-verdict")
    ledger = reader.names["ledger"]
    monkeypatch.setitem(ledger.claims, "C139", replace(ledger.claims["C139"], verdict="holds"))
    with pytest.raises(Contradiction, match=r"C139 conditional, and labs/claims\.json says holds"):
        reader.through("strategies-hashed-verdict")


def test_a_wait_in_vain_says_for_what(reader: Reader) -> None:
    reader.through("strategies-cluster")
    with pytest.raises(TimeoutError, match="the moon: not within 0 seconds"):
        reader.names["stand"].until("the moon", lambda: False, 0)
