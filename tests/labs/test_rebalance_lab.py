"""03_rebalance, as it is saved, and as it is run by whoever begins in the middle and goes back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cluster.state import Status
from tests.labs.reader import Reader
from widgets.ledger.claims import load
from widgets.ledger.coverage import decided
from widgets.ledger.ledger import MIME, Contradiction

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "labs" / "03_rebalance.ipynb"
SAVED = 1_500_000  # bytes, pictures included
MEASURED = {"storms-restarts", "storms-times"}  # tables of what may come out a little otherwise


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.syspath_prepend(str(LAB.parent))
    reader = Reader(LAB)
    yield reader
    reader.close()


def run(reader: Reader, *names: str) -> object:
    """These cells; the value that the last of them shows."""
    value = None
    for name in names:
        _, value = reader.run(reader.cell(name))
    return value


# -- as it is saved --------------------------------------------------------------------------


def test_it_reads_well_where_nothing_runs() -> None:
    reader = Reader(LAB)
    assert "widgets" not in reader.notebook.metadata
    assert [cell.execution_count for cell in reader.cells] == [*range(1, len(reader.cells) + 1)]
    for cell in reader.cells:
        kinds = {kind for it in cell.outputs for kind in it.get("data", {})}
        assert kinds <= {"image/png", "text/plain", "text/html", MIME}
        assert not any(it.output_type in ("error", "stream") for it in cell.outputs)
    assert LAB.stat().st_size < SAVED


def test_a_cell_has_one_idea_and_one_to_five_lines() -> None:
    for cell in Reader(LAB).cells:
        assert 1 <= len([line for line in cell.source.splitlines() if line.strip()]) <= 5


def test_only_pictures_and_measurements_are_not_compared() -> None:
    cells = Reader(LAB).cells
    spared = {it.id for it in cells if "nbval-ignore-output" in it.metadata.get("tags", [])}
    shown = {it.id for it in cells if any("image/png" in out.get("data", {}) for out in it.outputs)}
    assert spared == shown | MEASURED


def test_every_claim_of_the_lab_is_decided_as_the_ledger_expects_or_is_to_come() -> None:
    found = {key: it.verdict for key, it in decided(LAB).items()}
    claims = [it for it in load().values() if it.lab == LAB.stem]
    assert found == {it.id: it.verdict for it in claims if not it.awaits}


def test_a_section_asks_before_it_tells() -> None:
    """Each outcome has its question, and between the two the run."""
    names = [cell.id for cell in Reader(LAB).cells]
    for section in {name.split("-")[0] for name in names if name.endswith("-predict")}:
        asked, told = names.index(f"{section}-predict"), names.index(f"{section}-outcome")
        assert told - asked >= 2


# -- as it is run ----------------------------------------------------------------------------


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
