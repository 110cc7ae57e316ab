"""The quorum of a real cluster in QuorumView: what its controllers tell becomes a film."""

import pytest

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.recording import Recording
from engine.cluster.state import BrokerState, ClusterState, ControllerState, Status
from engine.errors import ApiException
from widgets import MetadataLogView, QuorumView

T = 1_700_000_000_000
VOTERS = 101, 102, 103


def node(status=Status.UP, role="follower", epoch=1, leader=101, **more):
    up = status is Status.UP
    log = {"log_end": 9, "high_watermark": 9, "epochs": ((1, 0),)} | more
    return ControllerState(status, up, 1, 1, role, epoch, leader, voters=VOTERS, **log)


def state(at, *controllers, **more):
    nodes = dict(zip(VOTERS, controllers, strict=True))
    brokers = {1: BrokerState(Status.UP, True, 1, 1)}
    return ClusterState(T + at, 101, brokers, {}, controllers=nodes, **more)


LEADS = node(role="leader", observers=((1, 8),), due=T + 3000)
DEAD = node(Status.DOWN, "leader")
STATES = [
    state(0, LEADS, node(due=T + 2000), node()),
    state(1000, DEAD, node(due=T + 2000), node()),
    state(3000, DEAD, node(epoch=2, leader=102, role="leader", voted=102),
          node(epoch=2, leader=102, voted=102, log_end=8)),
]  # fmt: skip


def event(at, kind, broker=None, **data):
    return ClusterEvent(kind, T + at, broker, data, event.number)


def numbered(*events):
    return [each._replace(number=number) for number, each in enumerate(events, 1)]


event.number = 0
EVENTS = numbered(
    event(900, "controller.killed", controller=101),
    event(2000, "quorum.state", 102, state="candidate", epoch=2, leader=-1, voted=102),
    event(2000, "vote.asked", 102, voter=101, epoch=2, end=9, last_epoch=1),
    event(2001, "vote.asked", 102, voter=103, epoch=2, end=9, last_epoch=1),
    event(2020, "vote.answered", 103, candidate=102, epoch=2, granted=True),
    event(2030, "quorum.state", 102, state="leader", epoch=2, leader=102, voted=102),
)


@pytest.fixture
def recording():
    return Recording(STATES, EVENTS)


@pytest.fixture
def view(recording):
    view = QuorumView(recording)
    view.fit(960)
    yield view
    view.close()


def label(view, id):
    return view.picture[f"node {id}"].label


def test_who_leads_and_how_far_each_is_voters_and_brokers(view):
    view.do("begin")
    assert view.about == "epoch 1 · 101 leads · committed up to offset 9"
    assert label(view, 101) == "controller-1: leader, epoch 1 · leads it, log up to offset 9"
    assert label(view, 1) == "broker 1: follower, epoch 1 · leader 101, log up to offset 8"
    waits = [shape.content for shape in view.picture.all() if shape.key == "due"]
    assert waits == ["resigns in 3,000 ms", "stands for election in 2,000 ms"]


def test_an_election_is_told_by_the_controllers_to_the_ms(view):
    kinds = [(it.at, it.kind, it.nodes) for it in view.film.events]
    assert kinds[:4] == [
        (900, "kill", (101,)),
        (2000, "candidate", (102,)),
        (2030, "leader", (102,)),
        (3000, "follower", (103,)),
    ]
    votes = [(it.source, it.target, it.sent, it.came) for it in view.film.messages]
    assert votes == [(102, 101, 2000, None), (102, 103, 2001, 2020), (103, 102, 2020, 2021)]
    view.follow(T + 2010)
    assert label(view, 102).startswith("controller-2: candidate, epoch 2 · voted for itself")


def test_a_request_that_a_dead_voter_never_answers_is_lost(view):
    crosses = [shape for shape in view.picture.all() if shape.content == "×"]
    assert len(crosses) == 1


def test_a_run_that_is_over_offers_no_faults(view):
    assert not any(shape.acts for shape in view.picture.all() if shape.key.startswith("node"))
    assert "wait" not in {control["act"] for control in view.controls}


def test_controllers_that_start_later_have_lanes_too():
    """In a migration from ZooKeeper there are none at first."""
    none = ClusterState(T - 1000, 1, {}, {})
    view = QuorumView(Recording([none, *STATES], EVENTS))
    assert view.view_state().laned == [*VOTERS]
    assert "leader" in {event.kind for event in view.film.events}
    view.do("begin")
    assert label(view, 101) == "controller-1: down, epoch 0 · on its disk, log up to offset 0"
    view.close()


def test_a_cluster_with_zookeeper_has_no_quorum():
    with pytest.raises(ApiException, match="no controllers here"):
        QuorumView(Recording([ClusterState(T, 1, {}, {})], []))


def test_all_views_of_a_run_have_one_clock(view, recording):
    log = MetadataLogView(recording)
    view.do("seek", 0.5)
    assert log.head == T + 1500
    log.follow(None)
    log.do("seek", 0.5)
    assert view.head == 1500
    view.do("live")
    assert log.head is None
    log.close()
