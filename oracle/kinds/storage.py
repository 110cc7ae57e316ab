"""Questions on one log and its files: crashes, recovery, the sparse index, compaction."""

import shutil
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.sim.simulation import Simulation
from engine.storage import records
from engine.storage.cleaner import Cleaner
from engine.storage.index import read_offset_entries
from engine.storage.loading import load
from engine.storage.log import Log
from engine.storage.records import Record
from oracle.cluster_situation import TOPIC, ClusterSituation
from oracle.situation import Answer, Situation, around, numbers

NOW = 1_700_000_000_000
PARTITION = TopicPartition("orders", 0)
INDEX_BYTES = 1 << 16


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for one log, removed at the end."""
    path = Path(tempfile.mkdtemp(prefix="brokerlab-oracle-"))
    try:
        yield path / str(PARTITION)
    finally:
        shutil.rmtree(path)


def opened(path: Path, **config: object) -> Log:
    settings = {"segment_index_bytes": INDEX_BYTES} | config
    return load(path, PARTITION, TopicConfig(**settings), now=NOW)  # type: ignore[arg-type]


class AfterCrash(ClusterSituation):
    """The only replica crashes. What is left?"""

    level, idea, section = 1, "page cache", "storage#crash-text"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.order = [1]
        self.leader, self.followers = 1, []
        self.count = chance.randint(5, 8)
        self.flush = chance.choice([2, 3, 4, 10**6, 10**6])
        self.crash = chance.choice(["kill", "power", "power"])
        self.happens = {
            "kill": "The broker's process is killed (SIGKILL), and started again.",
            "power": "The machine loses its power, and is started again.",
        }[self.crash]
        self.asks = "How many records are left?"

    brokers = 1

    def prepare(self, sim: Simulation) -> None:
        self.create(sim, flush_messages=self.flush)
        self.store(sim, self.count)

    def strike(self, sim: Simulation) -> None:
        if self.crash == "kill":
            sim.kill(1)
        else:
            sim.power_cut(1)
        sim.run(5)
        sim.start(1)
        sim.run(10)

    def observe(self, sim: Simulation) -> Hashable:
        return len(sim.log(1, TOPIC))

    def facts(self) -> list[str]:
        rule = (
            f"flush.messages is {self.flush}."
            if self.flush < 10**6
            else "The broker never flushes."
        )
        return [f"One replica, {self.count} records, each acknowledged.", rule]

    def table(self) -> None:
        """There is one replica, and it has all records."""

    def answers(self) -> Sequence[Answer]:
        flushed = self.count // self.flush * self.flush
        beliefs = {flushed: "A killed process loses nothing that it wrote: the kernel has it."} | {
            self.count: "Acknowledged is written to the page cache, not to the disk.",
            0: "What was flushed is on the disk, and a kernel outlives a process.",
        }
        few = numbers(self.count, 0, flushed, self.count - 1, self.count - 2)
        return [
            Answer(f"{number}", number, beliefs.get(number, "Count what was flushed."))
            for number in few
        ]

    def reason(self, outcome: Hashable) -> str:
        if self.crash == "kill":
            return "What a process wrote is in the page cache, and the kernel lives on."
        return (
            "Without power the page cache is lost: what was flushed is left. Kafka relies on other "
            "replicas, not on flushing."
        )


class TornLog(Situation):
    """A file is damaged, and the broker was not stopped in order. How much is left?"""

    level, idea, section = 2, "recovery", "storage#crash-text"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.count = chance.randint(5, 9)
        self.at = chance.choice([0, *range(1, self.count - 1)])  # the batch that is hit
        if chance.random() < 0.2:
            self.at = 0
        self.damage = chance.choice(["cut", "flip", "flip", "tail", "none"])
        number = self.at + 1
        self.happens = {
            "cut": f"The file ends in the middle of batch {number}.",
            "flip": f"One byte in the value of batch {number} is wrong.",
            "tail": "Behind the last batch there are 40 bytes of zeros.",
            "none": "Nothing is wrong with the file.",
        }[self.damage] + " The broker is started, and finds no mark that it was stopped in order."
        self.asks = "How many batches are left?"

    def facts(self) -> list[str]:
        return [f"One segment with {self.count} batches of one record; none was flushed."]

    def outcome(self, timing: int) -> Hashable:
        with scratch() as path:
            log = opened(path)
            ends = []
            for number in range(self.count):
                log.append(records.encode([Record(0, NOW, None, b"%040d" % number)]), 0, NOW)
                ends.append(log.size)
            log.abandon()
            file = path / f"{0:020}.log"
            data = bytearray(file.read_bytes())
            middle = ends[self.at] - 20
            if self.damage == "cut":
                del data[middle:]
            elif self.damage == "flip":
                data[middle] ^= 1
            elif self.damage == "tail":
                data += bytes(40)
            file.write_bytes(data)
            log = opened(path)
            left = log.end_offset
            log.abandon()
            return left

    def answers(self) -> Sequence[Answer]:
        beliefs = {
            self.count: "A batch whose checksum is wrong is not skipped, nor repaired.",
            self.count - 1: "A log has no holes: what stands behind a damaged batch goes with it.",
            self.at: "Each batch before the damage is checked, and whole.",
        }
        beliefs[0] = "What is whole stays."
        few = numbers(self.at, self.count, self.count - 1, 0, self.at + 1)
        return [Answer(str(number), number, beliefs.get(number, "Count again.")) for number in few]

    def reason(self, outcome: Hashable) -> str:
        if outcome == self.count:
            return "Each batch has a right checksum; what is no batch behind them is cut off."
        return "Recovery checks each batch, and cuts the file at the first one that is not whole."


class SparseLookup(Situation):
    """A consumer asks for an offset. Where does the broker begin to read the file?"""

    level, idea, section = 1, "index", "storage#index-text"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.count = chance.randint(14, 20)
        self.interval = chance.choice([200, 300, 400])
        self.wanted = chance.randint(1, self.count - 1)
        self.happens = f"A consumer asks for offset {self.wanted}."
        self.asks = "At which batch does the broker begin to look in the .log file?"
        self._entries = self._built()

    def _built(self) -> list[tuple[int, int]]:
        with self._log() as log:
            return read_offset_entries(log.directory / f"{0:020}.index")

    @contextmanager
    def _log(self) -> Iterator[Log]:
        with scratch() as path:
            log = opened(path, index_interval_bytes=self.interval)
            for number in range(self.count):
                log.append(records.encode([Record(0, NOW, None, b"%020d" % number)]), 0, NOW)
            yield log
            log.abandon()

    def facts(self) -> list[str]:
        entries = ", ".join(f"{offset} at byte {position}" for offset, position in self._entries)
        return [
            f"A segment with offsets 0 to {self.count - 1}, each a batch of its own.",
            f"Its offset index has these entries: {entries}.",
        ]

    def outcome(self, timing: int) -> Hashable:
        with self._log() as log:
            _, position = log.active.offsets.lookup(self.wanted)
            return next(header.base_offset for _, header in log.active.headers(position))

    def answers(self) -> Sequence[Answer]:
        known = [0, *(offset for offset, _ in self._entries)]
        before = max(offset for offset in known if offset <= self.wanted)
        after = next((offset for offset in known if offset > self.wanted), self.count - 1)
        beliefs = {
            after: "Behind the record it would never be found.",
            self.wanted: "Not each batch has an entry.",
            0: "An entry is nearer than the beginning of the file.",
            before: "The next entry at or before it.",
        }
        others = [self.wanted, after, self.count - 1, *known]
        self.chance.shuffle(others)
        few = numbers(before, *others)
        return [
            Answer(f"at offset {number}", number, beliefs.get(number, "Another entry is nearer."))
            for number in few
        ]

    def reason(self, outcome: Hashable) -> str:
        return (
            "The largest entry that is not behind the offset; from there it reads batch by batch."
        )


class Compacted(Situation):
    """A compacted log is cleaned. How many records are left?"""

    level, idea, section = 2, "compaction", "storage#life-text"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        keys = "abc"[: chance.randint(2, 3)]
        self.closed = [
            chance.choice(keys) + chance.choice("1112=") for _ in range(chance.randint(4, 6))
        ]
        self.active = [chance.choice(keys) + "9" for _ in range(chance.randint(0, 3))]
        self.happens = "The cleaner runs once, long before delete.retention.ms is over."
        self.asks = "How many records does the whole log have afterwards?"

    @staticmethod
    def _shown(texts: list[str]) -> str:
        return " ".join(f"{it[0]}={it[1:].strip('=') or 'null'}" for it in texts)

    def facts(self) -> list[str]:
        return [
            f"Closed segment: {self._shown(self.closed)}.",
            f"Active segment: {self._shown(self.active) or 'empty'}.",
            "A value of null is a tombstone.",
        ]

    def outcome(self, timing: int) -> Hashable:
        with scratch() as path:
            log = opened(path, cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
            for texts, is_closed in ((self.closed, True), (self.active, False)):
                for text in texts:
                    value = text[1:].strip("=").encode() or None
                    record = Record(0, NOW, text[0].encode(), value)
                    log.append(records.encode([record]), 0, NOW)
                if is_closed:
                    log.roll(NOW)
            cleaner = Cleaner(path.parent, 1 << 20, NOW)
            work = cleaner.choose([(log, log.end_offset)], NOW)
            assert work is not None, "a closed segment is there to be cleaned"
            for _ in cleaner.clean(work, NOW):
                pass
            left = sum(header.count for _, _, header in log.headers())
            log.abandon()
            return left

    def answers(self) -> Sequence[Answer]:
        closed = {text[0]: text for text in self.closed}
        all_ = closed | {text[0]: text for text in self.active}
        living = sum(not text.endswith("=") for text in closed.values())
        per_segment = len(closed) + len(self.active)
        beliefs = {
            len(all_): "The active segment is neither cleaned nor looked at.",
            living + len(self.active): "A tombstone stays until delete.retention.ms is over.",
            len(self.closed) + len(self.active): "Older values of a key go.",
            per_segment: "In closed segments the last record of each key stays.",
        }
        total = len(self.closed) + len(self.active)
        few = around(self.chance, per_segment, len(all_), living + len(self.active), total)
        return [
            Answer(str(number), number, beliefs.get(number, "Count once more.")) for number in few
        ]

    def reason(self, outcome: Hashable) -> str:
        return (
            "Of the closed segments the last record of each key stays, a tombstone too; the active "
            "segment is not touched."
        )


KINDS: dict[str, type[Situation]] = {
    "after-crash": AfterCrash,
    "torn-log": TornLog,
    "index-lookup": SparseLookup,
    "compacted": Compacted,
}
