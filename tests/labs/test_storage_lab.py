"""01_storage: its sections by themselves and out of order, its claims and its exercises.

A claim's test breaks the engine or the experiment: then the verdict must not be the same any more.
"""

from collections.abc import Callable, Sequence
from importlib import import_module as lab
from pathlib import Path
from typing import Any

import pytest
from IPython.lib.pretty import pretty

from engine import Cluster, Simulation
from engine.storage import files, retention
from engine.storage.index import Index, OffsetIndex, TimeIndex
from engine.storage.segment import Segment
from tests.interop.watch import until
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.reader import LABS, Reader

LAB = LABS / "01_storage.ipynb"
BY_HAND = {  # sections that need no broker: from their first cell to their last
    "index": (
        *("index-predict", "index", "index-outcome", "by-hand", "lookup-view", "spacing"),
        *("decide-index", "decide-interval"),
    ),
    "time": (
        *("time-predict", "time", "time-outcome", "by-time", "uses"),
        *("decide-time", "decide-uses"),
    ),
    "speed": ("speed-predict", "speed", "speed-outcome", "decide-speed"),
    "crash": ("power-predict", "power", "power-outcome", "torn"),
}


def test_sections_stand_alone_in_any_order_and_twice(reader: Reader) -> None:
    for section in (*reversed(BY_HAND), *BY_HAND):
        reader.names.clear()  # as after a restart, or for who begins here
        for name in BY_HAND[section]:
            cell = reader.cell(name)
            printed, value = reader.run(cell)
            if value is not None and not cell.metadata.get("tags"):
                assert pretty(value) == cell.outputs[0].data["text/plain"], name
            assert printed == ""


def test_a_guess_is_answered(reader: Reader) -> None:
    reader.through("gaps-predict", "gaps")
    reader.names["guess"].choose("1 They close up: 0, 1, 2")
    assert reader.through("gaps-outcome").right is False


# -- the claims: engines with a defect -------------------------------------------------------


def memory_ends_with_a_process(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Simulation, "kill", Simulation.power_cut)


def a_search_that_walks(patch: pytest.MonkeyPatch) -> None:
    def walk(self: Index, key: int, probes: list[int] | None = None) -> int:
        slot = -1
        while slot + 1 < self.count and self._unpack(slot + 1)[0] <= key - self.base_offset:
            slot += 1
            if probes is not None:
                probes.append(slot)
        return slot

    patch.setattr(Index, "_search", walk)


def entries_that_point_too_far(patch: pytest.MonkeyPatch) -> None:
    append = OffsetIndex.append
    patch.setattr(OffsetIndex, "append", lambda it, at, where: append(it, at, where + 170))


def an_entry_for_every_batch(patch: pytest.MonkeyPatch) -> None:
    append = Segment.append

    def every_batch(it: Segment, *how: Any) -> None:
        it.since_index = it.index_interval + 1
        append(it, *how)

    patch.setattr(Segment, "append", every_batch)


def times_in_any_order(patch: pytest.MonkeyPatch) -> None:
    """The time index takes the latest time, and not the largest so far."""

    def any_time(it: TimeIndex, timestamp: int, offset: int) -> None:
        it._pack(timestamp, offset - it.base_offset)

    def latest(it: Segment, parts: Any, size: int, last: int, newest: tuple[int, int]) -> None:
        it.greatest = newest
        append(it, parts, size, last, newest)

    append = Segment.append
    patch.setattr(TimeIndex, "append", any_time)
    patch.setattr(Segment, "append", latest)


def times_that_are_of_no_use(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Segment, "offset_for_time", lambda it, when, start: (start, when, 0))
    patch.setattr(retention, "_older_than", lambda keep, now: lambda segment, end: False)


def an_append_in_two_writes(patch: pytest.MonkeyPatch) -> None:
    """As if a long log had to be written at two places."""

    def in_two(
        fd: int, parts: Sequence[files.Buffer], size: int, position: int, path: Path
    ) -> None:
        data = b"".join(parts)
        half = size // 2 if position > 1 << 20 else size
        for part in filter(None, (data[:half], data[half:])):
            files.append(fd, [part])

    patch.setattr(files, "append_whole", in_two)


