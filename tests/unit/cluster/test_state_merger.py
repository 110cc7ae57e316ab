"""Out of what each broker tells, one picture; also where they contradict each other."""

from engine.cluster.state import FollowerState, LinkState, Status
from engine.cluster.state_merger import ProcessState, StateMerger
from engine.model import TopicPartition
from tests.unit.cluster.reports import group, row, state, transaction

ORDERS = TopicPartition("orders", 0)
UP = {number: ProcessState(Status.UP, 100 + number, 9000 + number) for number in (1, 2, 3)}


def snapshot(view, members=UP, links=()):
    return view.snapshot(1000, members, links)


def test_the_leader_tells_of_the_partition_and_everyone_of_their_replica():
    view = StateMerger()
    followers = [(2, 8, 900), (3, 10, -1)]
    view.update(1, 1, state(row(0, "leader", 1, committed=8, stable=5, others=followers)))
    view.update(2, 1, state(row(0, "follower", 1, isr=(1, 2, 3), end=8, committed=7)))
    view.update(3, 1, state(at=1003, session=None))
    seen = snapshot(view)
    partition = seen.partitions[ORDERS]
    assert (partition.leader, partition.leader_epoch, partition.isr) == (1, 1, (1, 2))
    assert partition.assignment == (1, 2, 3)
    assert [replica.role for replica in partition.replicas.values()] == ["leader", "follower"]
    assert [replica.high_watermark for replica in partition.replicas.values()] == [8, 7]
    assert [replica.log_end for replica in partition.replicas.values()] == [10, 8]
    assert [replica.last_stable for replica in partition.replicas.values()] == [5, 7]
    assert partition.followers == {2: FollowerState(8, 900), 3: FollowerState(10, -1)}
    third = seen.brokers[3]
    assert (third.status, third.answers, third.pid, third.port) == (Status.UP, True, 103, 9003)
    assert (third.at, third.session, third.brokers) == (1003, None, (1, 2))
    assert seen.at == 1000


def test_of_two_leaders_the_newer_epoch_is_right():
    view = StateMerger()
    view.update(1, 1, state(row(0, "leader", 1, epoch=4)))
    view.update(2, 1, state(row(0, "leader", 2, epoch=5, isr=(2,))))
    partition = snapshot(view).partitions[ORDERS]
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 5, (2,))


def test_a_follower_of_the_new_leader_knows_better_than_the_old_leader():
    view = StateMerger()
    view.update(1, 1, state(row(0, "leader", 1, epoch=4)))
    view.update(2, 1, state(row(0, "follower", 3, epoch=5, isr=(2, 3))))
    partition = snapshot(view).partitions[ORDERS]
    assert (partition.leader, partition.leader_epoch, partition.isr) == (3, 5, (2, 3))


def test_a_partition_without_a_leader_is_known_from_metadata():
    view = StateMerger()
    view.update(1, 1, state(row(0, "leader", 1, epoch=4)))
    view.update(2, 1, state(leaderless=[["orders", 0, 5, [1], [1]], ["lost", 3, 2, [3], [3]]]))
    partitions = snapshot(view).partitions
    assert [(each.leader, each.leader_epoch) for each in partitions.values()] == [(-1, 2), (-1, 5)]
    assert [str(each) for each in partitions] == ["lost-3", "orders-0"]
    assert partitions[ORDERS].replicas[1].role == "leader"  # as it believes

    view.update(1, 1, state(row(0, "leader", 1, epoch=6)))
    view.update(2, 1, state())
    partitions = snapshot(view).partitions
    assert [(each.leader, each.leader_epoch) for each in partitions.values()] == [(1, 6)]


def test_who_is_silent_is_shown_as_last_known_and_marked():
    view = StateMerger()
    view.update(1, 1, state(row(0, "leader", 1), active=True))
    view.update(2, 1, state(row(0, "follower", 1)))
    assert snapshot(view).controller == 1
    paused = UP | {1: ProcessState(Status.PAUSED, 101, 9001)}
    view.update(2, 1, state())
    seen = snapshot(view, paused)
    assert seen.controller == -1
    assert (seen.brokers[1].answers, seen.brokers[1].epoch) == (False, 5)
    replicas = seen.partitions[ORDERS].replicas
    assert [replicas[number].answers for number in (1, 2)] == [False, True]
    assert replicas[1].log_end == 10

    view.update(1, 1, state())
    view.update(2, 1, state())
    replicas = snapshot(view).partitions[ORDERS].replicas
    assert [replicas[number].answers for number in (1, 2)] == [True, True]


