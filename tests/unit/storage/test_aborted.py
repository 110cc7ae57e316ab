"""The index of aborted transactions, to the byte."""

from pathlib import Path
from unittest.mock import patch

import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage import files
from engine.storage.aborted import Aborted, AbortedIndex, read_aborted, search

ONE = Aborted(producer_id=7, first_offset=3, last_offset=6, last_stable=4)
TWO = Aborted(producer_id=9, first_offset=4, last_offset=8, last_stable=9)
THREE = Aborted(producer_id=7, first_offset=10, last_offset=12, last_stable=13)
BY_HAND = bytes.fromhex(
    "0000 0000000000000007 0000000000000003 0000000000000006 0000000000000004"
    "0000 0000000000000009 0000000000000004 0000000000000008 0000000000000009"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{0:020d}.txnindex"


def test_golden(path: Path) -> None:
    index = AbortedIndex(path)
    assert (index.entries, path.exists()) == ([], False)
    index.append(ONE)
    index.append(TWO)
    assert path.read_bytes() == BY_HAND
    assert read_aborted(path) == AbortedIndex(path).entries == [ONE, TWO]


def test_opened_again_it_is_appended_to(path: Path) -> None:
    path.write_bytes(BY_HAND)
    AbortedIndex(path).append(THREE)
    assert read_aborted(path) == [ONE, TWO, THREE]


@pytest.mark.parametrize(
    ("offset", "left"),
    [(13, [ONE, TWO, THREE]), (12, [ONE, TWO]), (9, [ONE, TWO]), (7, [ONE]), (6, []), (0, [])],
)
def test_a_cut_takes_the_markers_at_an_offset_and_beyond(
    path: Path, offset: int, left: list[Aborted]
) -> None:
    index = AbortedIndex(path)
    for entry in (ONE, TWO, THREE):
        index.append(entry)
    index.truncate(offset)
    assert index.entries == left
    assert (read_aborted(path) if left else []) == left
    assert path.exists() == bool(left)
    index.append(Aborted(1, 20, 21, 22))
    assert read_aborted(path) == [*left, Aborted(1, 20, 21, 22)]


@pytest.mark.parametrize(
    ("start", "limit", "found"),
    [
        (0, 3, []),
        (0, 4, [ONE]),
        (0, 5, [ONE, TWO]),
        (6, 7, [ONE, TWO]),
        (7, 9, [TWO]),
        (0, 100, [ONE, TWO, THREE]),
        (9, 10, []),
        (12, 13, [THREE]),
        (13, 100, []),
        (5, 5, []),
    ],
)
def test_a_search_finds_what_reaches_into_a_range(
    path: Path, start: int, limit: int, found: list[Aborted]
) -> None:
    index = AbortedIndex(path)
    for entry in (ONE, TWO, THREE):
        index.append(entry)
    assert search(index.ending_from(start), start, limit) == tuple(found)


def test_a_search_stops_where_all_was_decided() -> None:
    asked = iter([ONE, TWO, THREE])
    assert search(asked, 0, 9) == (ONE, TWO)
    assert next(asked) is THREE


def test_what_was_found_comes_in_the_order_in_which_it_began() -> None:
    late, early = Aborted(1, 5, 6, 2), Aborted(2, 2, 7, 8)
    assert search([late, early], 0, 9) == (early, late)


@pytest.mark.parametrize(
    ("damaged", "says"),
    [
        (BY_HAND[:-1], "67 bytes are not a whole number of entries"),
        (b"\0\1" + BY_HAND[2:], "version 1 is not known"),
        (BY_HAND[34:] + BY_HAND[:34], "comes after"),
        (BY_HAND[:34] * 2, "comes after"),
        (bytes(34), "ends before it begins"),
        (BY_HAND[:10] + b"\xff" * 8 + BY_HAND[18:], "ends before it begins"),
    ],
)
def test_damage_is_told(path: Path, damaged: bytes, says: str) -> None:
    path.write_bytes(damaged)
    with pytest.raises(ApiException, match=says) as raised:
        AbortedIndex(path)
    assert raised.value.code is ErrorCode.corrupt_message


@pytest.mark.parametrize("taken", [0, 20])
def test_what_the_disk_did_not_take_goes_with_the_next_entry(path: Path, taken: int) -> None:
    """Readers must hear of it all the same."""
    index = AbortedIndex(path)
    index.append(ONE)
    append = files.append
    with (
        patch("engine.storage.files.append", lambda fd, parts: append(fd, [parts[0][:taken]])),
        pytest.raises(ApiException, match=f"only {taken} of 34 bytes were written") as raised,
    ):
        index.append(TWO)
    assert raised.value.code is ErrorCode.kafka_storage_error
    assert (index.entries, read_aborted(path)) == ([ONE, TWO], [ONE])
    index.append(THREE)
    assert read_aborted(path) == [ONE, TWO, THREE]


def test_a_flush_catches_up_with_what_the_disk_did_not_take(path: Path) -> None:
    index = AbortedIndex(path)
    with patch("engine.storage.files.append", side_effect=OSError), pytest.raises(ApiException):
        index.append(ONE)
    index.flush()
    assert read_aborted(path) == [ONE]