def a_retention_that_keeps_twice_as_long(patch: pytest.MonkeyPatch) -> None:
    older = retention._older_than
    patch.setattr(retention, "_older_than", lambda keep, now: older(keep * 2, now))


# -- the claims: mutants ---------------------------------------------------------------------

CRASH = "power-predict power power-outcome torn decide-crash"
COMMITS = {"noted": [500, 750]}  # as the cell finds them that needs a cluster
INDEX = "index-predict index lookup-view spacing decide-index decide-interval"
TIME = "time-predict time by-time uses time-outcome decide-time decide-uses"
SPEED = "speed-predict speed speed-outcome decide-speed"
LIFE = "life-predict kept life-outcome week never-changed decide-life"
MUTANTS = [
    Mutant(
        "times in their order",
        "C031 C032",
        INDEX,
        [("disk.shuffled(), disk.shuffled(interval=0)", "log, log")],
    ),
    Mutant(
        "topics: one broker for all, four partitions, a cake among teas, an index that is gone, "
        "as many partitions as ever",
        "C001 C002 C015 C016 C285",
        "topics-predict topics files decide-topics",
        [
            ('("orders", partitions=5, replicas=1)', '("orders", replicas=[[1]] * 4)'),
            ('cluster.write(cakes, ["plum"])', 'cluster.write(teas, ["plum"])'),
            (
                "rolled =",
                'min(disk.files(cluster, small).glob("*.timeindex")).unlink()\nrolled =',
            ),
            ('"split", partitions=asked', '"split", partitions=3'),
        ],
    ),
    Mutant(
        "a batch for each message, and a dump that prints no message",
        "C005 C017 C034",
        "batches-predict batches dump decide-batches",
        [("linger_ms=1000,", "batch_size=1,"), (', "--print-data-log")', ")")],
    ),
    Mutant(
        "messages were deleted before the first look",
        "C003 C004",
        "gaps-predict gaps failover queue decide-offsets",
        [
            (
                "first, leader = stored()",
                "configure(cluster, letters, retention_bytes=5000)\n"
                'cluster.wait("retention", lambda: min(stored()) > 0)\n'
                "first, leader = stored()",
            ),
        ],
    ),
    Mutant(
        "a queue in three parts, and a group that wants the latest",
        "C006 C037",
        "gaps-predict gaps queue decide-queue",
        [
            ("for each in (single, split))", "for each in (split, split))"),
            ('reset="earliest", number=50)', 'reset="latest", number=50, new=words)'),
        ],
    ),
    Mutant(
        "all partitions are on one broker, keys do not move, one large file",
        "C025 C039 C040 C041",
        "order-predict order order-outcome readers why decide-order",
        [
            ("partitions=6, replicas=1)", "replicas=[[1]] * 6)"),
            ("cluster.write(six, [f", "cluster.write(whole, [f"),
            ("seconds(six, 6)", "seconds(whole, 1)"),
            ("segment_bytes=200_000", "segment_bytes=1 << 30"),
        ],
    ),
    Mutant(
        "no transactions, another size, a compacted log, nothing is dropped, two large files",
        "C018 C019 C020 C022 C023 C024",
        "segments-predict segments names-count limit shape dropping"
        " decide-segments decide-rolling decide-shape decide-cutting",
        [
            ('{"transactional.id": f"writer of {marked}"}', "{}"),
            ("producer.init_transactions()", "pass"),
            ("producer.begin_transaction()", "pass"),
            ("producer.commit_transaction()", "producer.flush()"),
            ('cluster.topic("sized")', 'cluster.topic("sized", segment_bytes=2000)'),
            ("segment_bytes=20_000", "segment_bytes=30_000"),
            (
                "aged = disk.fill(disk.log(segment_ms=2000), 9)",
                'aged = disk.keyed("a=1 b=1 a=2")\n'
                "disk.compact(aged)\naged.append(disk.batch(key='a'), 0, disk.NOW)",
            ),
            ("for segment_bytes in (1 << 30, 1 << 17)", "for segment_bytes in (1 << 30, 1 << 30)"),
            ("retention.enforce(old, disk.NOW, old.end_offset)", "disk.grow(old, 9)"),
        ],
    ),
    Mutant("a search that walks", "C033", INDEX, defect=a_search_that_walks),
    Mutant("entries that point too far", "C026 C033", INDEX, defect=entries_that_point_too_far),
    Mutant("an entry for every batch", "C028 C029", INDEX, defect=an_entry_for_every_batch),
    Mutant("a time index in any order", "C031", INDEX, defect=times_in_any_order),
    Mutant(
        "a search by time that begins at the beginning, and times of no use",
        "C027 C038",
        TIME,
        [
            ("default=(0, 0))\n    _, position", "default=(0, 0))\n    start = 0\n    _, position"),
            ("segment_ms=disk.DAY + 1", "segment_ms=2**40"),
        ],
        defect=times_that_are_of_no_use,
    ),
    Mutant(
        "producers with times in no order",
        "C027 C030",
        TIME,
        [("disk.fill(disk.log(), 400), disk.shuffled()", "disk.shuffled(), disk.shuffled()")],
    ),
    Mutant(
        "two logs of one size", "C012 C013", SPEED, [("(0.5, 1, 2, 4, 8, 16, 32)", "(0.5, 0.5)")]
    ),
    Mutant("an append in two writes", "C012", SPEED, defect=an_append_in_two_writes),
    Mutant(
        "what was read is deleted, files are kept for longer, and one of them still grows",
        "C009 C035 C036",
        LIFE,
        [
            (
                "read = cluster.read(seen)",
                "read, all_of_it = cluster.read(seen), TopicPartition(seen, 0, 50)\n"
                "cluster.admin.delete_records([all_of_it])[all_of_it].result()",
            ),
            ("retention_ms=3 * disk.DAY", "retention_ms=5 * disk.DAY"),
            ("closed = min(", "closed = max("),
        ],
    ),
    Mutant(
        "a retention that keeps twice as long",
        "C036",
        LIFE,
        defect=a_retention_that_keeps_twice_as_long,
    ),
    Mutant(
        "memory ends with a process",
        "C010",
        CRASH,
        defect=memory_ends_with_a_process,
        given=COMMITS,
    ),
    Mutant(
        "each message is flushed, and the last batch is whole",
        "C010 C294",
        CRASH,
        [
            ("replicas=[1, 2, 3])", "replicas=[1, 2, 3], flush_messages=1)"),
            ("disk.batch()[:40]", '(600).to_bytes(8, "big") + disk.batch()[8:]'),
        ],
        given=COMMITS,
    ),
    Mutant(
        "a topic on one machine",
        "C010",
        CRASH,
        [
            ("replicas=[1, 2, 3])", "replicas=[1])"),
            ('sim.leader("orders") not in brokers)', "True)"),
        ],
        given=COMMITS,
    ),
    Mutant(
        "each message is flushed, a reader keeps all, two are sent at a time, nobody waits",
        "C007 C008 C011 C014 C021",
        "memory-predict cached late memory-outcome shared waits"
        " decide-memory decide-cache decide-wait",
        [
            ("disk.log(), 1000)", "disk.log(flush_messages=1), 9)"),
            ("pid = cluster.child(cluster.leader(big)).pid", "import os\n\npid = os.getpid()"),
            (
                "received = sum(map(len, cluster.read(big)))",
                "held = cluster.read(big)\nreceived = sum(map(len, held))",
            ),
            ("cluster.write(news, [str(number)])", 'cluster.write(news, [str(number), "more"])'),
            ("delay(wait, same=True)", "delay(wait)"),
        ],
    ),
]


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


