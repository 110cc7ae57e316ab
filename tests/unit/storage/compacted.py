"""A compacted log to play with, written and read back in short.

`fill(log, "a=1 b=1 | a=2")` appends one batch a record, "|" rolls the segment, and "a=" is a
tombstone. `content` reads it back as offset -> text.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

from engine.config import TopicConfig
from engine.model import Event, TopicPartition
from engine.storage import control, files, loading, records
from engine.storage.cleaner import Cleaner, Work
from engine.storage.control import ControlType, Marker
from engine.storage.log import Log
from engine.storage.records import Record
from engine.storage.segment import Slice

ORDERS = TopicPartition("orders", 0)
NOW = 1_000_000
MEMORY = 1 << 20
FOREVER = 2**63 - 1


class Store:
    """A log directory with one log in it, and what was told about it."""

    def __init__(self, path: Path, *, clean: bool = False, **config: object) -> None:
        self.path = path
        self.events: list[Event] = []
        self.config = TopicConfig(**{"cleanup_policy": ("compact",), **config})
        self.log = self.open(clean=clean)
        self.cleaner = Cleaner(path, MEMORY, NOW, self.events.append)

    def open(self, *, clean: bool = False) -> Log:
        return loading.load(
            self.path / str(ORDERS),
            ORDERS,
            self.config,
            now=NOW,
            clean=clean,
            emit=self.events.append,
        )

    def reopen(self) -> None:
        self.log.abandon()
        self.log = self.open()
        self.cleaner = Cleaner(self.path, MEMORY, NOW, self.events.append)

    def choose(self, now: int = NOW, up_to: int = FOREVER) -> Work | None:
        return self.cleaner.choose([(self.log, up_to)], now)

    def start(self, now: int = NOW, up_to: int = FOREVER) -> Generator[None, None, None]:
        work = self.choose(now, up_to)
        assert work is not None
        return self.cleaner.clean(work, now)

    def clean(self, now: int = NOW, up_to: int = FOREVER) -> Event:
        for _ in self.start(now, up_to):
            pass
        return self.events[-1]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def batch(*texts: str, first_timestamp: int = NOW, **fields: object) -> bytes:
    pairs = [text.partition("=") for text in texts]
    made = [
        Record(offset, first_timestamp, key.encode() or None, value.encode() or None)
        for offset, (key, _, value) in enumerate(pairs)
    ]
    return records.encode(made, **fields)  # type: ignore[arg-type]


def marker(producer_id: int, kind: ControlType, epoch: int = 0) -> bytes:
    key, value = control.encode(Marker(kind, 0))
    return records.encode(
        [Record(0, NOW, key, value)],
        producer_id=producer_id,
        producer_epoch=epoch,
        transactional=True,
        control=True,
    )


def fill(log: Log, script: str, **fields: object) -> None:
    for number, part in enumerate(script.split("|")):
        if number:
            log.roll(NOW)
        for text in part.split():
            log.append(batch(text, **fields), 0, NOW)


def content(log: Log) -> dict[int, str]:
    found: dict[int, str] = {}
    for record in log_records(log):
        found[record.offset] = f"{(record.key or b'').decode()}={(record.value or b'').decode()}"
    return found


def log_records(log: Log) -> Iterator[Record]:
    for segment, position, header in log.headers():
        if not header.is_control:
            yield from records.decode(Slice(segment.file, position, header.size).read())


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def age(log: Log, modified: dict[int, int]) -> None:
    """When the segments were last written to, by their base offsets."""
    for segment in log.segments:
        if segment.base_offset in modified:
            files.set_modified(segment.file.fileno(), modified[segment.base_offset])
