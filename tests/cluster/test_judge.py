"""The judge: each kind of fault is found and named, and a good run is not accused."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.storage.records import Record, encode
from proof.chaos.history import ClientHistory, ReadRecord, SendOutcome, Sent
from proof.chaos.judge import ChaosFinding, ChaosVerdict, FindingKind, compare, ends, judge, unlike

PARTITION = 1
Change = Callable[[list[ReadRecord]], object]


class Run:
    """Twenty messages of two writers in turn, one a second, each acknowledged after another."""

    def __init__(self) -> None:
        self.history = ClientHistory("orders", 2)
        self.found: list[ReadRecord] = []
        for offset in range(20):
            sent = self.send(f"w{offset % 2}", offset // 2, offset)
            sent.outcome, sent.offset, sent.answered = (
                SendOutcome.ACKNOWLEDGED,
                offset,
                offset + 1.5,
            )
            self.found.append(ReadRecord(PARTITION, offset, sent.value))
        self.history.seen["follower"] = list(self.found)

    def send(self, writer: str, number: int, at: float) -> Sent:
        sent = Sent(writer, PARTITION, number, at)
        self.history.add(sent)
        return sent

    def message(self, offset: int) -> Sent:
        return self.history.sent[self.found[offset].value]

    def judged(self) -> ChaosVerdict:
        return compare(self.history, self.found)


@pytest.fixture
def run() -> Run:
    return Run()


def shifted(found: list[ReadRecord]) -> list[ReadRecord]:
    """The same values from offset 0 on, as if what is missing had never been."""
    return [ReadRecord(PARTITION, offset, read.value) for offset, read in enumerate(found)]


def test_a_good_run_is_not_accused(run):
    verdict = run.judged()
    assert verdict.good
    assert str(verdict) == (
        "nothing wrong: 20 sent (0 unknown, 20 acknowledged, 0 failed), 20 stored, "
        "20 read on the way"
    )


def test_what_nobody_answered_may_be_there_or_not(run):
    """Also behind the end of what was acknowledged, and between."""
    run.send("w2", 0, 5.5)
    there = run.send("w2", 1, 5.6)
    run.found.append(ReadRecord(PARTITION, 20, there.value))
    run.message(7).outcome = SendOutcome.UNKNOWN
    assert run.judged().good


def test_an_acknowledgement_may_leave_out_the_offset(run):
    """A repeated batch that is too old for the broker to know where it was put."""
    run.message(7).offset = -1
    assert run.judged().good


def test_a_follower_may_lag_behind(run):
    del run.history.seen["follower"][12:]
    assert run.judged().good


def test_lost_at_the_end(run):
    del run.found[18:], run.history.seen["follower"][15:]
    assert told(run.judged()) == [
        "lost: w0 #9 in partition 1 was acknowledged at offset 18, where now is nothing",
        "lost: w1 #9 in partition 1 was acknowledged at offset 19, where now is nothing",
    ]


def test_lost_in_the_middle_and_another_in_its_place(run):
    other = run.send("w2", 0, 8.5)
    run.found[8] = ReadRecord(PARTITION, 8, other.value)
    run.history.seen.clear()
    (finding,) = run.judged().findings
    assert finding == ChaosFinding(
        FindingKind.LOST,
        "w0 #4 in partition 1 was acknowledged at offset 8, where now is w2 #0 in partition 1",
        PARTITION,
    )


def test_one_offset_acknowledged_twice(run):
    """As two leaders at the same time would do."""
    other = run.send("w2", 0, 8.5)
    other.outcome, other.offset, other.answered = SendOutcome.ACKNOWLEDGED, 8, 9.5
    (finding,) = run.judged().findings
    assert str(finding).startswith(
        "lost: w2 #0 in partition 1 was acknowledged at offset 8, where now is w0 #4"
    )


def test_moved(run):
    run.message(19).offset = 21
    assert told(run.judged()) == [
        "moved: w1 #9 in partition 1 was acknowledged at offset 21, and is at 19"
    ]


def test_all_moved_when_one_is_lost(run):
    run.found = shifted([read for read in run.found if read.offset != 17])
    run.history.seen.clear()
    verdict = run.judged()
    assert told(verdict) == [
        "lost: w1 #8 in partition 1 was acknowledged at offset 17, where now is w0 #9 in "
        "partition 1",
        "moved: w0 #9 in partition 1 was acknowledged at offset 18, and is at 17",
        "moved: w1 #9 in partition 1 was acknowledged at offset 19, and is at 18",
    ]
    assert str(verdict).startswith("1 lost, 2 moved: 20 sent")


def test_doubled(run):
    run.found.append(ReadRecord(PARTITION, 20, run.found[19].value))
    assert told(run.judged()) == ["doubled: w1 #9 in partition 1 is at offsets 19, 20"]


@pytest.fixture
def doubled(run, tmp_path, monkeypatch) -> Callable[[int], ChaosVerdict]:
    """The last message is there again, in a batch of that producer epoch; the judge's word."""
    folder = tmp_path / f"topic-{PARTITION}"
    folder.mkdir()
    run.history.topic = "topic"
    run.found.append(ReadRecord(PARTITION, 20, run.found[19].value))
    cluster = SimpleNamespace(bootstrap="", security_settings={}, directory=lambda broker: tmp_path)
    monkeypatch.setattr("proof.chaos.judge.placement", lambda *_: {PARTITION: [1]})
    monkeypatch.setattr("proof.chaos.judge.read_all", lambda *_: run.found)

    def judged(epoch: int) -> ChaosVerdict:
        numbers = {"producer_id": 7, "leader_epoch": 0}
        first = [Record(offset, 0, None, b"") for offset in range(20)]
        log = encode(first, producer_epoch=0, base_sequence=0, **numbers)
        again, sequence = [Record(20, 0, None, b"")], 0 if epoch else 19
        log += encode(
            again, base_offset=20, producer_epoch=epoch, base_sequence=sequence, **numbers
        )
        (folder / f"{0:020d}.log").write_bytes(log)
        return judge(run.history, cluster)

    return judged


