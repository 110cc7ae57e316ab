"""The exercises of 01_storage, from easy to hard: what is judged, and by what.

Answers are in labs/answers/storage.py.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from engine import Cluster
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from engine.model import TopicPartition
from engine.storage.segment import file_name
from storage import disk
from storage.indexes import located
from widgets import Check, Trial
from widgets.exercise import agrees_with

ROLLS = TopicPartition("rolls", 0)
Entries = Sequence[tuple[int, int]]


# -- 2: the name of a file -------------------------------------------------------------------


def name() -> Trial:
    return Trial(
        "Write name(offset): what the .log file that begins with this offset is called",
        agrees_with(lambda offset: file_name(offset, ".log"), [(0,), (42,), (9936472,), (2**40,)]),
        hint='Twenty digits: f"{offset:020d}".',
    )


# -- 3 and 5: on the cluster -----------------------------------------------------------------


def rolled(cluster: Cluster) -> Check:
    return Check(
        "A topic named rolls with one partition, whose log is in at least three segments",
        cluster,
        is_rolled,
        hint="Create it with segment.bytes=20000, and send it some messages.",
    )


def is_rolled(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
    if ROLLS not in state.partitions:
        return "there is no topic rolls"
    if any(it.topic == "rolls" and it.partition > 0 for it in state.partitions):
        return "rolls has more than one partition"
    count = max((it.segments for it in state.partitions[ROLLS].replicas.values()), default=0)
    return "" if count >= 3 else f"its log is in {count} segment{'s' * (count != 1)}"


def emptied(cluster: Cluster) -> Check:
    return Check(
        "The log of rolls begins beyond offset 0, and still has messages",
        cluster,
        is_emptied,
        hint='Retention: configure(cluster, "rolls", retention_bytes=...).',
    )


def is_emptied(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
    if ROLLS not in state.partitions:
        return "there is no topic rolls"
    led = state.partitions[ROLLS]
    log = led.replicas.get(led.leader)
    if log is None:
        return "nobody leads it"
    if not log.log_start:
        return "its log begins at offset 0"
    return "" if log.log_end > log.log_start else "its log is empty"


# -- 4: the index lookup, as the engine has it -----------------------------------------------


class CountedEntries(Sequence[tuple[int, int]]):
    """Index entries that count each look at one of them, and each look at one of their slices."""

    def __init__(self, entries: Entries, looks: Counter[str] | None = None) -> None:
        """`looks`: of the entries of which these are a slice."""
        self._entries, self._looks = list(entries), Counter() if looks is None else looks

    @property
    def looks(self) -> int:
        return self._looks.total()

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, slot):  # type: ignore[no-untyped-def]
        if isinstance(slot, slice):
            return CountedEntries(self._entries[slot], self._looks)
        self._looks["entries"] += 1
        return self._entries[slot]

    def __repr__(self) -> str:
        return repr(self._entries)


def lookup() -> Trial:
    """Judged by the engine's own index, and by how many entries it looks at."""
    return Trial(
        "Write lookup(entries, offset): the position from which to look for an offset, in a sorted "
        "list of (offset, position), halving what is left; 0 if all entries lie beyond it",
        finds,
        hint="The last entry whose offset is not above the one that is asked for.",
    )


def finds(code: Callable[[Entries, int], int]) -> str:
    log = disk.fill(disk.log(index_interval_bytes=0), 600)
    index = log.segments[0].offsets
    entries = [index[slot] for slot in range(index.count)]
    most = 2 * len(entries).bit_length()
    for offset in (*range(12), *range(500, 600, 7), 599, 10_000):
        seen = CountedEntries(entries)
        truth = index.lookup(offset)[1]
        try:
            found = code(seen, offset)
        except Exception as error:  # the learner's, and told
            return f"for offset {offset} it raises {type(error).__name__}: {error}"
        if found != truth:
            return f"for offset {offset} it gives {found}, and the engine {truth}"
        if seen.looks > most:
            return f"for offset {offset} it looks at {seen.looks} entries; halving needs {most}"
    return ""


# -- 1: compaction ---------------------------------------------------------------------------


def compacted() -> Trial:
    told = [
        (["a", "b", "a", "c"],),
        (["a"],),
        ([],),
        (["x", "x", "x", "y", "x"],),
        (["k1", "k2", "k3"],),
    ]
    return Trial(
        "Write kept(keys): the offsets that compaction keeps, in order, of a log whose messages "
        "have these keys",
        agrees_with(survivors, told),
        hint="Of each key the last one stays; a dict from key to offset knows it.",
    )


def survivors(keys: Sequence[str]) -> list[int]:
    """By the engine's own cleaner."""
    if not keys:
        return []
    log = disk.keyed(" ".join(f"{key}=v" for key in keys))
    disk.compact(log)
    return list(disk.texts(log))


# -- 6: recovery -----------------------------------------------------------------------------


def recovery() -> Trial:
    return Trial(
        "Write good(data): how many bytes from the start of a .log file are whole, undamaged "
        "batches; batch.scan(data) and batch.crc_ok(data, position, header) are yours to use",
        recovers,
        hint="Stop at the first batch whose CRC does not match; scan stops where one is torn.",
    )


def recovers(code: Callable[[bytes], int]) -> str:
    """Judged by what a restart of the engine makes of the same file."""
    for what, data in _crashes():
        log = disk.log()
        log.active.path.write_bytes(data)
        truth = disk.killed(log).size
        try:
            found = code(data)
        except Exception as error:  # the learner's, and told
            return f"for {what} it raises {type(error).__name__}: {error}"
        if found != truth:
            return f"for {what} it gives {found} bytes, and the engine keeps {truth}"
    return ""


def _crashes() -> list[tuple[str, bytes]]:
    log = disk.fill(disk.log(), 5)
    data = log.active.path.read_bytes()
    third = located(log, 2).position
    flipped = bytearray(data)
    flipped[third + 80] ^= 1
    return [
        ("a whole file", data),
        ("an empty file", b""),
        ("a file whose last batch has no end", data[:-20]),
        ("a file with a header torn", data[: third + 30]),
        ("a file with one bit flipped in the third batch", bytes(flipped)),
    ]
