"""Two recordings in detail: transactions of which one is aborted, and a day on call.

Each view of a run shows the moments that its story is about.
"""

import importlib
import re
from collections import Counter
from contextlib import closing
from types import ModuleType

import pytest

from engine.client.producing.batch_log import Cause
from engine.model import TopicPartition
from engine.storage import records
from tests.labs.test_recorded import labels, texts
from widgets.log.location import LogLocation
from widgets.log.transactions import BatchFate, fated
from widgets.site import film
from widgets.site.walk import walk


@pytest.fixture(scope="module")
def recorded(labs_can_be_imported: None) -> ModuleType:
    return importlib.import_module("recorded")


# -- transactions ---------------------------------------------------------------------------------


def bills(state):
    """What the leader has of the partition: last stable offset, high watermark."""
    told = state.partitions.get(TopicPartition("bills", 0))
    replica = told and told.replicas.get(told.leader)
    return (replica.last_stable, replica.high_watermark) if replica else (0, 0)


def read(state, level: str) -> int:
    group = state.groups.get(f"reads-{level}")
    return group.offsets.get("bills-0", 0) if group else 0


def aborted(recording) -> int:
    """When the coordinator decided it, ms since 1970."""
    (found,) = [
        it.at
        for it in recording.events()
        if it.kind == "transaction.changed" and it.data["state"] == "PrepareAbort"
    ]
    return found


def test_read_committed_waits_at_the_last_stable_offset(recorded):
    run = recorded.load("transactions")
    end = aborted(run)
    waiting = [it for it in run if end - 4000 < it.at < end]
    stable, marks = {bills(it)[0] for it in waiting}, [bills(it)[1] for it in waiting]
    (stands,) = stable
    assert stands < marks[0] < marks[-1], "others write on, and the LSO stands still"
    assert {read(it, "committed") for it in waiting[-5:]} == {stands}
    assert read(waiting[-1], "uncommitted") > stands
    last = run.at(run.end)
    assert bills(last)[0] > marks[-1]
    assert read(last, "committed") > marks[-1]
    view = recorded.view("transactions", "ReplicaView")
    view.do("goto", end - 500)
    assert f"LSO {stands} · stable" in texts(view)
    view.do("forward")
    assert view.head == pytest.approx(end, abs=200), "a step leads to the abort"
    assert "its producer fenced: copier-2, epoch 0 → 1" in labels(view), "and it has a mark"


def test_a_coordinator_that_aborts_fences_the_dead_producer(recorded):
    run = recorded.load("transactions")
    view = recorded.view("transactions", "GroupView")
    view.follow(aborted(run) - 500)
    assert "consumer copier-2: killed" in labels(view)
    assert "epoch 1" not in texts(view)
    assert re.search(r"copier-2 \(producer 1, epoch 0\): begun at [\d.]+ s, open", labels(view))
    view.do("forward")
    assert view.head == pytest.approx(aborted(run), abs=200), "a step leads to the abort"
    assert "epoch 1" in texts(view)
    assert "epoch 0 fenced" in " ".join(texts(view))
    recorded.turn(view, 1)
    assert "consumer copier-1: reading, has orders-0, orders-1" in labels(view)
    history = view.view_state().history
    results = [(it.id, it.result, it.fenced) for it in history.transactions.facts.own]
    assert results.count(("copier-2", "aborted", True)) == 1
    assert {it for it in results if it[0] == "copier-1"} >= {("copier-1", "committed", False)}


def test_files_have_markers_and_what_read_committed_skips(recorded):
    end = aborted(recorded.load("transactions"))
    view = recorded.view("transactions", "SegmentView")
    view.follow(end - 1000)
    assert "open transaction of producer 1, epoch 0; read_committed waits" in labels(view)
    view.follow(end + 100)
    assert "ABORT marker of producer 1, epoch 1, a control batch" in labels(view)
    assert "read_committed skips it" in labels(view)
    assert "1 skipped" in texts(view)
    view = recorded.view("transactions", "HexView")
    view.follow(end + 100)
    view.do("last")
    assert "ABORT marker of producer 1, epoch 1, a control batch" in " ".join(texts(view))


def test_each_order_has_one_bill_for_who_reads_committed(recorded):
    with closing(LogLocation(recorded.load("transactions"), "bills", 0)) as place:
        (segment,) = place.look().segments
        _judge(segment)


def _judge(segment) -> None:
    found, skipped = Counter[bytes](), Counter[bytes]()
    for it in fated(segment, 0, segment.size):
        if not it.fate.is_marker:
            kept = skipped if it.fate is BatchFate.ABORTED else found
            batch = segment.read(it.position, it.header.size)
            kept.update(record.value for record in records.decode(batch))
    assert len(found) > 30
    assert {*found.values()} == {1}
    assert skipped and {*skipped} <= {*found}, "what was aborted was written again"


def test_the_film_of_the_wire_has_the_markers(recorded):
    """Routine is left out of it, and nothing that comes once."""
    view = recorded.view("transactions", "WireView")
    for width in (film.WIDTHS[0], film.WIDTHS[-1]):
        view.fit(width)
        way, seen = walk(view), set()
        for place in range(len(way.times)):
            way.go(place)
            seen |= {words for words in texts(view) if words.startswith("WriteTxnMarkers")}
        assert len(way.times) <= 102
        assert {"abort", "commit"} <= {words.split(" · ")[1] for words in seen}