def test_what_is_doubled_is_told_with_its_producers_numbers(doubled):
    assert told(doubled(epoch=0)) == [
        "doubled: w1 #9 in partition 1 is at offsets 19, 20 "
        "(0 to 19 by 7, epoch 0, from #0, in leader epoch 0; "
        "20 to 20 by 7, epoch 0, from #19, in leader epoch 0)"
    ]


def test_numbers_that_a_client_gave_anew_are_counted_and_no_fault(doubled):
    verdict = doubled(epoch=1)
    assert verdict.good
    assert verdict.evidence.endswith(", 1 stored twice since their client renumbered them")


def test_order_is_that_of_the_first_copies(run):
    """A second copy stands behind what came later, and that it is there is the whole fault."""
    run.found.append(ReadRecord(PARTITION, 20, run.found[17].value))
    assert told(run.judged()) == ["doubled: w1 #8 in partition 1 is at offsets 17, 20"]


def test_who_is_told_that_it_is_there_already_is_not_told_where(run):
    """The first of a batch then has offset -1, and librdkafka counts on."""
    for number, offset in enumerate((3, 5, 7)):
        run.message(offset).offset = number - 1
    assert run.judged().good
    run.message(9).offset = 3
    assert run.judged().kinds == {FindingKind.MOVED}


@pytest.mark.parametrize("value", [b"never heard of", Sent("w0", 0, 3).value])
def test_a_phantom(run, value):
    """Nobody's value, or one that was sent to the other partition."""
    run.history.add(Sent("w0", 0, 3))
    run.found.append(ReadRecord(PARTITION, 20, value))
    name = "w0 #3 in partition 0" if b"w0" in value else f"{value!r}"
    assert told(run.judged()) == [
        f"phantom: {name} at offset 20 of partition 1 was never sent there"
    ]


def test_a_message_that_went_to_the_wrong_partition(run):
    other = Sent("w2", 0, 0, 3, SendOutcome.ACKNOWLEDGED, 4, 20)
    run.found.append(ReadRecord(PARTITION, 20, run.history.add(other)))
    assert [finding.kind for finding in run.judged().findings] == [
        FindingKind.LOST,
        FindingKind.PHANTOM,
    ]


def test_an_unanswered_message_that_turns_up_in_the_wrong_place(run):
    """Behind the next one of the same writer."""
    first, second = run.send("w2", 0, 30), run.send("w2", 1, 31)
    run.found += [ReadRecord(PARTITION, 20, second.value), ReadRecord(PARTITION, 21, first.value)]
    assert told(run.judged()) == ["reordered: w2 #1 in partition 1 at offset 20 stands before #0"]


def test_a_message_before_one_that_was_acknowledged_earlier(run):
    """Different writers have no order among themselves, but time has."""
    late = run.send("w2", 0, 6.6)
    run.found = shifted([*run.found[:5], ReadRecord(PARTITION, 5, late.value), *run.found[5:]])
    for read in run.found[6:]:
        run.history.sent[read.value].offset = read.offset
    run.history.seen.clear()
    assert told(run.judged()) == [
        "reordered: w2 #0 in partition 1 at offset 5 stands before w1 #2 in partition 1, "
        "acknowledged earlier"
    ]
    late.at = 6.4  # while that one was still under way
    assert run.judged().good


def test_a_hole(run):
    run.history.sent.pop(run.found[6].value)
    del run.found[6]
    run.history.seen.clear()
    assert told(run.judged()) == [
        "hole: the last reader was at offset 6 of partition 1, and then came 7"
    ]


def test_a_hole_at_the_beginning(run):
    run.history.sent.pop(run.found[0].value)
    del run.found[0]
    run.history.seen.clear()
    assert kinds(run) == {FindingKind.HOLE}


def test_a_reader_that_saw_what_is_no_more(run):
    gone = run.send("w2", 0, 18)
    run.history.seen["follower"].append(ReadRecord(PARTITION, 20, gone.value))
    assert told(run.judged()) == [
        "unstable: follower saw w2 #0 in partition 1 at offset 20 of partition 1, now it is nothing"
    ]


