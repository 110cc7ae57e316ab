"""Leader epochs: who wrote what, and where each of them ended."""

from pathlib import Path

import pytest

from engine.errors import ApiException
from engine.model import NO_EPOCH
from engine.storage import files
from engine.storage.epochs import Epochs


@pytest.fixture
def epochs(tmp_path: Path) -> Epochs:
    it = Epochs(tmp_path)
    for epoch, start in [(0, 0), (2, 1500), (5, 2000)]:
        it.assign(epoch, start)
    return it


def reloaded(epochs: Epochs) -> list[tuple[int, int]]:
    again = Epochs(epochs.path.parent)
    again.load()
    return again.entries


def test_they_are_kept_in_kafkas_file(epochs: Epochs) -> None:
    assert epochs.path.name == "leader-epoch-checkpoint"
    assert epochs.path.read_text() == "0\n3\n0 0\n2 1500\n5 2000\n"
    assert reloaded(epochs) == epochs.entries


@pytest.mark.parametrize(
    ("epoch", "start", "entries"),
    [
        (5, 2000, [(0, 0), (2, 1500), (5, 2000)]),  # known
        (5, 2500, [(0, 0), (2, 1500), (5, 2000)]),  # it goes on
        (6, 2600, [(0, 0), (2, 1500), (5, 2000), (6, 2600)]),
        (6, 2000, [(0, 0), (2, 1500), (6, 2000)]),  # 5 wrote nothing
        (6, 1000, [(0, 0), (6, 1000)]),  # what was written before it is gone
        (1, 3000, [(0, 0), (1, 3000)]),
        (5, 1700, [(0, 0), (2, 1500), (5, 1700)]),
    ],
)
def test_a_new_epoch_contradicts_what_cannot_be(
    epochs: Epochs, epoch: int, start: int, entries: list[tuple[int, int]]
) -> None:
    epochs.assign(epoch, start)
    assert epochs.entries == entries == reloaded(epochs)
    assert epochs.latest == entries[-1][0]


@pytest.mark.parametrize(
    ("offset", "epoch"), [(0, 0), (1499, 0), (1500, 2), (1999, 2), (2000, 5), (9999, 5)]
)
def test_the_epoch_of_an_offset(epochs: Epochs, offset: int, epoch: int) -> None:
    assert epochs.at(offset) == epoch


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (0, (0, 1500)),
        (1, (0, 1500)),  # unknown here: the largest below it
        (2, (2, 2000)),
        (4, (2, 2000)),
        (5, (5, 3000)),  # the latest goes on to the end
        (6, (NO_EPOCH, -1)),  # younger than all that is known
        (NO_EPOCH, (NO_EPOCH, -1)),
    ],
)
def test_where_an_epoch_ended(epochs: Epochs, asked: int, found: tuple[int, int]) -> None:
    assert epochs.end_of(asked, 3000) == found


def test_an_epoch_older_than_the_log_ended_before_it(epochs: Epochs) -> None:
    epochs.truncate_start(1600)
    assert epochs.entries == [(2, 1600), (5, 2000)]
    assert epochs.end_of(0, 3000) == (0, 1600)


def test_nothing_known(tmp_path: Path) -> None:
    epochs = Epochs(tmp_path)
    epochs.load()
    assert (epochs.latest, epochs.at(0), epochs.end_of(0, 7)) == (NO_EPOCH, NO_EPOCH, (-1, -1))


@pytest.mark.parametrize(
    ("end", "entries"),
    [
        (2001, [(0, 0), (2, 1500), (5, 2000)]),
        (2000, [(0, 0), (2, 1500)]),
        (1501, [(0, 0), (2, 1500)]),
        (0, []),
    ],
)
def test_the_log_was_cut(epochs: Epochs, end: int, entries: list[tuple[int, int]]) -> None:
    epochs.truncate_end(end)
    assert epochs.entries == entries == reloaded(epochs)


@pytest.mark.parametrize(
    ("start", "entries"),
    [
        (0, [(0, 0), (2, 1500), (5, 2000)]),
        (1499, [(0, 1499), (2, 1500), (5, 2000)]),
        (1500, [(2, 1500), (5, 2000)]),
        (2500, [(5, 2500)]),
    ],
)
def test_the_log_starts_later(epochs: Epochs, start: int, entries: list[tuple[int, int]]) -> None:
    epochs.truncate_start(start)
    assert epochs.entries == entries == reloaded(epochs)


def test_what_cannot_be_written_is_not_known_either(
    epochs: Epochs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the next append in that epoch would leave it out of the file, and recovery would cut."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write", fail)
    with pytest.raises(OSError, match="No space"):
        epochs.assign(6, 2600)
    assert epochs.entries == reloaded(epochs) == [(0, 0), (2, 1500), (5, 2000)]


@pytest.mark.parametrize("rows", ["2 1500\n2 2000", "2 1500\n3 1500", "3 0\n2 10", "1 9\n2 3"])
def test_entries_that_do_not_grow_are_refused(tmp_path: Path, rows: str) -> None:
    epochs = Epochs(tmp_path)
    epochs.path.write_text(f"0\n2\n{rows}\n")
    with pytest.raises(ApiException, match="comes after"):
        epochs.load()
    assert epochs.entries == []


def test_clear(epochs: Epochs) -> None:
    epochs.clear()
    assert epochs.entries == reloaded(epochs) == []


def test_the_file_is_forced_to_the_disk_once_for_all_changes(
    epochs: Epochs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the log, not with every new leader: the operating system keeps it until then."""
    synced: list[str] = []
    monkeypatch.setattr(files, "flush_path", lambda path: synced.append(path.name))
    epochs.flush()
    assert synced == ["leader-epoch-checkpoint"]  # as the fixture had changed it
    epochs.assign(6, 2600)
    epochs.assign(7, 2700)
    assert synced == ["leader-epoch-checkpoint"]
    epochs.flush()
    epochs.flush()
    assert synced == ["leader-epoch-checkpoint"] * 2
