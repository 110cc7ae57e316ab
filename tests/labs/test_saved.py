"""The labs as they are saved: what somebody reads who runs nothing, and what nbval compares."""

import pytest

from tests.labs.reader import LABS, Reader
from widgets.ledger.claims import load
from widgets.ledger.coverage import decided
from widgets.ledger.ledger import MIME

SAVED = {"00_start": 400_000}  # bytes, pictures included
MOST = 1_500_000
MEASURED = {"03_rebalance": {"storms-restarts", "storms-times"}}  # may come out a little otherwise


@pytest.fixture(params=sorted(path.stem for path in LABS.glob("*.ipynb")))
def reader(request: pytest.FixtureRequest) -> Reader:
    return Reader(LABS / f"{request.param}.ipynb")


def kinds(cell) -> set[str]:
    return {kind for output in cell.outputs for kind in output.get("data", {})}


def test_it_reads_well_where_nothing_runs(reader: Reader) -> None:
    assert "widgets" not in reader.notebook.metadata
    assert [cell.execution_count for cell in reader.cells] == [*range(1, len(reader.cells) + 1)]
    for cell in reader.cells:
        assert kinds(cell) <= {"image/png", "text/plain", "text/html", MIME}, cell.id
        assert not any(it.output_type in ("error", "stream") for it in cell.outputs), cell.id
    assert reader.path.stat().st_size < SAVED.get(reader.path.stem, MOST)


def test_a_cell_has_one_idea_and_one_to_five_lines(reader: Reader) -> None:
    for cell in reader.cells:
        assert 1 <= len([line for line in cell.source.splitlines() if line.strip()]) <= 5, cell.id


def test_only_pictures_and_measurements_are_not_compared(reader: Reader) -> None:
    tags = {cell.id: cell.metadata.get("tags", []) for cell in reader.cells}
    assert {tag for each in tags.values() for tag in each} <= {"nbval-ignore-output"}
    spared = {name for name, each in tags.items() if each}
    pictures = {cell.id for cell in reader.cells if "image/png" in kinds(cell)}
    assert spared == pictures | MEASURED.get(reader.path.stem, set())


def test_every_claim_of_a_lab_is_decided_as_expected_or_is_to_come(reader: Reader) -> None:
    claims = [it for it in load().values() if it.lab == reader.path.stem]
    found = {key: it.verdict for key, it in decided(reader.path).items()}
    assert found == {it.id: it.verdict for it in claims if not it.awaits}


def test_each_prediction_is_asked_before_it_is_answered(reader: Reader) -> None:
    """And between the two is the run."""
    order = [cell.id for cell in reader.cells]
    asked = [name for name in order if name.endswith("predict")]
    assert asked
    for name in asked:
        outcome = name.replace("predict", "outcome")
        assert order.index(name) + 1 < order.index(outcome), name