# -- the exercises: code ---------------------------------------------------------------------


def walked(entries: Any, offset: int) -> int:
    """Right, but it looks at every entry."""
    return max((at for found, at in entries if found <= offset), default=0)


def walked_through_a_slice(entries: Any, offset: int) -> int:
    return walked(entries[:], offset)


def halved_by_slices(entries: Any, offset: int) -> int:
    """Right, and it looks at one entry of each half that is left."""
    position = 0
    while entries:
        middle = len(entries) // 2
        found, at = entries[middle]
        if found <= offset:
            entries, position = entries[middle + 1 :], at
        else:
            entries = entries[:middle]
    return position


def next_one(entries: Any, offset: int) -> int:
    """Halves well, and then takes the entry behind."""
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if entries[middle][0] < offset else (low, middle)
    return int(entries[min(low, len(entries) - 1)][1])


def whole(data: bytes) -> int:
    """Finds what is torn, and misses what is damaged."""
    from engine.storage.batch import scan  # noqa: PLC0415

    return max((at + header.size for at, header in scan(data)), default=0)


WRONG: dict[str, list[Callable[..., Any]]] = {
    "name": [lambda offset: f"{offset}.log", lambda offset: f"{offset:019d}.log"],
    "compacted": [
        lambda keys: [*{key: offset for offset, key in reversed([*enumerate(keys)])}.values()],
        lambda keys: list(range(len(set(keys)))),
    ],
    "lookup": [
        walked,
        walked_through_a_slice,
        next_one,
        lambda entries, offset: entries[0][1] // 0,
    ],
    "recovery": [whole, len],
}
ANSWERS = {"name": "name", "compacted": "kept", "lookup": "lookup", "recovery": "good"}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_exercise_in_code_accepts_the_answer(name: str) -> None:
    trial = getattr(lab("storage.exercises"), name)()
    outcome = trial.run(getattr(lab("answers.storage"), ANSWERS[name]))
    assert outcome.passed, outcome