def test_a_commit_flushes_the_producer(recorded):
    view = recorded.view("transactions", "AccumulatorView")
    recorded.turn(view, 1)
    moment = view.view_state().moment
    assert moment.closed_by(Cause.FLUSH) > 10
    assert not moment.open
    assert "acknowledged, 0 failed" in view.about
    assert len(film.shoot(view).film["frames"]) > 40


# -- on call --------------------------------------------------------------------------------------


def throttles(state) -> set[tuple[str, int]]:
    """Who waits, and on which broker."""
    brokers = state.brokers.items()
    return {(it["client"], at) for at, each in brokers for it in each.quotas if it["throttle_ms"]}


def test_the_noisy_one_waits_and_the_shop_does_not(recorded):
    run = recorded.load("oncall")
    waits = set().union(*map(throttles, run))
    before, after = (it.replicas for it in clicks(run))
    assert waits == {("noisy", *before), ("noisy", *after)}
    view = recorded.view("oncall", "ThrottleGauge")
    recorded.turn(view, 0)
    assert view.about.startswith("no client")
    seen = [(it.at, throttles(it)) for it in run if throttles(it)]
    for at, who in (seen[0], seen[-1]):
        view.do("goto", at)
        assert {(it.name, it.broker) for it in view.clients if it.throttle_ms} == who
        assert re.search(r"noisy sends .* of 50 KB/s on broker \d, waits [\d,]+ ms", labels(view))
        assert re.search(r"shop sends .* of 50 KB/s on broker \d, does not wait", labels(view))


def clicks(recording):
    """The partition before it moves, and behind."""
    found = [it.partitions.get(TopicPartition("clicks", 0)) for it in recording]
    return next(it for it in found if it), found[-1]


def test_the_board_has_an_alarm_and_rests_again(recorded):
    view = recorded.view("oncall", "OperatorBoard")
    under = [it.under_replicated for it in view.history.samples]
    (killed,) = [it.at for it in recorded.load("oncall").events() if it.kind == "broker.killed"]
    view.do("goto", killed + 1000)
    assert view.about == "1 partition without a leader"
    assert max(under) >= 3
    view.do(
        "seek",
        (view.history.samples[under.index(max(under))].at - view.run_source.start)
        / (view.run_source.end - view.run_source.start),
    )
    assert f"{max(under)} partitions under-replicated" in view.about
    recorded.turn(view, 1)
    assert under[-1] == 0
    assert view.about == "all partitions have all their replicas"
    last = view.history.samples[-1]
    assert last.requests["PRODUCE"][0] > 100, "they were counted"
    assert last.records["clicks"] > last.records["orders"] > 100


def test_what_happened_on_call_is_told(recorded):
    view = recorded.view("oncall", "ClusterView")
    recorded.turn(view, 1)
    told = " ".join(line.words for line in view.run_source.story.lines)
    for words in (
        r"broker (\d) killed \(SIGKILL\).*broker \1 is registered",
        r"zookeeper-(\d) killed \(SIGKILL\).*zookeeper-(?!\1)\d leads the ensemble, epoch 2.*"
        r"zookeeper-\1 started",
        r"partition moves: clicks-0 from (\d) to (\d).*the move is done: clicks-0 is on \2",
    ):
        assert re.search(words, told), words
    assert "the move is done" in " ".join(texts(view))


def test_the_move_is_throttled_and_seen(recorded):
    run = recorded.load("oncall")
    before, after = clicks(run)
    (to,) = after.assignment
    assert before.leader != after.leader == to
    began, done = [it.at for it in run.events() if it.kind.startswith("reassignment.")]
    copied = run.at(done).partitions[TopicPartition("clicks", 0)].replicas[to].size
    assert copied > 500_000
    assert copied / (done - began) < 2 * 250, "bytes in a ms, of which the first second is free"
    view = recorded.view("oncall", "ReplicaView")
    view.do("goto", (began + done) // 2)
    assert re.search(rf"broker {to} · out of sync · LEO", " ".join(texts(view)))
    recorded.turn(view, 1)
    assert f"broker {to} leads · ISR {to}" in view.about


def test_zookeeper_has_the_quota_the_dead_broker_and_the_throttle(recorded):
    view = recorded.view("oncall", "ZooKeeperTree")
    seen: dict[str, list[bool]] = {}
    events = recorded.load("oncall").events()
    (dead,) = [it.data["broker"] for it in events if it.kind == "broker.killed"]
    for number in range(view.history.last + 1):
        view.do("step_to", number)
        nodes = view.view_state().tree.nodes
        throttled = any(
            "throttled.rate" in (it.data or "")
            for path, it in nodes.items()
            if path.startswith("/config/brokers/")
        )
        quota = "/config/clients/noisy" in nodes
        facts = {"quota": quota, "alive": f"/brokers/ids/{dead}" in nodes, "throttle": throttled}
        for name, fact in facts.items():
            told = seen.setdefault(name, [])
            told += [fact] if told[-1:] != [fact] else []
    assert seen == {
        "quota": [False, True],
        "alive": [True, False, True],
        "throttle": [False, True, False],
    }
