"""One segment: how it hops, finds, and mistrusts its indexes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.storage.batch import NO_TIMESTAMP, Header
from engine.storage.segment import Segment, file_name, files_of
from tests.unit.storage.disk import NOW, batch, place

COUNTS = [1, 3, 2, 5, 1, 1, 4, 2]


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[Segment]:
    """Offsets from 1000 on, an index entry for every batch but the first."""
    it = Segment(tmp_path, 1000, now=NOW, index_interval=0, index_size=1200)
    fill(it)
    yield it
    it.close()


def fill(segment: Segment) -> None:
    offset = segment.base_offset
    for number, count in enumerate(COUNTS):
        data = place(batch(count, at=NOW + number), offset)
        last = offset + count - 1
        segment.append([data], len(data), last, (NOW + number, last))
        offset += count


def test_names_have_twenty_digits(tmp_path: Path) -> None:
    assert file_name(368769, ".log") == "00000000000000368769.log"
    for name in ["a.log", "1.log", "x0000000000000368769.log", "00000000000000368769.log.deleted"]:
        (tmp_path / name).touch()
    for base in (9, 10, 0):
        (tmp_path / file_name(base, ".log")).touch()
    assert list(files_of(tmp_path, ".log")) == [0, 9, 10]


def test_headers_hop_from_batch_to_batch(segment: Segment) -> None:
    found = list(segment.headers())
    assert [header.count for _, header in found] == COUNTS
    assert found[-1][0] + found[-1][1].size == segment.size == segment.path.stat().st_size
    assert [position for position, _ in segment.headers(found[3][0])] == [
        position for position, _ in found[3:]
    ]
    assert list(segment.headers(-1)) == list(segment.headers(segment.size)) == []


def test_large_and_small_batches_together(tmp_path: Path) -> None:
    segment = Segment(tmp_path, 0, now=NOW, index_size=1200)
    sizes = [10, 5000, 10, 10, 4096 - 61, 1, 100_000, 3, 4000, 5]
    for offset, size in enumerate(sizes):
        data = place(batch(1, size), offset)
        segment.append([data], len(data), offset, (NOW, offset))
    assert [header.base_offset for _, header in segment.headers()] == list(range(10))
    segment.close()


def test_a_lookup_says_how_far_it_scanned(segment: Segment) -> None:
    second = next(position for position, header in segment.headers() if header.base_offset == 1001)
    probes: list[int] = []
    found = segment.locate(1002, probes)
    assert found is not None
    assert (found.position, found.header.base_offset) == (second, 1001)
    assert found.skipped == second  # from the start of the file, as the entry is for 1003
    assert probes == [3, 1, 0]
    exact = segment.locate(1003)
    assert exact is not None
    assert (exact.position, exact.skipped) == (second, 0)
    assert segment.locate(1019) is None


def test_the_largest_timestamp_and_where_it_is(tmp_path: Path) -> None:
    segment = Segment(tmp_path, 0, now=NOW, index_interval=0, index_size=1200)
    assert segment.greatest == (NO_TIMESTAMP, 0)
    for offset, at in enumerate([NO_TIMESTAMP, 5, 9, 7, 9, 8]):
        data = place(batch(at=at), offset)
        segment.append([data], len(data), offset, (at, offset))
    assert segment.greatest == (9, 2)
    assert segment.first_timestamp == NO_TIMESTAMP
    segment.cut(next(p for p, header in segment.headers() if header.base_offset == 2), 2)
    assert segment.greatest == (5, 1)
    segment.close()


def test_cut_and_write_again(segment: Segment) -> None:
    whole = [header for _, header in segment.headers()]
    found = segment.locate(1007)  # in the middle of a batch: it goes as a whole
    assert found is not None
    segment.cut(found.position, found.header.base_offset)
    assert segment.size == segment.path.stat().st_size == found.position
    assert [header for _, header in segment.headers()] == whole[:3]
    assert segment.end() == (1006, segment.size)
    assert segment.offsets[-1][0] < 1006
    assert segment.locate(1006) is None
    data = place(batch(2, at=NOW + 99), 1006)
    segment.append([data], len(data), 1007, (NOW + 99, 1007))
    assert segment.end() == (1008, segment.size)
    assert segment.greatest == (NOW + 99, 1007)


def test_rebuilt_indexes_are_those_that_appending_makes(segment: Segment) -> None:
    offsets = [segment.offsets[slot] for slot in range(segment.offsets.count)]
    times = [segment.times[slot] for slot in range(segment.times.count)]
    segment.rebuild_indexes()
    assert [segment.offsets[slot] for slot in range(segment.offsets.count)] == offsets
    assert [segment.times[slot] for slot in range(segment.times.count)] == times


@pytest.mark.parametrize("position", [1, 61, 70, 10**6, -1, -(2**31), 2**31 - 1])
def test_an_entry_that_points_nowhere_has_the_index_rebuilt(
    segment: Segment, position: int
) -> None:
    segment.offsets.reset(1200)
    segment.offsets.append(1004, position)
    found = segment.locate(1008)
    assert found is not None
    assert found.header.base_offset == 1006
    assert segment.offsets.count == len(COUNTS) - 1


def test_an_entry_that_points_too_far_has_the_index_rebuilt(segment: Segment) -> None:
    *_, (last, _) = segment.headers()
    segment.offsets.reset(1200)
    segment.offsets.append(1001, last)
    assert next(header.base_offset for _, header in segment.batches_from(1002)) <= 1002


def test_a_time_entry_that_lies_has_the_indexes_rebuilt(segment: Segment) -> None:
    segment.times.reset(1200)
    segment.times.append(NOW + 1, 1018)
    assert segment.offset_for_time(NOW + 2, 1000) == (1004, NOW + 2, 0)
    assert segment.times.count == len(COUNTS) - 1


def test_an_open_slice_outlives_the_names_of_the_files(segment: Segment) -> None:
    found = segment.read(1000, 100, segment.size, at_least_one=True)
    assert found is not None
    before = found.read()
    segment.rename("", ".deleted")
    assert [path.name for path in segment.paths] == [
        file_name(1000, suffix) + ".deleted" for suffix in (".log", ".index", ".timeindex")
    ]
    assert all(path.exists() for path in segment.paths)
    assert found.read() == before
    for path in segment.paths:
        path.unlink()
    assert found.read() == before
    assert Header.parse(before).base_offset == 1000


def test_delete_leaves_nothing(tmp_path: Path) -> None:
    segment = Segment(tmp_path, 0, now=NOW, index_size=1200)
    fill(segment)
    segment.delete()
    assert list(tmp_path.iterdir()) == []
