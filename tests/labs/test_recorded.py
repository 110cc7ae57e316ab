"""The recordings: every view that a run names plays it, and shows what really happened.

Nothing may be started to play one: no process, no connection.
"""

import gzip
import importlib
import json
import re
import socket
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

from engine.model import TopicPartition
from tests.labs.reader import LABS

RUNS = ("failover", "unclean", "transactions", "oncall", "storm", "migration")
UNWIRED = ("oncall", "migration")  # without the messages on the wire
WIRED = tuple(name for name in RUNS if name not in UNWIRED)
FILMS = {"ClusterView", "ReplicaView", "GroupView", "OperatorBoard", "ThrottleGauge"}
FILMS |= {"MetadataLogView"}
FAULTS = {"kill", "resume", "restart", "cut", "slow", "heal", "add_broker"}
DEEDS = {"add", "stop", "freeze", "thaw", "add_partitions", "strategy", "trace", "fork"}
MOST = 150_000, 300_000  # bytes of a recording, and of a picture
HOME = re.compile(rb"(?<![\w.-])/(?:root|work|home|Users|tmp|var|private|opt)/")
ADDRESS = re.compile(rb"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")


@pytest.fixture(scope="module")
def recorded(labs_can_be_imported: None) -> ModuleType:
    return importlib.import_module("recorded")


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """By the test or by what it starts. Older threads belong to the clusters of other tests: their
    clients connect again whenever a connection was lost."""
    others = {*threading.enumerate()} - {threading.current_thread()}

    def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*facts: Any, **more: Any) -> Any:
            if threading.current_thread() in others:
                return real(*facts, **more)
            raise AssertionError(f"to play a recording, nothing is started: {facts}")

        return call

    if "makes_one" not in request.node.name:
        monkeypatch.setattr(subprocess, "Popen", refusing(subprocess.Popen))
        monkeypatch.setattr(socket.socket, "connect", refusing(socket.socket.connect))


