"""The labs as they are saved: what somebody reads who runs nothing, and what nbval compares."""

import ast
import json
import re

import pytest

from proof.challenges.table import CHALLENGES
from tests.labs.reader import LABS, Reader
from tests.labs.split import asks, explain_terms, sections
from widgets.ledger.claims import load
from widgets.ledger.coverage import decided
from widgets.ledger.ledger import MIME
from widgets.saved import FOLDER, SITUATION, saved_outputs, saved_path, tells_no_outcome

MOST = 250_000  # bytes of a notebook, pictures included
MOST_BESIDE = 1_640_000  # lab 10 has fourteen pictures
ASK_IN_A_PICTURE = {"challenges", "oracle"}
NUMBERED = sorted(path.stem for path in LABS.glob("[0-9]*.ipynb"))  # without the appendix
MEASURED = {  # these may come out a little otherwise; `beside` says so where Kafka's jars are not
    "00_start": {"kill", "seconds-outcome"},
    "01_storage": {"waits"},
    "03_rebalance": {
        *("storms-restarts", "cost-found", "offsets-habits", "sharing-backlog", "rounds-beats"),
        *("clocks-hung-seconds", "clocks-seconds", "zombie-waited"),
    },
    "04_streams": {"beside"},
    "06_sending": {
        *("partition-without", "order-keys-run", "order-stored", "buffer-linger"),
        *("socket-held", "buffer-callbacks"),
    },
    "07_promises": {"place-sync"},
    "08_speed": {
        *("batch-sync-run", "batch-fetch", "cache-write", "cache-read-run", "select-run"),
        *("cache-outcome", "codec-least-try", "codec-run", "disk-outcome"),
        *("tail-outcome", "tail-try", "slow-served"),
        *("batch-partitions", "codec-log", "disk-ahead-pages"),
    },
    "09_operations": {
        *("ack-count-table", "parallel-yml-run"),
        *("one-three", "one-alone", "up-table", "noisy-sent"),
        *("lag-plant", "lag-tools", "lag-metrics", "lag-state"),
    },
    "10_kraft": {  # ids and times
        *("format", "topic", "active", "fenced", "twins", "wake-run", "wake-outcome", "minority"),
    },
    "challenges": {f"{name}-rule" for name in CHALLENGES},  # each tells how far it is
    "articles": {
        *("books-start", "books-topics", "books-messages", "books-servers", "books-download"),
        "buffer-latch",
    },
}

SPARED, FOLDED = "nbval-ignore-output", ("decides", "hide-input")  # tags
LONG = {"09_operations": {"many-run", "zk-run", "quorum-run"}}  # they say what they are doing


@pytest.fixture(params=sorted(path.stem for path in LABS.glob("*.ipynb")))
def reader(request: pytest.FixtureRequest) -> Reader:
    return Reader(LABS / f"{request.param}.ipynb")


def kinds(cell) -> set[str]:
    return {kind for output in cell.outputs for kind in output.get("data", {})}


