"""Slices of log files as responses: what is cut or closed meanwhile is noticed."""

from contextlib import ExitStack
from io import FileIO
from pathlib import Path

import pytest

from engine.broker.file_slices import COPIED, sendable
from engine.storage.segment import Slice, SliceGone


@pytest.fixture
def log(tmp_path: Path) -> FileIO:
    path = tmp_path / "0.log"
    path.write_bytes(b"x" * (4 * COPIED))
    return FileIO(path, "r+")


@pytest.mark.parametrize("size", [100, COPIED, COPIED + 1])
def test_a_slice_that_is_there(log: FileIO, size: int) -> None:
    with ExitStack() as kept_open, log:
        found = sendable(Slice(log, 10, size), kept_open)
        data = found.read() if isinstance(found, Slice) else found
        assert data == b"x" * size


def test_a_short_slice_of_a_file_that_was_truncated(log: FileIO) -> None:
    """TLS sends it as bytes: fewer than the frame's length would put the client out of step."""
    with ExitStack() as kept_open, log:
        log.truncate(50)
        with pytest.raises(SliceGone, match="truncated"):
            sendable(Slice(log, 10, 100), kept_open)


@pytest.mark.parametrize("size", [100, COPIED + 1])
def test_a_slice_of_a_file_that_was_closed(log: FileIO, size: int) -> None:
    """The connection ends, as one whose client has gone; it is no bug."""
    log.close()
    with ExitStack() as kept_open, pytest.raises(SliceGone, match="closed"):
        sendable(Slice(log, 10, size), kept_open)
    assert issubclass(SliceGone, ConnectionError)