def test_a_reader_that_saw_another_value(run):
    run.history.seen["follower"][4] = ReadRecord(PARTITION, 4, run.found[5].value)
    assert told(run.judged()) == [
        "unstable: follower saw w1 #2 in partition 1 at offset 4 of partition 1, "
        "now it is w0 #2 in partition 1"
    ]


def test_a_reader_that_saw_an_offset_twice(run):
    run.history.seen["follower"].insert(4, run.found[3])
    assert kinds(run) == {FindingKind.UNSTABLE}


def test_a_reader_that_was_not_given_everything(run):
    del run.history.seen["follower"][4]
    assert kinds(run) == {FindingKind.HOLE}


def test_what_applications_heard(run):
    run.history.errors.append("follower: offset out of range")
    failed = run.send("w2", 0, 3)
    failed.outcome, failed.error = SendOutcome.FAILED, "message timed out"
    assert told(run.judged()) == [
        "error: follower: offset out of range",
        "error: w2 #0 in partition 1 failed: message timed out",
    ]


def test_without_evidence_there_is_no_verdict(run):
    for sent in run.history.sent.values():
        sent.outcome = SendOutcome.UNKNOWN
    assert kinds(run) == {FindingKind.BLIND}


def told(verdict: ChaosVerdict) -> list[str]:
    return [str(finding) for finding in verdict.findings]


def kinds(run: Run) -> set[FindingKind]:
    return run.judged().kinds


# -- files -----------------------------------------------------------------------------------


def two(base: int) -> list[Record]:
    return [Record(base + n, 1000, None, b"%d" % n) for n in (0, 1)]


@pytest.fixture
def files(tmp_path: Path) -> dict[int, Path]:
    """Three replicas of ten batches, cut into segments in three ways."""
    data = [encode(two(base), base_offset=base, leader_epoch=base // 8) for base in range(0, 20, 2)]
    replicas = {}
    for broker, borders in {1: (0,), 2: (0, 5), 3: (0, 3, 6)}.items():
        path = replicas[broker] = tmp_path / f"broker-{broker}" / "orders-1"
        path.mkdir(parents=True)
        for start, end in zip(borders, (*borders[1:], 10), strict=True):
            (path / f"{2 * start:020}.log").write_bytes(b"".join(data[start:end]))
    return replicas


SIZE = len(encode(two(0)))


def found(files: dict[int, Path], below: int = 20) -> list[str]:
    findings = unlike(1, files, below)
    assert all(
        finding.kind is FindingKind.UNLIKE and finding.partition == 1 for finding in findings
    )
    return [finding.text for finding in findings]


def segment(files: dict[int, Path], broker: int, base: int) -> Path:
    return files[broker] / f"{base:020}.log"


def patch(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def test_the_same_batches_in_other_segments_are_alike(files):
    assert found(files) == []


def test_above_the_high_watermark_all_is_allowed(files):
    path = segment(files, 3, 12)
    path.write_bytes(path.read_bytes()[:-SIZE])
    patch(segment(files, 2, 10), 4 * SIZE + 70, b"?")
    assert found(files, below=18) == []
    assert len(found(files, below=20)) == 3


def test_a_replica_that_ends_too_early(files):
    path = segment(files, 3, 12)
    path.write_bytes(path.read_bytes()[:-1])
    assert found(files) == ["broker 3 has nothing from offset 18 up to 20 in orders-1"]


def test_a_replica_that_is_not_there(files, tmp_path):
    files[3] = tmp_path / "broker-3" / "orders-2"
    assert found(files) == ["broker 3 has nothing from offset 0 up to 20 in orders-2"]


def test_a_segment_that_is_missing(files):
    segment(files, 3, 6).unlink()
    first, second = found(files)
    name = "broker-3/orders-1/00000000000000000012.log"
    assert first == (
        f"broker 3 has no batch at offset 6, but {name} at byte 0: offsets 12 to 13, epoch 1"
    )
    assert second.startswith("from byte 7 of a batch on, broker-1/orders-1/")


def test_a_flipped_bit(files):
    patch(segment(files, 2, 10), 2 * SIZE + 70, b"\xff")
    name = "orders-1/00000000000000000010.log at byte"
    assert found(files) == [
        f"damaged: broker-2/{name} {2 * SIZE}: offsets 14 to 15, epoch 1",
        f"from byte 70 of a batch on, broker-1/orders-1/{0:020}.log at byte {7 * SIZE}: "
        f"offsets 14 to 15, epoch 1; but broker-2/{name} {2 * SIZE}: offsets 14 to 15, epoch 1",
    ]


def test_another_leaders_batch(files):
    """The same records, appended in an epoch that has been overruled: only the header tells."""
    batch = encode(two(18), base_offset=18, leader_epoch=1)
    patch(segment(files, 3, 12), 3 * SIZE, batch)
    (text,) = found(files)
    assert "from byte 15 of a batch on" in text
    assert text.endswith("offsets 18 to 19, epoch 1")


def test_the_end_of_each_partition():
    reads = [ReadRecord(0, 0, b""), ReadRecord(0, 1, b""), ReadRecord(2, 5, b"")]
    assert ends(reads, 3) == {0: 2, 1: 0, 2: 6}
