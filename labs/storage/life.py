"""What leaves a log and what never changes in it: retention, compaction, appends only."""

from hashlib import sha256
from typing import NamedTuple

from engine.storage import records, retention
from engine.storage.cleaner import Cleaner
from engine.storage.log import Log
from engine.storage.records import Record
from engine.wire.apis import Api
from storage import disk


def digest(log: Log, segment: int = 0) -> str:
    """The bytes of a segment in short: other bytes would give something else."""
    return sha256(log.segments[segment].path.read_bytes()).hexdigest()


def requests(word: str) -> list[str]:
    """Kafka's requests with a word in their name."""
    return [api.name for api in Api if word in api.name]


def bases(log: Log) -> list[int]:
    return [it.base_offset for it in log.segments]


def age(log: Log, now: int = disk.NOW) -> list[int]:
    """Of each segment, the age of its newest record in whole days."""
    return [(now - it.greatest[0]) // disk.DAY for it in log.segments]


def week(**config: int) -> Log:
    """Seven days of messages, one an hour, a file a day."""
    log = disk.log(segment_ms=disk.DAY, **config)
    return disk.fill(log, 7 * 24, every=disk.HOUR, start=disk.NOW - 7 * disk.DAY)


def retained(log: Log, now: int = disk.NOW) -> list[int]:
    """What the broker does every five minutes; then the bases of the files that are left."""
    retention.enforce(log, now, log.end_offset)
    return bases(log)


class Script(NamedTuple):
    """A log in letters: offset -> key=value."""

    kept: dict[int, str]

    def __repr__(self) -> str:
        return "  ".join(f"{offset}: {text}" for offset, text in self.kept.items())


def told(log: Log) -> Script:
    kept = {}
    for it in disk.stored(log):
        kept[it.offset] = f"{(it.key or b'').decode()}={(it.value or b'').decode() or '∅'}"
    return Script(kept)


def keyed(script: str, **config: object) -> Log:
    """A compacted topic's log: "a=1 b=1 a=" appends three records, the last a tombstone."""
    log = disk.log(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0, **config)
    for text in script.split():
        key, _, value = text.partition("=")
        record = Record(0, disk.NOW, key.encode(), value.encode() or None)
        log.append(records.encode([record]), 0, disk.NOW)
    log.roll(disk.NOW)
    return log


def compact(log: Log, now: int = disk.NOW) -> Script:
    """One round of the cleaner, and what it leaves."""
    cleaner = Cleaner(log.directory.parent, 1 << 20, now)
    work = cleaner.choose([(log, log.end_offset)], now)
    assert work is not None, "there is something to clean"
    for _ in cleaner.clean(work, now):
        pass
    return told(log)


def delete_before(log: Log, offset: int) -> list[int]:
    """What a DeleteRecords request does on the leader."""
    log.advance_start(offset, disk.NOW)
    return retained(log)


def offsets(log: Log) -> list[int]:
    """Of all records that a reader would be given."""
    return [it.offset for it in disk.stored(log) if it.offset >= log.start_offset]
