"""A log with transactions: which batches count, which are skipped, and what is drawn of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import ApiException
from engine.storage.control import ControlType
from engine.storage.log import Log
from tests.unit.storage.disk import NOW, Disk, batch, marker, sequenced, temporary_disk
from widgets.log import directory, hex_page
from widgets.log.hex_view import HexView
from widgets.log.transactions import BatchFate, fated, newest
from widgets.log.view import SegmentView
from widgets.scene import Scene

COPIER, MOVER = 4000, 4001


def write(log: Log) -> None:
    """Two producers whose transactions overlap: one is aborted, one committed, one is open."""
    sent = {COPIER: 0, MOVER: 0}

    def append(data: bytes) -> None:
        log.append(data, 0, NOW, client=False)

    def send(producer: int, count: int = 1) -> None:
        append(sequenced(producer, sent[producer], count, transactional=True))
        sent[producer] += count

    append(batch(2))
    send(COPIER)  # 2
    send(MOVER, 2)  # 3 and 4
    send(COPIER)  # 5
    append(marker(COPIER, ControlType.ABORT))  # 6
    append(batch(1))  # 7
    append(marker(MOVER, ControlType.COMMIT, coordinator=3))  # 8
    send(COPIER)  # 9


def filled(disk: Disk) -> None:
    write(disk.open())


@pytest.fixture
def disk() -> Iterator[Disk]:
    with temporary_disk(segment_bytes=4000, index_interval_bytes=200) as disk:
        filled(disk)
        yield disk


@pytest.fixture
def path(disk: Disk) -> Path:
    return directory.look(disk.directory).segments[0].path


def words(scene: Scene | None) -> str:
    assert scene is not None
    return " | ".join(str(it.content) for it in scene.all() if it.kind == "text")


FATES = {
    0: BatchFate.PLAIN,
    2: BatchFate.ABORTED,
    3: BatchFate.COMMITTED,
    5: BatchFate.ABORTED,
    6: BatchFate.ABORT,
    7: BatchFate.PLAIN,
    8: BatchFate.COMMIT,
    9: BatchFate.OPEN,
}


def test_the_next_marker_of_its_producer_tells_whether_a_batch_counts(disk: Disk) -> None:
    (segment,) = directory.look(disk.directory).segments
    found = fated(segment, 0, segment.size)
    assert {it.header.base_offset: it.fate for it in found} == FATES
    assert [it.marker for it in found] == [-1, 6, 8, 6, -1, -1, -1, -1]
    first = [it for it in found if it.header.base_offset in (2, 3)]
    # Only the first batches are asked for, and their markers are found behind them.
    assert fated(segment, first[0].position, first[1].position + 1) == first


def test_the_newest_come_first_and_over_the_edge_of_a_segment(disk: Disk) -> None:
    assert disk.log is not None
    disk.log.roll(NOW)
    disk.log.append(batch(1), 0, NOW)
    segments = directory.look(disk.directory).segments
    assert len(segments) == 2
    found = [it.header.base_offset for it in newest(segments, 4)]
    assert found == [10, 9, 8, 7]


def test_a_segment_view_shows_what_read_committed_skips(disk: Disk) -> None:
    view = SegmentView(disk.directory)
    scene = view.picture
    assert scene is not None
    cells = {it.key: it for it in scene.all() if it.key.startswith("batch ")}
    said = {
        key: [part.content for part in it.content if not isinstance(part, str)
              and part.kind == "text" and part.content]
        for key, it in cells.items()
    }  # fmt: skip
    assert said == {
        "batch 0": ["0–1"],
        "batch 2": ["2", "skip"],
        "batch 3": ["3–4", "✓"],
        "batch 5": ["5", "skip"],
        "batch 6": ["6", "ABORT"],
        "batch 7": ["7"],
        "batch 8": ["8", "COMMIT"],
        "batch 9": ["9", "open"],
    }
    assert cells["batch 2"].label.startswith(
        "offset 2: producer 4000, epoch 0, aborted by the marker at 6; read_committed skips it"
    )
    struck = [key for key, it in cells.items() if any(
        not isinstance(part, str) and part.key == "strike" for part in it.content)]  # fmt: skip
    assert struck == ["batch 2", "batch 5"]
    assert "2 skipped" in words(scene)
    view.do("ask_offset", 3)
    assert "batch 2" not in {it.key for it in view.picture.all()}  # a search has the room
    view.close()


def test_a_batch_is_opened_in_hex(disk: Disk) -> None:
    view = SegmentView(disk.directory)
    view.do("open_batch", 6)
    assert "control batch at offset 6" in words(view.hex.picture)
    with pytest.raises(ApiException, match="no batch begins at 4 now"):
        view.open_batch(4)
    view.close()


def test_a_log_without_transactions_has_no_such_cells() -> None:
    with temporary_disk() as disk:
        disk.open().append(batch(3), 0, NOW)
        view = SegmentView(disk.directory)
        assert "read_committed" not in words(view.picture)
        assert not hex_page.read(directory.look(disk.directory).segments[0].path, 0).batches
        view.close()


def test_a_hex_view_marks_aborted_bytes_and_says_why(path: Path) -> None:
    view = HexView(path)
    assert view.page is not None and view.picture is not None
    first = next(it for it in view.page.batches if it.header.base_offset == 2)
    view.do("byte", first.position)
    page, scene = view.page, view.picture
    fates = {it.look.endswith("aborted") for it in scene.all()
             if it.key.startswith("f") and page.fate_of(field(page, it.key)) == first}  # fmt: skip
    assert fates == {True}
    view.do("choose", first.position)
    assert "Offset 2: producer 4000, epoch 0, aborted by the marker at 6; read_committed" in words(
        view.picture
    )
    view.close()


def field(page: hex_page.HexPage, key: str) -> hex_page.ByteField:
    return next(it for it in page.fields if it.start == int(key[1:]))


def test_a_marker_is_explained_field_by_field(path: Path) -> None:
    (commit,) = (it for it in fated(directory.look(path.parent).segments[0], 0, 1 << 20)
                 if it.fate is BatchFate.COMMIT)  # fmt: skip
    fields = hex_page.fields_of_batch(path, commit.position)
    said = {it.name: it.value for it in reversed(fields)}  # the header's, if a record has one too
    assert said["attributes"].endswith("transactional, control")
    assert (said["type"], said["coordinator epoch"]) == ("1 → COMMIT", "3")
    assert {it.part for it in fields} == {"control batch at offset 8", "offset 8"}


def test_the_index_of_aborted_transactions_is_explained(path: Path) -> None:
    page = hex_page.read(path.with_suffix(".txnindex"), 0)
    assert [(it.name, it.value) for it in page.fields] == [
        ("version", "0"),
        ("producer id", "4,000"),
        ("first offset", "2"),
        ("last offset", "6"),
        ("last stable offset", "3"),
    ]
