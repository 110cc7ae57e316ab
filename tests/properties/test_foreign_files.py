"""Whatever stands in the files of a log directory: nothing is raised, and no whole batch is lost.

A directory of three partitions, stopped in good order or killed; then chance damages one file.
After the start each batch that was still whole is in a file of its partition: in the log, in a
partition that is offline and as it was found, or in a .cut file. The other partitions serve.
"""

import random
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from engine.config import TopicConfig
from engine.errors import ApiException
from engine.model import Event, TopicPartition
from engine.storage import checkpoints
from engine.storage.control import ControlType
from engine.storage.directory import CLEAN_SHUTDOWN, LogDirectory
from tests.unit.storage.disk import NOW, batch, marker, place, stored
from tests.unit.storage.older import message, newer

VICTIM = TopicPartition("orders", 0)
OTHERS = [TopicPartition("payments", 3), TopicPartition("users", 1)]
CONFIG = TopicConfig(segment_index_bytes=240, index_interval_bytes=0)
CLUSTER = "hN-nKJ8ESNSX0S1WXVPjkg"
CHUNK = 50
FLUSHED = 8  # the recovery point of who was killed


def fill(path: Path, *, clean: bool) -> None:
    directory = LogDirectory(path)
    directory.claim(1, CLUSTER)
    directory.load(lambda topic: CONFIG, NOW)
    for partition in [VICTIM, *OTHERS]:
        log = directory.create(partition, CONFIG, NOW)
        for number in range(12):
            if number and number % 4 == 0:
                log.roll(NOW)
                log.flush(NOW)
            data = batch(2, at=NOW + number)
            if number % 4 == 1:
                data = batch(producer_id=8, producer_epoch=0, transactional=True)
            elif number % 4 == 2:
                data = marker(8, ControlType.ABORT)
            log.append(data, number // 5, NOW, client=False)
    directory.checkpoint(dict.fromkeys(directory.logs, 9))
    if clean:
        directory.close(NOW, dict.fromkeys(directory.logs, 12))
    directory.abandon()


class Template:
    """A directory that is copied for each case."""

    def __init__(self, path: Path, *, clean: bool) -> None:
        self.path, self.clean = path, clean
        fill(path, clean=clean)
        self.batches: dict[TopicPartition, list[bytes]] = {}
        copy = shutil.copytree(path, path.with_name(path.name + "-read"))
        directory = LogDirectory(copy)
        directory.load(lambda topic: CONFIG, NOW)
        for partition, log in directory.logs.items():
            self.batches[partition] = [it.data for it in stored(log)]
        directory.abandon()
        files = sorted(it.relative_to(path) for it in path.rglob("*") if it.is_file())
        self.files = [it for it in files if it.name != ".lock" and it.parts[0] not in DIRECTORIES]


DIRECTORIES = [str(it) for it in OTHERS]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Template]]:
    with patch("os.fsync"):
        path = tmp_path_factory.mktemp("foreign")
        yield [Template(path / str(clean), clean=clean) for clean in (True, False)]


# -- damage ----------------------------------------------------------------------------------


def damage(chance: random.Random, path: Path, siblings: list[Path]) -> str:
    """Do something to a file, as a disk, another program or a person may; says what."""
    data = path.read_bytes()
    at = chance.randrange(len(data) + 1)
    match kind := chance.choice(KINDS):
        case "missing":
            path.unlink()
        case "directory":
            path.unlink()
            path.mkdir()
        case "swapped":
            other = chance.choice(siblings)
            path.write_bytes(other.read_bytes())
            other.write_bytes(data)
        case "copied":
            suffix = chance.choice([".swap", ".deleted", ".cleaned", ".tmp", ".cut", "-x"])
            path.with_name(path.name + suffix).write_bytes(data[:at])
        case _:
            path.write_bytes(damaged(chance, kind, data, at))
    return kind


