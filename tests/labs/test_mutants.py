"""No claim is decided by an experiment that could not come out otherwise.

For each claim that one of these labs decides, its tests hold a mutant that changes its verdict.
An opinion is the exception: no experiment decides it, and its card says so.

A mutant is not enough for a claim to be *shown*: where it only changes what the cell itself has
typed in, the claim is so by definition. But each claim that is shown has one, and labs/claims.json
says which, in its words.
"""

from pathlib import Path

import pytest

from tests.labs import (
    test_appendix,
    test_controller_lab,
    test_operations_lab,
    test_operations_listeners,
    test_promises_lab,
    test_rebalance_lab,
    test_replication_lab,
    test_sending_lab,
    test_speed_lab,
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
    test_sending_lab,
    test_promises_lab,
    test_speed_lab,
    test_operations_lab,
    test_operations_listeners,
    test_appendix,
)


@pytest.mark.parametrize("lab", sorted({each.LAB for each in LABS}))
def test_each_claim_that_a_lab_decides_has_a_mutant(lab: Path) -> None:
    """The tests of a lab may be in several modules."""
    claims = load()
    found = {key for key in decided(lab) if claims[key].verdict != "opinion"}
    mutants = [it for each in LABS if lab == each.LAB for it in each.MUTANTS]
    assert {claim for it in mutants for claim in it.claims.split()} == found


def test_what_is_shown_names_what_has_turned_it() -> None:
    for key, claim in load().items():
        mutants = [it.what for lab in LABS for it in lab.MUTANTS if key in it.claims.split()]
        assert bool(claim.against) == (claim.kind == "shown"), key
        assert claim.kind != "shown" or any(claim.against in it for it in mutants), key
