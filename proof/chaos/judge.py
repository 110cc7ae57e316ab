"""Judges what a cluster did to the messages, by the clients' history and by the log files.

    lost        acknowledged, and not in its partition
    moved       acknowledged at one offset, and now at another
    doubled     one value at two offsets
    phantom     a value that was never sent, or not to that partition
    reordered   after a later one of the same writer; or before one that was acknowledged before
                this one was sent
    hole        an offset without a record: nothing here compacts, aborts or deletes
    unstable    a reader saw a record, and now that offset has another, or the offset came twice
    unlike      below the high watermark the files of two replicas differ, or one is damaged
    error       an application got an error that its client should have handled
    blind       nothing was acknowledged: there was nothing to judge

One kind of duplicate is not the fault of the cluster. When a broker rejects a batch, it rejects the
following ones too, since they come after a gap, and librdkafka then starts a new producer epoch. It
renumbers all its pending batches, in every partition, also those that are stored but whose response
is missing. A broker cannot recognize such a batch. So a value that is stored twice, in two epochs
of its producer, is counted but is no finding.

`compare` and `unlike` are pure: they take a history and a list of reads, or directories.
`judge` reads from a running cluster, by a stock client.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, zip_longest
from pathlib import Path
from typing import NamedTuple

from engine.cluster.cluster import Cluster
from engine.storage.batch import Header, crc_ok, scan
from proof.chaos.cluster_reader import READ_WAIT_S, placement, read_all
from proof.chaos.disk_faults import log_of
from proof.chaos.history import ClientHistory, ReadRecord, SendOutcome, Sent

SHOWN = 20  # findings in the text of a verdict


class FindingKind(Enum):
    LOST = "lost"
    MOVED = "moved"
    DOUBLED = "doubled"
    PHANTOM = "phantom"
    REORDERED = "reordered"
    HOLE = "hole"
    UNSTABLE = "unstable"
    UNLIKE = "unlike"
    HALF = "half"  # these three are of transactions: see transaction_judge.py
    DIRTY = "dirty"
    APART = "apart"
    LOST_WRITE = "lost-write"  # these are of random transactions: see anomalies.py
    UNSEEN = "unseen"
    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    DUPLICATE = "duplicate"
    ABORTED_READ = "G1a"
    PRECOMMITTED_READ = "precommitted-read"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    POLL_SKIP = "poll-skip"
    INT_POLL_SKIP = "int-poll-skip"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    CYCLE = "G1c"
    ERROR = "error"
    BLIND = "blind"


class ChaosFinding(NamedTuple):
    kind: FindingKind
    text: str
    partition: int = -1
    places: tuple[int, ...] = ()  # of a doubled value: all its offsets

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(frozen=True, repr=False)
class ChaosVerdict:
    findings: tuple[ChaosFinding, ...]
    evidence: str  # how many messages were judged

    @property
    def good(self) -> bool:
        return not self.findings

    @property
    def kinds(self) -> set[FindingKind]:
        return {finding.kind for finding in self.findings}

    def __repr__(self) -> str:
        if self.good:
            return f"nothing wrong: {self.evidence}"
        counts = Counter(finding.kind.value for finding in self.findings)
        summary = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        firsts = {finding.kind: finding for finding in reversed(self.findings)}  # one of each kind
        ordered = dict.fromkeys([*reversed(firsts.values()), *self.findings])
        lines = [f"{summary}: {self.evidence}", *map(str, [*ordered][:SHOWN])]
        return "\n  ".join(lines + ["..."] * (len(self.findings) > SHOWN))


def judge(history: ClientHistory, cluster: Cluster, patience: float = READ_WAIT_S) -> ChaosVerdict:
    """Judge a cluster that has recovered: every replica is up, every follower in sync."""
    secured = cluster.security_settings
    found = read_all(cluster.bootstrap, history.topic, history.ends(), patience, **secured)
    verdict = compare(history, found)
    findings, renumbered = [], 0
    for finding in verdict.findings:
        copies = _copies(cluster, history.topic, finding)
        if len(copies) > 1 and len({producer(each) for each in copies}) == len(finding.places):
            renumbered += 1
        else:
            findings.append(finding._replace(text=finding.text + _numbers(copies)))
    alike = files_alike(cluster, history.topic, ends(found, history.partitions))
    note = f", {renumbered} stored twice since their client renumbered them"
    return ChaosVerdict((*findings, *alike), verdict.evidence + note * bool(renumbered))


def _copies(cluster: Cluster, topic: str, finding: ChaosFinding) -> list[Header]:
    """The batches that contain a doubled value, with the numbers of their producer."""
    if finding.kind is not FindingKind.DOUBLED:
        return []
    replicas = placement(cluster.bootstrap, topic, **cluster.security_settings)
    broker = replicas[finding.partition][0]
    directory = log_of(cluster, broker, f"{topic}-{finding.partition}")
    return [
        header
        for _, _, header, _ in batches(directory, max(finding.places) + 1)
        if any(header.base_offset <= each <= header.last_offset for each in finding.places)
    ]


def producer(header: Header) -> tuple[int, int]:
    """Sequence numbers are counted within these."""
    return header.producer_id, header.producer_epoch


def _numbers(copies: Sequence[Header]) -> str:
    numbers = "; ".join(
        f"{it.base_offset} to {it.last_offset} by {it.producer_id}, epoch {it.producer_epoch}, "
        f"from #{it.base_sequence}, in leader epoch {it.leader_epoch}"
        for it in copies
    )
    return f" ({numbers})" if numbers else ""


def ends(found: Sequence[ReadRecord], partitions: int) -> dict[int, int]:
    last = dict.fromkeys(range(partitions), 0)
    return last | {read.partition: read.offset + 1 for read in found}


# -- the clients' history --------------------------------------------------------------------


def compare(history: ClientHistory, found: Sequence[ReadRecord]) -> ChaosVerdict:
    """`found`: all records in the end, partition by partition from the first offset on."""
    findings = [
        *_acknowledged(history, found),
        *_stored(history, found),
        *_in_order(history, found),
        *_steady("the last reader", found),
        *_readers(history, found),
        *_errors(history),
    ]
    outcomes = Counter(sent.outcome for sent in history.sent.values())
    seen = sum(map(len, history.seen.values()))
    counts = ", ".join(f"{outcomes[outcome]} {outcome.value}" for outcome in SendOutcome)
    evidence = f"{len(history.sent)} sent ({counts}), {len(found)} stored, {seen} read on the way"
    if not outcomes[SendOutcome.ACKNOWLEDGED]:
        findings.append(ChaosFinding(FindingKind.BLIND, "nothing was acknowledged"))
    return ChaosVerdict(tuple(findings), evidence)


def _about(kind: FindingKind, sent: Sent, text: str) -> ChaosFinding:
    return ChaosFinding(kind, f"{sent} {text}", sent.partition)


def _acknowledged(history: ClientHistory, found: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """An acknowledged record is at the acknowledged offset."""
    stored = {(read.partition, read.offset): read.value for read in found}
    places = _places(found)
    for value, sent in history.sent.items():
        if sent.outcome is not SendOutcome.ACKNOWLEDGED:
            continue
        at = [offset for partition, offset in places[value] if partition == sent.partition]
        text = f"was acknowledged at offset {sent.offset}"
        if not at:
            there = _named(history, stored.get((sent.partition, sent.offset)))
            yield _about(FindingKind.LOST, sent, f"{text}, where now is {there}")
        elif sent.offset not in at and _has_offset(history, sent):
            yield _about(FindingKind.MOVED, sent, f"{text}, and is at {at[0]}")


def _has_offset(history: ClientHistory, sent: Sent) -> bool:
    """Was it acknowledged with an offset? A response to a duplicate batch has none, which is -1;
    and librdkafka counts on from -1 for the other messages of that batch: 0, 1, 2."""
    if sent.offset < 0:
        return False
    first = history.sent.get(Sent(sent.writer, sent.partition, sent.number - sent.offset - 1).value)
    return first is None or first.outcome is not SendOutcome.ACKNOWLEDGED or first.offset != -1


def _stored(history: ClientHistory, found: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """Every stored record was sent to that partition, and is stored once."""
    for value, places in _places(found).items():
        sent = history.sent.get(value)
        for partition, offset in places:
            if sent is None or partition != sent.partition:
                text = f"{_named(history, value)} at offset {offset} of partition {partition}"
                yield ChaosFinding(FindingKind.PHANTOM, f"{text} was never sent there", partition)
        if sent is not None and len(places) > 1:
            offsets = ", ".join(str(offset) for _, offset in places)
            finding = _about(FindingKind.DOUBLED, sent, f"is at offsets {offsets}")
            yield finding._replace(places=tuple(offset for _, offset in places))


def _in_order(history: ClientHistory, found: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """Read from the end to the beginning: no record may be later than those that follow it. The
    second copy of a doubled record is left out, since it is always out of order."""
    first = {value: places[0] for value, places in _places(found).items()}
    found = [read for read in found if first[read.value] == (read.partition, read.offset)]
    for _, reads in groupby(found, lambda read: read.partition):
        following: dict[str, Sent] = {}
        earliest: Sent | None = None  # of those that follow, the first to be acknowledged
        for read in reversed(list(reads)):
            sent = history.sent.get(read.value)
            if sent is None or sent.partition != read.partition:
                continue
            behind = following.get(sent.writer)
            if behind is not None and behind.number < sent.number:
                text = f"at offset {read.offset} stands before #{behind.number}"
                yield _about(FindingKind.REORDERED, sent, text)
            elif earliest is not None and earliest.answered < sent.at:
                text = f"at offset {read.offset} stands before {earliest}, acknowledged earlier"
                yield _about(FindingKind.REORDERED, sent, text)
            following[sent.writer] = sent
            if sent.outcome is SendOutcome.ACKNOWLEDGED and sent.answered < (
                earliest.answered if earliest else math.inf
            ):
                earliest = sent


def _readers(history: ClientHistory, found: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """A record that a reader has seen is still at its offset."""
    stored = {(read.partition, read.offset): read.value for read in found}
    for name, seen in history.seen.items():
        yield from _steady(name, seen)
        for partition, offset, value in seen:
            if (now := stored.get((partition, offset))) != value:
                where = f"{_named(history, value)} at offset {offset} of partition {partition}"
                text = f"{name} saw {where}, now it is {_named(history, now)}"
                yield ChaosFinding(FindingKind.UNSTABLE, text, partition)


def _steady(name: str, seen: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """A reader gets each offset of a partition once, from 0 on."""
    expected: defaultdict[int, int] = defaultdict(int)
    for partition, offset, _ in seen:
        where = f"{name} was at offset {expected[partition]} of partition {partition}, and then"
        if offset > expected[partition]:
            yield ChaosFinding(FindingKind.HOLE, f"{where} came {offset}", partition)
        elif offset < expected[partition]:
            yield ChaosFinding(FindingKind.UNSTABLE, f"{where} came {offset} again", partition)
        expected[partition] = offset + 1


def _errors(history: ClientHistory) -> Iterator[ChaosFinding]:
    for error in history.errors:
        yield ChaosFinding(FindingKind.ERROR, error)
    for sent in history.sent.values():
        if sent.outcome is SendOutcome.FAILED:
            yield _about(FindingKind.ERROR, sent, f"failed: {sent.error}")


def _places(found: Sequence[ReadRecord]) -> defaultdict[bytes, list[tuple[int, int]]]:
    places: defaultdict[bytes, list[tuple[int, int]]] = defaultdict(list)
    for partition, offset, value in found:
        places[value].append((partition, offset))
    return places


def _named(history: ClientHistory, value: bytes | None) -> str:
    if value is None:
        return "nothing"
    return str(history.sent.get(value, value[:40]))


# -- the log files ---------------------------------------------------------------------------


class StoredBatch(NamedTuple):
    path: Path
    position: int
    header: Header
    data: bytes

    def __str__(self) -> str:
        header = self.header
        what = f"offsets {header.base_offset} to {header.last_offset}, epoch {header.leader_epoch}"
        return f"{'/'.join(self.path.parts[-3:])} at byte {self.position}: {what}"


def files_alike(cluster: Cluster, topic: str, below: Mapping[int, int]) -> list[ChaosFinding]:
    """Compare the files of all replicas that the cluster's metadata name."""
    placed = placement(cluster.bootstrap, topic, **cluster.security_settings)
    return [
        finding
        for partition, replicas in placed.items()
        for finding in unlike(
            partition,
            {each: log_of(cluster, each, f"{topic}-{partition}") for each in replicas},
            below[partition],
        )
    ]


