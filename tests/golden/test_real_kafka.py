"""Files that real brokers wrote: each is opened with all records, or refused; none changes."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import TopicConfig
from engine.model import Event
from engine.storage import records
from engine.storage.directory import LogDirectory
from engine.storage.log import Log
from engine.storage.segment import Slice
from tests.unit.storage.disk import NOW

FOUND = Path(__file__).parent / "real_kafka"
RELEASES = ["2.8.2", "3.9.0"]
ENDS = {"transactions": 24, "compacted": 14}  # four markers; two records more


@pytest.fixture(params=RELEASES)
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shutil.copytree(FOUND / request.param, tmp_path / request.param)


def sums(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def opened(path: Path, events: list[Event]) -> LogDirectory:
    directory = LogDirectory(path, events.append)
    compacted = TopicConfig(cleanup_policy=("compact",), segment_index_bytes=0)
    plain = TopicConfig(segment_index_bytes=0)
    directory.load(lambda topic: compacted if topic == "compacted" else plain, NOW)
    return directory


def all_of(log: Log) -> Iterator[int]:
    for segment, position, header in log.headers():
        batch = Slice(segment.file, position, header.size).read()
        if not header.is_control:
            yield from (record.offset for record in records.decode(batch))


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_each_is_opened_or_refused_and_none_is_changed(copy: Path, clean: bool) -> None:
    if not clean:
        (copy / ".kafka_cleanshutdown").unlink()
    before, events = sums(copy), list[Event]()
    directory = opened(copy, events)
    try:
        topics = {partition.topic for partition in directory.logs}
        refused = {partition.topic for partition in directory.failed}
        older = {path.name[:-2] for path in copy.glob("format[01].*")}
        assert refused == older | ({"mixed1then2"} if copy.name == "2.8.2" else set())
        assert topics | refused == {path.name[:-2] for path in copy.iterdir() if path.is_dir()}
        told = {event.data["topic"] for event in events if event.kind == "partition.offline"}
        assert told == refused
        assert {event.kind for event in events} <= {"partition.offline"}
        for partition, log in directory.logs.items():
            offsets = list(all_of(log))
            assert log.end_offset == ENDS.get(partition.topic, 20)
            if partition.topic == "compacted":
                assert 4 <= len(offsets) < 12
            else:
                assert len(offsets) == 20
        aborted = next(log for it, log in directory.logs.items() if it.topic == "transactions")
        assert len(aborted.aborted(0, 24)) == 2
    finally:
        directory.abandon()
    after = sums(copy)
    for name in (".lock", ".kafka_cleanshutdown"):
        before.pop(name, None), after.pop(name, None)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert not {name for name in changed if name.endswith(".log")}
    assert all(name.partition("-0/")[0] in topics for name in changed)
    if clean:  # but for snapshots where no segment begins any more, which go at every start
        assert all(name in before and name.endswith(".snapshot") for name in changed)