def test_entries_may_be_halved_by_slices() -> None:
    assert lab("storage.exercises").lookup().run(halved_by_slices).passed


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, codes in WRONG.items() for wrong in codes]
)
def test_an_exercise_in_code_refuses_what_is_wrong(name: str, wrong: Callable[..., Any]) -> None:
    outcome = getattr(lab("storage.exercises"), name)().run(wrong)
    assert not outcome.passed
    assert repr(outcome).startswith("Not yet: ")


# -- the exercises: on a cluster -------------------------------------------------------------


def test_the_exercises_on_a_cluster_take_the_answers_and_nothing_less() -> None:
    exercises, answers = lab("storage.exercises"), lab("answers.storage")
    with Cluster(brokers=1, config={"log.retention.check.interval.ms": "200"}) as cluster:
        rolled, emptied = exercises.rolled(cluster), exercises.emptied(cluster)
        assert rolled.missing == emptied.missing == "there is no topic rolls"
        cluster.admin.create_topic("rolls", 2, 1)
        cluster.write("rolls", ["x" * 1000] * 60)
        assert not rolled.check()
        assert rolled.missing == "rolls has more than one partition"
        cluster.admin.delete_topic("rolls")
        until(lambda: not cluster.state().partitions)

        cluster.admin.create_topic("rolls", 1, 1)  # with segments of a gigabyte
        cluster.write("rolls", ["x" * 1000] * 60)
        until(lambda: not rolled.check() and rolled.missing == "its log is in 1 segment")
        cluster.admin.delete_topic("rolls")
        until(lambda: not cluster.state().partitions)

        answers.rolled(cluster)
        until(rolled.check)
        assert not emptied.check()
        assert emptied.missing == "its log begins at offset 0"
        answers.emptied(cluster)
        until(emptied.check)


def test_a_log_that_is_empty_is_emptied_too_much() -> None:
    exercises, configure = lab("storage.exercises"), lab("lab").configure
    with Cluster(brokers=1, config={"log.retention.check.interval.ms": "200"}) as cluster:
        cluster.admin.create_topic("rolls", 1, 1)
        cluster.write("rolls", ["x"] * 10, timestamp=1000)
        configure(cluster, "rolls", retention_ms=60_000)
        emptied = exercises.emptied(cluster)
        until(lambda: not emptied.check() and emptied.missing == "its log is empty")