def unlike(partition: int, replicas: Mapping[int, Path], below: int) -> list[ChaosFinding]:
    """The first difference of each replica from the first one, wherever segments begin."""
    whole = {broker: list(batches(path, below)) for broker, path in replicas.items()}
    alone = [
        finding
        for broker, path in replicas.items()
        if (finding := _unsound(partition, broker, path, whole[broker], below))
    ]
    (first, model), *others = whole.items()
    return alone + [
        finding
        for broker, mine in others
        if (finding := _difference(partition, (first, model), (broker, mine)))
    ]


def batches(directory: Path, below: int) -> Iterator[StoredBatch]:
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        for position, header in scan(data):
            if header.base_offset >= below:
                return
            yield StoredBatch(path, position, header, data[position : position + header.size])


def _unsound(
    partition: int, broker: int, path: Path, found: Sequence[StoredBatch], below: int
) -> ChaosFinding | None:
    """A replica has every offset from 0 up to the high watermark, and each batch is intact."""
    expected = 0
    for batch in found:
        if batch.header.base_offset != expected:
            text = f"broker {broker} has no batch at offset {expected}, but {batch}"
            return ChaosFinding(FindingKind.UNLIKE, text, partition)
        if not crc_ok(batch.data, 0, batch.header):
            return ChaosFinding(FindingKind.UNLIKE, f"damaged: {batch}", partition)
        expected = batch.header.next_offset
    if expected < below:
        text = f"broker {broker} has nothing from offset {expected} up to {below} in {path.name}"
        return ChaosFinding(FindingKind.UNLIKE, text, partition)
    return None


def _difference(
    partition: int, one: tuple[int, list[StoredBatch]], other: tuple[int, list[StoredBatch]]
) -> ChaosFinding | None:
    for mine, theirs in zip_longest(one[1], other[1]):
        if mine is None or theirs is None:
            return None  # one of them ends too early, which is a finding already
        if mine.data != theirs.data:
            pairs = zip_longest(mine.data, theirs.data)
            at = next(n for n, (a, b) in enumerate(pairs) if a != b)
            text = f"from byte {at} of a batch on, {mine}; but {theirs}"
            return ChaosFinding(FindingKind.UNLIKE, text, partition)
    return None
