"""No claim is decided by an experiment that could not come out otherwise.

For each claim that one of these labs decides, its tests hold a mutant that changes its verdict.
An opinion is the exception: no experiment decides it, and its card says so.
"""

from types import ModuleType

import pytest

from tests.labs import (
    test_controller_lab,
    test_rebalance_lab,
    test_replication_lab,
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
)


@pytest.mark.parametrize("lab", LABS)
def test_each_claim_that_a_lab_decides_has_a_mutant(lab: ModuleType) -> None:
    claims = load()
    found = {key for key in decided(lab.LAB) if claims[key].verdict != "opinion"}
    assert {claim for it in lab.MUTANTS for claim in it.claims.split()} == found
