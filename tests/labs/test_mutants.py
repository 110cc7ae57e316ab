"""No claim is decided by an experiment that could not come out otherwise.

For each claim that one of these labs decides, its tests hold a mutant that changes its verdict.
An opinion is the exception: no experiment decides it, and its card says so.
"""

from pathlib import Path

import pytest

from tests.labs import (
    test_controller_lab,
    test_delivery_guarantees,
    test_delivery_sending,
    test_operations_lab,
    test_operations_listeners,
    test_rebalance_lab,
    test_replication_lab,
    test_speed_lab,
    test_speed_peers,
    test_storage_lab,
    test_streams_lab,
)
from widgets.ledger.claims import load
from widgets.ledger.coverage import decided

LABS = (
    test_storage_lab,
    test_replication_lab,
    test_rebalance_lab,
    test_streams_lab,
    test_controller_lab,
    test_delivery_sending,
    test_delivery_guarantees,
    test_speed_lab,
    test_speed_peers,
    test_operations_lab,
    test_operations_listeners,
)


@pytest.mark.parametrize("lab", sorted({each.LAB for each in LABS}))
def test_each_claim_that_a_lab_decides_has_a_mutant(lab: Path) -> None:
    """The tests of a lab may be in several modules."""
    claims = load()
    found = {key for key in decided(lab) if claims[key].verdict != "opinion"}
    mutants = [it for each in LABS if lab == each.LAB for it in each.MUTANTS]
    assert {claim for it in mutants for claim in it.claims.split()} == found