def test_no_outcome_is_in_a_notebook(reader: Reader) -> None:
    """Who opens a lab sees questions, and the pictures that open a section."""
    for cell in json.loads(reader.path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            expected = 0 if tells_no_outcome(cell) else None
            assert cell["execution_count"] == expected, cell["id"]
            assert not cell["outputs"] or tells_no_outcome(cell), cell["id"]
    for section in sections(reader.notebook):
        first = [*map(asks, section), True].index(True)
        for cell in section[first:]:
            assert asks(cell) or not tells_no_outcome(cell), cell.id


def test_each_question_is_in_the_notebook_in_words(reader: Reader) -> None:
    for cell in filter(asks, reader.cells):
        assert tells_no_outcome(cell), cell.id
        (asked,) = (it.data["text/html"] for it in cell.outputs)
        assert ("<ol" in asked) != ("<p>A number from" in asked), cell.id


def test_the_output_of_every_other_cell_is_saved_beside_it(reader: Reader) -> None:
    saved = saved_outputs(reader.path)
    assert list(saved) == [cell.id for cell in reader.cells if not tells_no_outcome(cell)]
    assert "You have not chosen" not in json.dumps(saved)


def test_nothing_is_saved_of_labs_that_are_no_longer_there() -> None:
    known = sorted(["kraft.json", *(saved_path(path).name for path in LABS.glob("*.ipynb"))])
    assert sorted(path.name for path in (LABS / FOLDER).iterdir()) == known


def test_it_reads_well_where_nothing_runs(reader: Reader) -> None:
    assert "widgets" not in reader.notebook.metadata
    for cell in reader.cells:
        assert kinds(cell) <= {"image/png", "text/plain", "text/html", MIME}, cell.id
        assert not any(it.output_type == "error" for it in cell.outputs), cell.id
        says = any(it.output_type == "stream" for it in cell.outputs)
        assert says == (cell.id in LONG.get(reader.path.stem, ())), cell.id
    assert reader.path.stat().st_size < MOST
    assert saved_path(reader.path).stat().st_size < MOST_BESIDE


def test_a_cell_has_one_idea_and_at_most_twenty_lines(reader: Reader) -> None:
    for cell in reader.cells:
        assert 1 <= len([line for line in cell.source.splitlines() if line.strip()]) <= 20, cell.id


def test_only_pictures_and_measurements_are_not_compared(reader: Reader) -> None:
    tags = {cell.id: cell.metadata.get("tags", []) for cell in reader.cells}
    known = {SPARED, SITUATION, *FOLDED}
    assert {tag for each in tags.values() for tag in each} <= known
    spared = {name for name, each in tags.items() if SPARED in each}
    pictures = {cell.id for cell in reader.cells if "image/png" in kinds(cell) or asks(cell)}
    assert spared == pictures | MEASURED.get(reader.path.stem, set())


def test_each_term_says_what_the_glossary_says(reader: Reader) -> None:
    before = [cell.source for cell in reader.notebook.cells]
    explain_terms(reader.notebook)
    assert [cell.source for cell in reader.notebook.cells] == before


def test_a_name_is_imported_from_one_place(reader: Reader) -> None:
    """Otherwise a section that is read before another one finds that one's module in its place."""
    places: dict[str, set[tuple[str, str]]] = {}
    for cell in reader.cells:
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.ImportFrom):
                for it in node.names:
                    name = it.asname or it.name
                    places.setdefault(name, set()).add((str(node.module), it.name))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_every_claim_of_a_lab_is_decided_as_expected(reader: Reader) -> None:
    """A claim of another lab that this lab decides, too, has its expected verdict."""
    claims = load()
    found = {key: it.verdict for key, it in decided(reader.path).items()}
    assert found == {key: claims[key].verdict for key in found}
    assert found.keys() >= {it.id for it in claims.values() if it.lab == reader.path.stem}


def test_each_prediction_is_asked_before_it_is_answered(reader: Reader) -> None:
    """Between the question and the answer is the run."""
    order = [cell.id for cell in reader.cells]
    asked = [name for name in order if name.endswith("predict")]
    assert asked or reader.path.stem in ASK_IN_A_PICTURE
    for name in asked:
        outcome = name.replace("predict", "outcome")
        assert order.index(name) + 1 < order.index(outcome), name


def deciding(reader: Reader) -> dict[str, list]:
    """The cells of each section that decides something, by its heading."""
    return {
        section[0].source: section
        for section in sections(reader.notebook)
        if any("ledger.decide(" in cell.source for cell in section)
    }


@pytest.mark.parametrize("stem", NUMBERED)
def test_a_section_has_a_prediction_something_to_change_and_a_file_to_read(stem: str) -> None:
    for name, cells in deciding(Reader(LABS / f"{stem}.ipynb")).items():
        text = "\n".join(cell.source for cell in cells)
        assert any(cell.id.endswith("-predict") for cell in cells), name
        assert "**Now you" in text and "change me" in text, name
        assert "**Read now:**" in text, name


def test_the_files_that_a_lab_names_exist(reader: Reader) -> None:
    text = "\n".join(cell.source for cell in reader.notebook.cells)
    for path in re.findall(r"\b(?:engine|widgets|labs|tests|docs|bench)/[\w./]*\w\.\w+", text):
        assert (LABS.parent / path).exists(), path
