"""Who is controller: the first one, the next one, and one that slept through it."""

import pytest

from engine.controller.events import ControlledShutdown, ElectLeaders, Rebalance
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.update_metadata import UpdateMetadataRequest
from engine.zookeeper import znodes
from engine.zookeeper.requests import Changed, Create, Delete, Multi, Refused, Set
from tests.unit.controller.cluster import Cluster

T0 = TopicPartition("t", 0)


def epoch(cluster):
    return znodes.decode_epoch(cluster.get(znodes.CONTROLLER_EPOCH))


def test_the_first_one_is_it_and_the_others_know():
    cluster = Cluster(1, 2, 3)
    assert [each.active for each in cluster.controllers.values()] == [True, False, False]
    assert {each.leader_id for each in cluster.controllers.values()} == {1}
    assert epoch(cluster) == cluster.controller.epoch == 1
    assert cluster.happened("controller.elected") == [{"broker": 1, "epoch": 1}]


def test_the_node_and_the_epoch_are_written_together():
    cluster = Cluster(1)
    (campaign,) = [ask for _, ask in cluster.asked if isinstance(ask, Multi)][:1]
    assert [type(write) for write in campaign.writes] == [Create, Set]
    assert [write.path for write in campaign.writes] == [
        znodes.CONTROLLER,
        znodes.CONTROLLER_EPOCH,
    ]


def test_when_it_dies_the_next_one_has_the_next_epoch():
    cluster = Cluster(1, 2, 3)
    for dead, heir in ((1, 2), (2, 3)):
        cluster.kill(dead)
        cluster.run()
        assert cluster.controller.broker_id == heir
    assert epoch(cluster) == cluster.controller.epoch == 3


def test_a_lost_answer_to_the_campaign_is_recognised_as_our_own():
    """The connection broke after the transaction was done: the same question meets its own work."""
    cluster = Cluster(1)
    cluster.kill(1)
    done = []

    def twice(broker, ask):
        if isinstance(ask, Multi) and ask.writes[0].path == znodes.CONTROLLER and not done:
            done.append(cluster.zookeeper.answer(cluster.sessions[broker], ask))

    cluster.before = twice
    cluster.start(2)
    cluster.run()
    assert done and not isinstance(done[0], Refused)
    assert (cluster.controller.broker_id, cluster.controller.epoch) == (2, 2)


def test_our_node_of_an_earlier_life_is_not_ours():
    cluster = Cluster(1, 2)
    old = cluster.sessions.pop(1)  # not closed yet: ZooKeeper still waits for it
    cluster.put(Delete(znodes.broker_path(1)))
    cluster.start(1)
    cluster.run()
    assert cluster.controllers[1].leader_id == 1
    assert not cluster.controllers[1].active
    old.close()
    cluster.run()
    assert cluster.controller.epoch == 2


@pytest.mark.parametrize("sleeps_through", ["nothing is noticed", "told while at work"])
def test_one_that_slept_through_its_successor_writes_nothing(sleeps_through):
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[3, 2, 1]])
    zombie = cluster.controllers[1]
    cluster.losing = {1}
    queue = cluster.queues.pop(1)  # stopped: what it is told waits
    cluster.put(Delete(znodes.CONTROLLER))
    cluster.run()
    assert cluster.controllers[2].active and zombie.active
    cluster.kill(3)
    cluster.run()
    state = cluster.state(T0)
    assert state.controller_epoch == 2

    cluster.queues[1] = queue
    event = Changed(znodes.BROKER_IDS) if sleeps_through == "told while at work" else Rebalance()
    queue.appendleft(event)
    queue.appendleft(Changed(znodes.BROKER_IDS))
    cluster.run()
    assert not zombie.active
    assert cluster.happened("controller.resigned") == [{"epoch": 1, "reason": "superseded"}]
    assert cluster.state(T0) == state
    assert {each.leader_id for each in cluster.controllers.values()} == {2}


def test_a_write_that_is_refused_is_how_it_learns():
    cluster = Cluster(1, 2, 3)
    zombie, asleep = cluster.controllers[1], cluster.queues.pop(1)
    cluster.put(Delete(znodes.CONTROLLER))
    cluster.run()
    assert cluster.controllers[2].active
    successor = cluster.queues.pop(2)  # which does nothing, so that no state tells of it
    cluster.create("t", [[3, 2]])
    cluster.queues[1] = asleep
    asleep.clear()
    asleep.append(Changed(znodes.TOPICS))
    cluster.run()
    assert not zombie.active
    assert zombie.leader_id == 2
    assert cluster.lead() == {T0: None}
    cluster.queues[2] = successor
    cluster.run()
    assert cluster.lead() == {T0: (3, (3, 2))}


def test_every_write_in_office_names_the_epoch():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[1, 2, 3], [2, 3, 1]])
    cluster.kill(2)
    cluster.run()
    cluster.delete("t")
    start = next(n for n, (_, ask) in enumerate(cluster.asked) if isinstance(ask, Multi)) + 1
    writes = [
        ask for _, ask in cluster.asked[start:] if isinstance(ask, Multi | Create | Set | Delete)
    ]
    assert len(writes) > 5
    assert all(write.writes[0].path == znodes.CONTROLLER_EPOCH for write in writes)