def damaged(chance: random.Random, kind: str, data: bytes, at: int) -> bytes:
    match kind:
        case "bit flip":
            flipped = bytearray(data or b"\0")
            for _ in range(chance.choice([1, 1, 1, 5])):
                bit = chance.randrange(8 * len(flipped))
                flipped[bit // 8] ^= 1 << bit % 8
            return bytes(flipped)
        case "wrong bytes":
            noise = chance.randbytes(chance.choice([1, 4, 40]))
            return data[:at] + noise + data[at + len(noise) :]
        case "NULs":
            size = chance.choice([1, 4, 100, len(data)])
            return data[:at] + bytes(size) + data[at + size :]
        case "digits":
            table = bytes.maketrans(b"0123456789", bytes(chance.sample(b"0123456789", 10)))
            return data.translate(table)
        case "lines":
            lines = data.splitlines(keepends=True)
            return b"".join(chance.sample(lines * 2, chance.randint(0, 2 * len(lines))))
        case "truncated":
            return data[:at]
        case "empty":
            return b""
        case "extended":
            noise = struct.pack(">q", 99) + chance.randbytes(90)
            others = [bytes(100), data, message(1, 99), newer(place(batch(), 99))]
            return data + chance.choice([noise, *others])
        case "older":
            return message(chance.choice([0, 1]), 0) + data[at:]
    assert kind == "junk"
    return chance.randbytes(2**20)


KINDS = [
    "missing", "directory", "swapped", "copied", "bit flip", "bit flip", "wrong bytes", "NULs",
    "digits", "lines", "truncated", "empty", "extended", "older", "junk",
]  # fmt: skip


# -- what must hold --------------------------------------------------------------------------


def contents(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(it.relative_to(path)): it.read_bytes() for it in path.rglob("*") if it.is_file()}


def whole(files: dict[str, bytes], batches: list[bytes]) -> set[bytes]:
    """The batches that stand somewhere in the files of a partition."""
    together = b"|".join(files.values())
    return {data for data in batches if data in together}


def one_case(template: Template, seed: int, path: Path) -> None:
    chance = random.Random(seed)
    shutil.copytree(template.path, path)
    try:
        file = chance.choice(template.files)
        beside = sorted(it for it in (path / file).parent.iterdir() if it.is_file())
        kind = damage(chance, path / file, [it for it in beside if it.name != ".lock"])
        note = f"seed {seed}, clean {template.clean}: {file} {kind}"
        at_the_top = len(file.parts) == 1
        before = {it: contents(path / str(it)) for it in template.batches}
        events: list[Event] = []
        directory = LogDirectory(path, events.append)
        try:
            opened(directory, chance, note)
            for partition, batches in template.batches.items():
                hit = at_the_top or partition == VICTIM
                after = contents(path / str(partition))
                logs = {name: it for name, it in before[partition].items() if ".log" in name}
                lost = whole(logs, batches) - whole(after, batches)
                assert not lost, note
                told = [it.kind for it in events if it.data.get("topic") == partition.topic]
                if partition in directory.failed:
                    assert hit, note
                    assert after == before[partition], note
                    assert "partition.offline" in told, note
                    continue
                found = [it.data for it in stored(directory.logs[partition])]
                if not hit or file.suffix != ".log" or kind == "copied":
                    assert found == batches or kind == "swapped", note
                    assert at_the_top or not hit or "log.cut" not in told or kind == "swapped", note
                elif not told and not template.clean and int(file.stem) >= FLUSHED:
                    # What no CRC covers may be other than it was.
                    assert {it[21:] for it in found} <= {it[21:] for it in batches}, note
            if at_the_top and file.name != CLEAN_SHUTDOWN:
                assert "log.cut" not in {it.kind for it in events}, note
        finally:
            directory.abandon()
    finally:
        shutil.rmtree(path)


@contextmanager
def met(words: str, note: str) -> Iterator[None]:
    """An error that says this may come, and no other."""
    told = words
    try:
        yield
    except ApiException as error:
        told = error.message
    assert words in told, note


def opened(directory: LogDirectory, chance: random.Random, note: str) -> None:
    with met(checkpoints.META, note):  # whose it is cannot be guessed: the broker does not start
        directory.claim(1, CLUSTER)
    directory.load(lambda topic: CONFIG, NOW)
    for log in directory.logs.values():
        for offset in range(log.start_offset, min(log.end_offset, 20)):  # it may seem to be far
            with met("is damaged at byte", note):
                log.read(offset, 100)
    directory.checkpoint()


LONG = [pytest.param(n, marks=pytest.mark.long) for n in range(8, 200)]  # 10,000 in all


@pytest.mark.parametrize("chunk", [*range(8), *LONG])
def test_no_file_of_others_raises_or_loses_anything(
    templates: list[Template], chunk: int, tmp_path: Path
) -> None:
    with patch("os.fsync"):
        for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
            one_case(templates[seed % 2], seed, tmp_path / "data")
