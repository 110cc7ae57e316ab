"""A run is written as it changes, and read again as it was."""

import gzip
import json
import threading
from dataclasses import replace

import pytest

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.recording import Recorder, Recording
from engine.cluster.state import LinkState, Status, ZookeeperState
from engine.cluster.state_merger import ProcessState, StateMerger
from engine.model import TopicPartition
from tests.unit.cluster.reports import group, row, state, transaction


class Story:
    """A cluster that goes one step on each time that it is looked at, until it stands still."""

    def __init__(self):
        self.states, self.happened = [], [ClusterEvent("broker.started", 0, None, {"broker": 1}, 1)]
        self.told = threading.Event()
        view, up = StateMerger(), ProcessState(Status.UP, 101, 9001)
        for step in range(30):
            if step == 10:
                view.update(1, 1, state(gone=[["orders", 0]], at=step))
            elif step == 20:
                up = ProcessState(Status.DOWN, 101, 9001)
            if step < 10:
                others = [(2, step, -1)]
                rows = [row(0, "leader", 1, end=step, others=others, stable=step // 2)]
                if step == 0:
                    rows.append(row(1, "follower", 2))
                view.update(1, 1, state(*rows, at=step))
            elif step < 20:
                view.update(1, 1, state(at=step, active=step > 15))
            if step in (5, 12):  # somebody comes into the group
                members = [(each, ["orders-0"]) for each in ("a", "b")[: step // 5]]
                view.update(1, 1, state(groups=[group("g", *members, offsets={"orders-0": step})]))
                tills = [transaction(each, "orders-0") for each in ("a", "b")[: step // 5]]
                view.update(1, 1, state(transactions=tills))
            elif step == 19:
                view.update(1, 1, state(groups=[], transactions=[]))
            links = [LinkState("1", "zookeeper", True)] if step > 25 else []
            new = view.snapshot(100 + step, {1: up}, links)
            role = "leader" if step < 15 else "dead"
            server = ZookeeperState(role, (1 << 32) + step // 5, (1,) * (step > 3), 1, 77, 4001)
            self.states.append(replace(new, zookeepers={1: server}))
        self._next = iter(self.states)

    def state(self):
        found = next(self._next, None)
        if found is None:
            self.told.set()
        return found or self.states[-1]

    def events(self, after):
        return [each for each in self.happened if each.number > after]


def record(path, monkeypatch):
    story = Story()
    monkeypatch.setattr("engine.cluster.recording.INTERVAL", 0.001)
    with Recorder(path, story.state, story.events):
        assert story.told.wait(20)
        story.happened.append(ClusterEvent("broker.killed", 107, None, {"broker": 1}, 2))
    return story


def without_clocks(seen):
    brokers = {n: (b.status, b.answers, b.active, b.epoch) for n, b in seen.brokers.items()}
    led = dict(seen.groups), dict(seen.transactions)
    return seen.controller, brokers, dict(seen.partitions), seen.links, led


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_every_state_is_as_it_was(tmp_path, monkeypatch, name):
    story = record(tmp_path / name, monkeypatch)
    recording = Recording.load(tmp_path / name)
    for wanted in story.states:
        assert without_clocks(recording.at(wanted.at)) == without_clocks(wanted), wanted.at
    assert (recording.start, recording.end) == (100, 129)
    assert recording.at(0) == recording.at(100)
    assert recording.at(9999) == list(recording)[-1]
    orders = TopicPartition("orders", 0)
    ends = [each.partitions[orders].replicas[1].log_end for each in recording if each.at < 110]
    assert ends == list(range(10))
    groups = {step: recording.at(100 + step).groups for step in (4, 5, 12, 19)}
    assert {step: [*found] for step, found in groups.items()} == {
        4: [],
        5: ["g"],
        12: ["g"],
        19: [],
    }
    assert groups[12]["g"].members["b"].share == ("orders-0",)
    assert [len(recording.at(100 + step).transactions) for step in (4, 5, 12, 19)] == [0, 1, 2, 0]


def test_events_are_there_once(tmp_path, monkeypatch):
    story = record(tmp_path / "run", monkeypatch)
    recording = Recording.load(tmp_path / "run")
    assert recording.events() == story.happened
    assert recording.events(after=1) == story.happened[1:]


def test_nothing_is_written_while_nothing_changes(tmp_path, monkeypatch):
    record(tmp_path / "run", monkeypatch)
    lines = [json.loads(line) for line in (tmp_path / "run").read_text().splitlines()]
    times = [line["t"] for line in lines]
    assert [*range(100, 111), 112, 115, 116, 119, 120, 125, 126, 129] == times
    told = [line["t"] for line in lines if "orders-1" in line.get("partitions", {})]
    assert told == [100, 120]  # when it came, and when its broker went


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path, monkeypatch, name):
    record(tmp_path / name, monkeypatch)
    whole = (tmp_path / name).read_bytes()
    cut = tmp_path / f"cut-{name}"
    if name.endswith(".gz"):
        cut.write_bytes(gzip.compress(gzip.decompress(whole)[:-10])[:-20])
    else:
        cut.write_bytes(whole[:-10])
    recording = Recording.load(cut)
    assert 0 < len(recording) < len(Recording.load(tmp_path / name))
    assert recording.start == 100


def test_an_error_on_the_way_is_reported_at_the_end(tmp_path):
    answers = iter([[]])

    def broken(after):
        for answer in answers:
            return answer
        raise OSError("no space left")

    recorder = Recorder(tmp_path / "run", Story().state, broken)
    with pytest.raises(OSError, match="no space left"):
        recorder.stop()
    recorder.stop()


def test_the_state_at_the_beginning_is_there_before_anything_can_happen(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.cluster.recording.INTERVAL", 60)
    story = Story()
    with Recorder(tmp_path / "run", story.state, story.events):
        story.state()  # something happens, faster than the recorder looks
    assert [state.at for state in Recording.load(tmp_path / "run")] == [100, 102]


def test_a_recording_that_cannot_begin_says_so_at_once(tmp_path):
    def broken(after):
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        Recorder(tmp_path / "run", Story().state, broken)


def test_tracks_are_reported_with_their_times_and_only_when_there_is_something_new(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("engine.cluster.recording.INTERVAL", 0.001)
    news = iter([{"a": 1}, None, None, {"b": [2]}])
    story = Story()
    tracks = {"letters": lambda: next(news, None), "silence": lambda: None}
    with Recorder(tmp_path / "run", story.state, story.events, tracks):
        assert story.told.wait(20)
    recording = Recording.load(tmp_path / "run")
    assert recording.track("letters") == [(100, {"a": 1}), (103, {"b": [2]})]
    assert recording.track("silence") == recording.track("nobody's") == []
    assert "silence" not in (tmp_path / "run").read_text()