def test_a_broker_that_was_never_heard_of_is_there():
    seen = snapshot(StateMerger(), {1: ProcessState(Status.DOWN, 0, 0)})
    assert (seen.brokers[1].status, seen.brokers[1].answers) == (Status.DOWN, False)
    assert seen.partitions == {}


def test_a_new_conversation_begins_anew():
    view = StateMerger()
    view.update(1, 1, state(row(0, "leader", 1), row(1, "leader", 1)))
    assert len(snapshot(view).partitions) == 2
    view.update(1, 2, state(row(1, "follower", 2, epoch=2)))
    assert list(snapshot(view).partitions) == [TopicPartition("orders", 1)]


def test_a_replica_that_went_away():
    view = StateMerger()
    view.update(1, 1, state(row(0, "leader", 1)))
    view.update(2, 1, state(row(0, "follower", 1)))
    assert len(snapshot(view).partitions[ORDERS].replicas) == 2
    view.update(1, 1, state(gone=[["orders", 0]]))
    view.update(2, 1, state())
    assert list(snapshot(view).partitions[ORDERS].replicas) == [2]


def test_what_did_not_change_is_the_same_object():
    view = StateMerger()
    view.update(1, 1, state(row(0, "leader", 1), row(1, "leader", 1)))
    first = snapshot(view)
    view.update(1, 1, state(row(1, "leader", 1, end=11)))
    second = snapshot(view)
    assert second.partitions[ORDERS] is first.partitions[ORDERS]
    other = TopicPartition("orders", 1)
    assert (first.partitions[other].replicas[1].log_end, 11) == (10, 11)
    assert second.partitions[other].replicas[1].log_end == 11


def test_of_two_controllers_the_newer_one_counts():
    view = StateMerger()
    for broker, epoch in ((1, 7), (2, 8), (3, 6)):
        view.update(broker, 1, state(active=True, controller_epoch=epoch))
    cut = LinkState("1", "zookeeper", True)
    seen = snapshot(view, links=[cut])
    assert (seen.controller, seen.links) == (2, (cut,))


def test_a_group_is_as_its_coordinator_has_it():
    view = StateMerger()
    view.update(1, 1, state())
    view.update(2, 1, state(groups=[group("g", ("a", ["orders-0"]), ("b", None))]))
    seen = snapshot(view).groups
    assert (seen["g"].coordinator, seen["g"].state, seen["g"].generation) == (2, "Stable", 3)
    shares = {name: (each.share, each.waits) for name, each in seen["g"].members.items()}
    assert shares == {"a": (("orders-0",), False), "b": (None, True)}
    view.update(2, 1, state())
    assert snapshot(view).groups is seen

    view.update(2, 1, state(groups=[group("f"), group("g", ("a", ["orders-0"]), ("b", None))]))
    more = snapshot(view).groups
    assert [*more] == ["f", "g"]
    assert more["g"] is seen["g"]


def test_of_two_coordinators_the_one_that_answers_is_right():
    view = StateMerger()
    view.update(2, 1, state(groups=[group("g", ("a", ["orders-0"]))]))
    assert snapshot(view).groups["g"].coordinator == 2
    view.update(1, 1, state(groups=[group("g", generation=4)]))
    assert snapshot(view).groups["g"].coordinator == 1
    view.update(2, 2, state())  # it came back, and coordinates nothing
    view.update(1, 1, state())
    assert snapshot(view).groups["g"].coordinator == 1
    view.update(1, 1, state(groups=[]))
    assert snapshot(view).groups == {}


def test_a_transaction_is_as_its_coordinator_has_it():
    view = StateMerger()
    view.update(1, 1, state())
    view.update(2, 1, state(transactions=[transaction("till", "orders-0", "orders-2")]))
    seen = snapshot(view).transactions
    till = seen["till"]
    assert (till.coordinator, till.state, till.producer_id, till.epoch) == (2, "Ongoing", 4000, 2)
    assert till.partitions == ("orders-0", "orders-2")
    view.update(2, 1, state())
    assert snapshot(view).transactions is seen
    view.update(2, 1, state(transactions=[transaction("till", state="CompleteCommit")]))
    assert snapshot(view).transactions["till"].state == "CompleteCommit"