@pytest.fixture(scope="module")
def older() -> Iterator[ThreadPoolExecutor]:
    """A thread that was there before the test."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(threading.get_ident).result()
        yield pool


def test_an_older_thread_connects_and_no_other_one(older: ThreadPoolExecutor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def connect() -> None:
            with socket.socket() as client:
                client.connect(server.getsockname())

        older.submit(connect).result()
        with pytest.raises(AssertionError, match="nothing is started"):
            connect()
        with ThreadPoolExecutor(1) as newer:
            asked = newer.submit(connect)
        assert isinstance(asked.exception(), AssertionError)


def views(names: tuple[str, ...] = RUNS) -> list[tuple[str, str]]:
    """Every view that plays a run; read without importing, for a test is named by it."""
    sys.path.insert(0, str(LABS))
    try:
        runs = importlib.import_module("recorded").RUNS
    finally:
        sys.path.remove(str(LABS))
    return [(name, kind) for name in names for kind in runs[name].views]


def acts(view) -> set[str]:
    shapes = {act.name for shape in view.picture.all() for act in shape.acts}
    return shapes | {control["act"] for control in view.controls}


def labels(view) -> str:
    return " | ".join(shape.label for shape in view.picture.all() if shape.label)


def texts(view) -> list[str]:
    return [shape.content for shape in view.picture.all() if shape.kind == "text"]


# -- every view, every run ------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), views())
def test_a_view_goes_through_a_run(recorded, name, kind):
    view = recorded.view(name, kind)
    seen = []
    for share in (0, 0.5, 1, 0.25, 0):
        recorded.turn(view, share)
        assert view.trouble == ""
        assert not acts(view) & (FAULTS | DEEDS)
        assert kind == "WireView" or "pause" not in acts(view)  # there it means: stay here
        seen.append(view.scene)
    assert len(set(seen)) == 4
    assert seen[0] == seen[-1], "back at the beginning all is as it was"
    if kind not in ("SegmentView", "HexView"):  # they follow their files
        assert not view.poll(), "a run that is over brings nothing new"
    view.close()


@pytest.mark.parametrize("name", RUNS)
def test_what_plays_moves_by_itself(recorded, name):
    for kind in set(recorded.RUNS[name].views) & FILMS:
        view = recorded.view(name, kind)
        view.do("begin")
        view.do("play")
        view.advance(100.0)
        began = view.scene
        view.advance(107.0)
        assert view.head == pytest.approx(view.run_source.start + 7100, abs=200)
        assert view.scene != began
        view.close()


def test_an_unknown_run_or_view_is_named(recorded):
    with pytest.raises(KeyError, match=f"there are {', '.join(RUNS)}"):
        recorded.load("flood")
    with pytest.raises(KeyError, match="no run 'flood'"):
        recorded.view("flood")
    with pytest.raises(KeyError, match="no view 'Cinema'"):
        recorded.view("storm", "Cinema")


# -- what happened --------------------------------------------------------------------------------


def leaders(recording) -> list[int]:
    """One after the other; -1: nobody that serves."""
    found = []
    for state in recording:
        told = state.partitions.get(TopicPartition("orders", 0))
        if told is not None:
            serves = told.leader >= 0 and state.brokers[told.leader].status.value == "up"
            leader = told.leader if serves else -1
            found += [leader] if found[-1:] != [leader] else []
    return found


def test_in_a_failover_another_one_leads(recorded):
    first, nobody, second = leaders(recorded.load("failover"))
    assert nobody == -1
    assert first != second
    view = recorded.view("failover", "ClusterView")
    recorded.turn(view, 0.25)
    assert f"broker {first}: up, leads 1" in labels(view)
    recorded.turn(view, 1)
    assert f"broker {first}: up, leads 0" in labels(view)
    assert f"broker {second}: up, leads 1" in labels(view)
    assert "Lost: nothing committed." in " ".join(texts(view))
    view = recorded.view("failover", "ReplicaView")
    recorded.turn(view, 0.25)
    assert f"broker {first} leads" in view.about
    recorded.turn(view, 1)
    assert f"broker {second} leads · ISR 1 2 3" in view.about


def test_in_a_failover_zookeeper_names_the_next(recorded):
    view = recorded.view("failover", "ZooKeeperTree")
    first, _, second = leaders(recorded.load("failover"))
    state = "/brokers/topics/orders/partitions/0/state"

    def leader() -> int:
        return json.loads(view.view_state().tree.nodes[state].data)["leader"]

    recorded.turn(view, 0.25)
    assert leader() == first
    recorded.turn(view, 1)
    assert leader() == second
    sessions = [texts(view)]
    recorded.turn(view, 0.6)
    assert "no session" in texts(view)
    assert "no session" not in sessions[0]


def test_in_a_failover_the_killed_one_catches_up(recorded):
    run = recorded.load("failover")
    view = recorded.view("failover", "SegmentView")
    ends = []
    for share in (0, 0.2, 1):
        recorded.turn(view, share)
        ends.append(int(view.facts.rpartition(" to ")[2]))
    state = run.at(run.end).partitions[TopicPartition("orders", 0)]
    assert ends[0] < ends[1] < ends[2] == min(it.log_end for it in state.replicas.values())


def test_in_an_unclean_election_committed_records_are_lost(recorded):
    run = recorded.load("unclean")
    (cut,) = [it.data for it in run.events() if it.kind == "log.truncated"]
    lost = cut["was"] - cut["end_offset"]
    assert lost > 5
    view = recorded.view("unclean", "ClusterView")
    recorded.turn(view, 1)
    assert f"{lost} COMMITTED" in " ".join(texts(view))
    view = recorded.view("unclean", "HexView")
    recorded.turn(view, 0)  # when the file was empty: the place in it is kept
    recorded.turn(view, 0.5)
    before = view.page.data
    assert view.page.position > 500
    recorded.turn(view, 1)
    assert before
    assert view.page.data != before, "at the same offset stands another record"


def test_in_a_storm_the_group_never_rests(recorded):
    view = recorded.view("storm", "GroupView")
    seen, heights = {}, set()
    for share in (0, 0.3, 1):
        recorded.turn(view, share)
        seen[share] = view.view_state()
        heights.add(view.picture.height)
    assert len(heights) == 1, "what stands below it on a page does not jump"
    assert [len(it.history.rounds) for it in seen.values()] == sorted(
        {len(it.history.rounds) for it in seen.values()}
    )
    assert len(seen[1].history.rounds) >= 8
    assert {mark.deed for mark in seen[1].marks} == {"stop", "freeze", "thaw", "kill"}
    assert not seen[0].marks
    assert dict(seen[1].statuses) == {"c1": "leaving", "c2": "reading", "c3": "killed"}
    assert "consumer c1: stopped, has nothing" in labels(view)
    assert len(seen[1].history.present) == 4, "the recording ends before they leave"
    read = [spell for spell in seen[1].history.spells if spell.end is None]
    assert len(read) == 6, "each partition has an owner"


def test_who_was_frozen_is_shown_so(recorded):
    view = recorded.view("storm", "GroupView")
    (frozen,) = [it.at for it in view.view_state().marks if it.deed == "freeze"]
    view.do("goto", frozen + 500)
    assert "consumer c2: frozen" in labels(view)
    assert "unread orders" in " ".join(view.picture.by_key)


@pytest.mark.parametrize("name", WIRED)
def test_messages_come_with_their_bytes(recorded, name):
    view = recorded.view(name, "WireView")
    recorded.turn(view, 0.5)
    exchange = next(row.arrow.exchange for row in view.view_state().rows if row.arrow.exchange)
    assert exchange.asked and exchange.answered
    view.do("read", view.view_state().rows[0].arrow.key)
    assert view.trouble == ""


# -- what a file holds ----------------------------------------------------------------------------


def packed_in(line: bytes) -> Iterator[str]:
    """Messages, and what was added to files."""
    told = json.loads(line)
    for event in told.get("events", ()):
        yield from (event[3][name] for name in ("asked", "answered") if name in event[3])
    for change in told.get("tracks", {}).get("files", {}).get("files", ()):
        yield from change[4:]


@pytest.mark.parametrize("name", RUNS)
def test_a_recording_is_small_and_holds_nothing_of_its_machine(recorded, name):
    packed = recorded.path(name).read_bytes()
    assert len(packed) < MOST[0]
    assert packed[3:8] == bytes(5), "no file name and no time in the head"
    plain = gzip.decompress(packed)
    inside = [b64decode(text) for line in plain.splitlines() for text in packed_in(line)]
    assert (name in WIRED) == any(b"127.0.0.1" in told for told in inside), "of metadata"
    for told in (plain, *inside):
        assert not HOME.search(told)
        assert {*ADDRESS.findall(told)} <= {b"127.0.0.1"}


@pytest.mark.parametrize("name", RUNS)
def test_time_goes_on_and_not_for_long(recorded, name):
    run = recorded.load(name)
    assert 15_000 < run.end - run.start < 90_000
    assert all(one.at < other.at for one, other in pairwise(run))


# -- the picture that moves -----------------------------------------------------------------------


def test_the_picture_is_what_the_recording_makes(recorded):
    pictures = importlib.import_module("docs.site.failover_picture.draw").drawn()
    assert {path.name for path in pictures} == {"failover-light.svg", "failover-dark.svg"}
    for path, drawn in pictures.items():
        assert path.read_bytes() == drawn.encode(), (
            f"{path.name} is of another recording: "
            "PYTHONPATH=labs python -m docs.site.failover_picture.draw"
        )


def test_the_picture_needs_nothing_else(recorded):
    for path in importlib.import_module("docs.site.failover_picture.draw").drawn():
        picture = path.read_text(encoding="utf-8")
        assert len(picture) < MOST[1]
        tree = ET.fromstring(picture)
        tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert tags <= {"svg", "title", "style", "rect", "circle", "path", "text", "g"}
        names = {name for element in tree.iter() for name in element.attrib}
        assert not [name for name in names if name.startswith("on") or "href" in name]
        assert "url(" not in picture and "@import" not in picture
        assert picture.count("http") == 1, "only the name of SVG itself"
        assert "prefers-reduced-motion" in picture


# -- how a recording is made ----------------------------------------------------------------------


def test_a_run_that_fails_leaves_the_file_as_it_was(recorded, monkeypatch):
    record = importlib.import_module("recorded.record")
    before = recorded.path("failover").read_bytes()

    def breaks(path) -> None:
        path.write_text("half of it")
        raise OSError("no space left")

    monkeypatch.setattr(importlib.import_module("recorded.failover"), "play", breaks)
    with pytest.raises(OSError, match="no space left"):
        record.record("failover")
    assert recorded.path("failover").read_bytes() == before


def committed(state) -> int:
    return state.groups["billing"].offsets.get("orders-0", 0) if "billing" in state.groups else 0


@pytest.mark.long
def test_a_stand_makes_one(recorded, tmp_path):
    stand = importlib.import_module("recorded.stand")
    until = importlib.import_module("lab").until
    with stand.Stand(tmp_path / "run.jsonl", files=["orders-0"], znodes=True) as it:
        it.topic("orders", [[1, 2]])
        it.write(50)
        it.read("billing")
        until("some to be read", lambda: committed(it.states()) > 5)
        it.end()
    run = recorded.Recording.load(tmp_path / "run.jsonl")
    state = run.at(run.end)
    assert committed(state) > 5
    assert all(broker.status.value == "up" for broker in state.brokers.values())
    assert run.track("files") and run.track("znodes")
    assert [it for it in run.events() if it.kind == "request"]


# -- the migration --------------------------------------------------------------------------------


def test_a_migration_goes_through_its_phases(recorded):
    changes = importlib.import_module("kraft.migration").changes(recorded.load("migration"))
    told = [what for _, _, what in changes]
    states = [it.partition(": ")[2] for it in told if it.startswith("ZkMigrationState")]
    assert states == ["PRE_MIGRATION", "MIGRATION", "POST_MIGRATION"]
    gone = [it for it in told if it.startswith("/brokers/ids/") and it.endswith("deleted")]
    assert gone == [f"/brokers/ids/{broker} deleted" for broker in (1, 2, 3)]
    assert told.index("ZkMigrationState: MIGRATION") < told.index(gone[0])
    assert told.index(gone[-1]) < told.index("ZkMigrationState: POST_MIGRATION")


def test_in_a_migration_a_topic_is_written_to_both_until_the_end(recorded):
    run = recorded.load("migration")
    written = importlib.import_module("kraft.migration").written
    assert written(run, "teas") == written(run, "pots") == ["log", "tree"]
    assert written(run, "cups") == ["log"]


def test_in_a_migration_another_controller_takes_over_the_tree(recorded):
    view = recorded.view("migration", "ZooKeeperTree")
    owners = []
    for change in view.history.steps:
        view.do("step_to", change.number)
        owner = view.view_state().tree.controller
        owners += [owner] if owner not in (-1, *owners[-1:]) else []
    broker, first, second = owners
    assert broker in (1, 2, 3)
    assert {first, second} < {101, 102, 103}
    assert f"♛controller-{second - 100}, of KRaft" in "".join(texts(view))
    view.close()
