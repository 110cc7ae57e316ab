"""The one door to the disk: a file is replaced whole or not at all."""

import os
from pathlib import Path

import pytest

from engine.storage import files


def test_replace_puts_new_content_in_place(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    files.replace(path, b"old")
    files.replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failing", ["write", "rename"])
def test_what_fails_to_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "checkpoint"
    files.replace(path, b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, failing, fail)
    with pytest.raises(OSError, match="No space"):
        files.replace(path, b"new")
    assert path.read_bytes() == b"old"


def test_new_content_is_on_the_disk_before_its_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the name before anyone is told: after a power cut there is the old or the new, whole."""
    order: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(fd: int) -> None:
        order.append("directory" if os.path.isdir(f"/dev/fd/{fd}") else "file")
        sync(fd)

    def noted_replace(old: Path, new: Path) -> None:
        order.append(f"{old.name} -> {new.name}")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    files.replace(tmp_path / "checkpoint", b"new")
    assert order == ["file", "checkpoint.tmp -> checkpoint", "directory"]


def test_append_goes_to_the_end_and_says_how_far_it_came(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    assert files.append(fd, [b"ab", memoryview(b"cde")]) == 5
    files.truncate(fd, 1)
    assert files.append(fd, [bytearray(b"x")]) == 1
    assert (tmp_path / "log").read_bytes() == b"ax"
    os.close(fd)


def test_removing_what_is_gone_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    files.remove(tmp_path / "log")
    files.remove(tmp_path / "log")
    assert list(tmp_path.iterdir()) == []


def test_a_file_can_be_given_an_age(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    files.set_modified(fd, 1_234_567)
    assert os.fstat(fd).st_mtime_ns == 1_234_567_000_000
    os.close(fd)
