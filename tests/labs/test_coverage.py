"""docs/coverage.md says what the saved labs say, and nothing else."""

from pathlib import Path

from widgets.ledger import coverage
from widgets.ledger.claims import load

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_made_from_the_labs_as_they_are_saved() -> None:
    found = coverage.all_decided(ROOT / "labs")
    told = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    made = "make it anew: python -m widgets.ledger.coverage labs > docs/coverage.md"
    assert told == coverage.page(load(), found), made


def test_the_labs_with_claims_decide_all_that_can_be_decided_today() -> None:
    found, claims = coverage.all_decided(ROOT / "labs"), load()
    for lab in (
        "01_storage",
        "02_replication",
        "03_rebalance",
        "04_streams",
        "05_delivery",
        "06_speed",
        "07_operations",
        "08_controller",
    ):
        due = {key for key, claim in claims.items() if claim.lab == lab}
        assert due <= found.keys()
