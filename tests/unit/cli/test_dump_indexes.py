"""dump-log, on .index and .timeindex files that are built by hand."""

import struct
from pathlib import Path

import pytest

from tests.unit.cli.handmade import (
    AT_COMMIT,
    AT_FOUR,
    AT_THREE,
    LOG,
    NAME,
    Dump,
    batch,
    record,
    write,
)

# -- .index ------------------------------------------------------------------------------------


def offset_index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", offset - 100, position) for offset, position in entries)


def test_an_index(tmp_path: Path, dump: Dump) -> None:
    write(tmp_path, LOG)
    path = write(tmp_path, offset_index((103, AT_THREE), (104, AT_COMMIT)) + bytes(80), ".index")
    printed = [f"offset: 103 position: {AT_THREE}", f"offset: 104 position: {AT_COMMIT}"]
    assert dump(path) == (0, printed, [])
    assert dump(path, "--verify-index-only") == (0, [], [])
    assert dump(path, "--index-sanity-check") == (0, [f"{path} passed sanity check."], [])


def test_an_index_of_a_follower_points_to_the_start_of_several_batches(
    tmp_path: Path, dump: Dump
) -> None:
    write(tmp_path, LOG)
    path = write(tmp_path, offset_index((104, AT_THREE), (105, AT_FOUR)), ".index")
    assert dump(path, "--verify-index-only") == (0, [], [])


def test_a_preallocated_index_without_an_entry(tmp_path: Path, dump: Dump) -> None:
    write(tmp_path, batch(100, record(0, None, b""), record(1, None, b"")))
    path = write(tmp_path, bytes(80), ".index")
    assert dump(path) == (0, ["offset: 100 position: 0"], [])
    path = write(tmp_path, bytes(120), ".timeindex")
    assert dump(path) == (0, ["timestamp: 0 offset: 100"], [])


@pytest.mark.parametrize(
    ("entries", "mismatches"),
    [
        ([(102, AT_THREE), (104, AT_COMMIT)], ["  Index offset: 102, log offset: 103"]),
        ([(103, AT_THREE + 1)], ["  Index offset: 103, log offset: -1"]),
        ([(103, AT_THREE), (106, AT_FOUR)], ["  Index offset: 106, log offset: 105"]),
        ([(103, AT_THREE), (107, len(LOG) + 9)], ["  Index offset: 107, log offset: -1"]),
        ([(104, AT_THREE), (104, AT_COMMIT)], ["  Index offset: 104, log offset: 103"]),
    ],
)
def test_an_index_that_does_not_fit_its_log(
    entries: list[tuple[int, int]], mismatches: list[str], tmp_path: Path, dump: Dump
) -> None:
    write(tmp_path, LOG)
    path = write(tmp_path, offset_index(*entries), ".index")
    status, lines, errors = dump(path)
    assert (status, len(lines)) == (1, len(entries))
    assert errors == [f"Mismatches in :{path}", *mismatches]


def test_an_index_without_its_log_is_printed(tmp_path: Path, dump: Dump) -> None:
    path = write(tmp_path, offset_index((103, 70)), ".index")
    status, lines, errors = dump(path)
    assert (status, lines) == (1, ["offset: 103 position: 70"])
    assert errors == [f"{path}: there is no {NAME}.log beside it to compare it with"]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_torn_or_foreign_index(suffix: str, tmp_path: Path, dump: Dump) -> None:
    write(tmp_path, LOG)
    torn = b"\0" * 24 + b"\0\0\1"
    path = write(tmp_path, torn, suffix)
    for option in ([], ["--index-sanity-check"], ["--verify-index-only"]):
        status, lines, (error,) = dump(path, *option)
        assert (status, lines) == (1, [])
        assert error.startswith(f"{path}: position 24: 3 bytes are left, too few for an entry of ")


def test_an_index_that_goes_back(tmp_path: Path, dump: Dump) -> None:
    write(tmp_path, LOG)
    path = write(tmp_path, offset_index((104, AT_THREE), (103, AT_COMMIT)), ".index")
    status, _, (error,) = dump(path, "--index-sanity-check")
    assert status == 1
    assert error.startswith(f"{path}: position 8: offset 103 after 104: the index is corrupt")
    path = write(tmp_path, offset_index((99, AT_THREE)), ".index")
    assert dump(path)[2][0].startswith(f"{path}: position 0: offset 99 after 100: ")


# -- .timeindex --------------------------------------------------------------------------------


def time_index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", timestamp, offset - 100) for timestamp, offset in entries)


def test_a_time_index(tmp_path: Path, dump: Dump) -> None:
    write(tmp_path, LOG)
    path = write(tmp_path, time_index((1103, 103), (1105, 105)) + bytes(120), ".timeindex")
    printed = ["timestamp: 1103 offset: 103", "timestamp: 1105 offset: 105"]
    assert dump(path) == (0, printed, [])
    assert dump(path, "--verify-index-only") == (0, [], [])
    assert dump(path, "--index-sanity-check") == (0, [f"{path} passed sanity check."], [])


def test_a_time_index_that_does_not_fit_its_log(tmp_path: Path, dump: Dump) -> None:
    late = batch(106, record(0, None, b""), latest=1050)
    write(tmp_path, LOG + late)
    entries = [(1101, 101), (1104, 103), (1105, 105), (1050, 106), (9999, 107)]
    path = write(tmp_path, time_index(*entries), ".timeindex")
    status, lines, errors = dump(path)
    assert (status, len(lines)) == (1, 5)
    assert errors == [
        f"Found timestamp mismatch in :{path}",
        "  Index timestamp: 1104, log timestamp: 1103",
        f"Found out of order timestamp in :{path}",
        "  Index timestamp: 1050, Previously indexed timestamp: 1105",
        "The following indexed offsets are not found in the log.",
        "Indexed offset: 101, found log offset: 103",
        "Indexed offset: 107, found log offset: -1",
    ]