def test_a_state_of_a_future_controller_is_not_written():
    cluster = Cluster(1, 2)
    cluster.create("t", [[2, 1]])
    cluster.create("s", [[2, 1]])
    newer = cluster.state(T0)._replace(controller_epoch=9)
    cluster.put(Set(znodes.state_path(T0), newer.encode()))
    cluster.kill(2)
    cluster.run()
    assert cluster.controllers[1].active
    assert cluster.state(T0) == newer
    assert cluster.state(TopicPartition("s", 0)).leader == 1
    (told,) = cluster.happened("znode.unreadable")
    assert (told["path"], told["why"]) == (
        znodes.state_path(T0),
        "controller epoch 9 is in the future",
    )

    cluster.put(Set(znodes.state_path(T0), newer._replace(controller_epoch=1).encode()))
    cluster.run()
    assert cluster.state(T0).leader == 1


@pytest.mark.parametrize("data", [b"0", b"50"])
def test_a_controller_whose_epoch_somebody_else_has_written_takes_a_higher_one(data):
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[2, 1]])
    cluster.put(Set(znodes.CONTROLLER_EPOCH, data))
    cluster.kill(2)
    cluster.run()
    assert cluster.controller.epoch == max(int(data), 1) + 1
    assert cluster.state(T0).leader == 1


def test_an_epoch_that_cannot_be_read_is_waited_for():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[2, 1]])
    cluster.put(Set(znodes.CONTROLLER_EPOCH, b"none"))
    cluster.kill(2)
    cluster.run()
    assert not any(each.active for each in cluster.controllers.values())
    assert cluster.happened("znode.unreadable")[0]["path"] == znodes.CONTROLLER_EPOCH
    cluster.put(Set(znodes.CONTROLLER_EPOCH, b"7"))
    cluster.run()
    assert cluster.controller.epoch == 8
    assert cluster.state(T0).leader == 1


@pytest.mark.parametrize("data", [b"", b"{", b'{"brokerid":"1"}'])
def test_a_controller_that_nobody_can_read_is_still_the_controller(data):
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[2, 1]])
    cluster.put(Set(znodes.CONTROLLER, data))
    cluster.run()
    assert [each.active for each in cluster.controllers.values()] == [True, False, False]
    cluster.kill(2)
    cluster.run()
    assert cluster.state(T0).leader == 1
    assert len(cluster.happened("znode.unreadable")) == 3  # each broker tells it once
    cluster.kill(1)
    cluster.run()
    assert cluster.controller.broker_id == 3


def test_a_session_that_is_over_ends_the_term_at_once():
    cluster = Cluster(1, 2)
    controller = cluster.controllers[1]
    controller.outbox.append("something")
    controller.expired()
    assert (controller.active, controller.leader_id, controller.epoch) == (False, -1, -1)
    assert controller.outbox == [] and controller.brokers == {}
    assert cluster.happened("controller.resigned") == [{"epoch": 1, "reason": "session expired"}]


@pytest.mark.parametrize("event", [ElectLeaders(None), ControlledShutdown(1, 1)])
def test_who_is_not_controller_says_so(event):
    refusal = Cluster(1, 2).ask(event, broker=2)
    assert isinstance(refusal, ApiException)
    assert refusal.code is ErrorCode.not_controller
    assert "1" in refusal.message


def test_taking_over_everybody_hears_who_is_alive_first():
    cluster = Cluster(1, 2)
    cluster.create("t", [[2, 1]])
    cluster.kill(1)
    first = len(cluster.sent)
    cluster.run()
    message = cluster.sent[first].message
    assert isinstance(message, UpdateMetadataRequest)
    assert [broker.id for broker in message.live_brokers] == [2]
    # With the leader that each partition had: a broker that starts knows every topic at once.
    assert [each.topic_name for each in message.topic_states] == ["t"]
    cluster.check()


def test_notes_of_the_time_before_are_cleared_away():
    cluster = Cluster(1, 2)
    cluster.kill(1, 2)
    cluster.put(Create(znodes.ISR_CHANGE, b"{}", sequence=True))
    cluster.put(Create(znodes.LOG_DIR_EVENT, b"{}", sequence=True))
    cluster.start(1)
    cluster.run()
    assert [
        path for path in cluster.zookeeper.tree if "change_0" in path or "event_0" in path
    ] == []


def test_what_it_believes_can_be_looked_at():
    cluster = Cluster(1, 2)
    cluster.create("t", [[2, 1]])
    snapshot = cluster.controller.snapshot()
    assert (snapshot["controller"], snapshot["active"], snapshot["epoch"]) == (1, True, 1)
    assert snapshot["brokers"] == cluster.epochs
    (partition,) = snapshot["partitions"]
    assert partition["state"] == "online"
    assert partition["replica_states"] == {2: "online", 1: "online"}
    assert (partition["leader"], partition["isr"], partition["version"]) == (2, (2, 1), 0)
    assert cluster.controllers[2].snapshot() == {"controller": 1, "active": False, "epoch": -1}
