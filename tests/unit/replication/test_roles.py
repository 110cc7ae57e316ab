"""What the controller says, and what becomes of it."""

import pytest

from engine.broker.zookeeper.roles import change_roles, stop_replicas
from engine.errors import ErrorCode
from engine.metadata.delta import MetadataDelta
from engine.model import TopicPartition
from engine.replication.follower_partition import Stage
from engine.replication.partition import Role
from tests.unit.replication.cluster import LAG_MS, ORDERS, checkpoint, code_of, order, state, stop
from tests.unit.storage.older import message

OTHER = TopicPartition("other", 0)


def answer(broker, request):
    """The error of each partition in an answer to LeaderAndIsr, or the one of all."""
    response = change_roles(broker.replicas.apply, request)
    flat = [each.error_code for each in response.partition_errors]
    assert flat == [each.error_code for topic in response.topics for each in topic.partition_errors]
    return response.error_code, flat


class TestOrders:
    def test_an_old_controller_is_refused(self, cluster):
        cluster.elect(1)
        one = cluster[1]
        row = state(2, 9, (1, 2), (1, 2))
        assert answer(one, order({ORDERS: row}, controller_epoch=3)) == (0, [0])
        stale = order({ORDERS: row}, controller_epoch=2)
        assert answer(one, stale) == (11, [11])
        late = stop(ORDERS, 99, delete=True, controller_epoch=2)
        assert (
            stop_replicas(one.replicas.apply, late).error_code == ErrorCode.stale_controller_epoch
        )
        assert (one.partition.leader, one.partition.leader_epoch) == (2, 9)

    def test_a_word_for_an_earlier_life_is_refused(self, cluster):
        one = cluster[1]
        one.replicas.broker_epoch = 50
        row = {ORDERS: state(1, 0, (1,), (1,))}
        assert answer(one, order(row, broker_epoch=49))[0] == ErrorCode.stale_broker_epoch
        assert ORDERS not in one.replicas.partitions
        assert one.replicas.controller_epoch == -1
        assert answer(one, order(row, broker_epoch=51))[0] == 0  # we have yet to hear of it

    def test_only_a_newer_epoch_of_the_partition_counts(self, cluster):
        one = cluster[1]
        for epoch, code in ((3, 0), (3, 11), (2, 11), (4, 0)):
            row = state(1, epoch, (1, 2), (1, 2), zk_version=epoch)
            assert answer(one, order({ORDERS: row})) == (0, [code])
        assert (one.partition.leader_epoch, one.partition.version) == (4, 4)

    def test_what_is_not_ours(self, cluster):
        row = state(2, 0, (2,), (2, 3))
        assert answer(cluster[1], order({ORDERS: row})) == (0, [3])
        assert ORDERS not in cluster[1].replicas.partitions

    def test_a_disk_that_failed(self, cluster):
        cluster.elect(1)
        cluster[1].directory.offline = "Input/output error"
        row = state(1, 9, (1,), (1,))
        assert answer(cluster[1], order({ORDERS: row, OTHER: row})) == (0, [56, 56])
        (stopped,) = stop_replicas(
            cluster[1].replicas.apply, stop(ORDERS, 9, delete=True)
        ).partition_errors
        assert stopped.error_code == ErrorCode.kafka_storage_error

    def test_a_log_that_is_offline_alone(self, cluster):
        """What is told to it is refused, its files stay, and the others take their orders."""
        cluster.elect(1)
        cluster.produce("a")
        one = cluster[1]
        one.kill()
        path = one.directory.path / str(ORDERS) / f"{0:020d}.log"
        path.write_bytes(message(1, 0))
        (one.directory.path / str(OTHER)).write_text("a file")
        before = path.read_bytes()
        one.start()
        assert set(one.directory.failed) == {ORDERS, OTHER}
        third = TopicPartition("third", 0)
        row = state(1, 9, (1,), (1,))
        rows = order(dict.fromkeys((ORDERS, OTHER, third), row))
        assert answer(one, rows) == (0, [56, 56, 0])
        for partition in (ORDERS, OTHER):
            request = stop(partition, 9, delete=True)
            (stopped,) = stop_replicas(one.replicas.apply, request).partition_errors
            assert stopped.error_code == ErrorCode.kafka_storage_error
            assert code_of(one.replicas.find, partition) == ErrorCode.kafka_storage_error
            assert one.replicas.logs.log_start(partition) == -1
        one.replicas.reconfigure(lambda topic: cluster.topic)
        replicas, logs = one.replicas, one.replicas.logs
        for upkeep in (replicas.enforce_retention, logs.flush_due, logs.sweep, replicas.tick):
            upkeep()
        checkpoint(replicas)
        replicas.close()
        assert path.read_bytes() == before

    def test_what_a_full_request_leaves_out_stays(self, cluster):
        cluster.elect(1)
        assert answer(cluster[1], order({OTHER: state(1, 0, (1,), (1,))}, type=1)) == (0, [0])
        assert set(cluster[1].replicas.partitions) == {ORDERS, OTHER}

    def test_nobody_leads(self, cluster):
        cluster.elect(-1)
        assert cluster[1].partition.role is Role.FOLLOWER
        assert cluster[1].replicas.fetchers == {}
        assert code_of(cluster[1].replicas.find, ORDERS) == ErrorCode.not_leader_or_follower

    def test_the_roles_are_told(self, cluster):
        told = []
        cluster[1].replicas.changed.append(told.append)
        cluster.elect(1)
        cluster.elect(2)
        assert [event["role"] for event in cluster[1].has("replica.role")] == ["leader", "follower"]
        assert told == [ORDERS, ORDERS]

    def test_from_one_leader_to_the_next(self, cluster):
        work_changed = []
        cluster[3].replicas.work_changed.append(lambda: work_changed.append(1))
        cluster.elect(1)
        assert set(cluster[3].replicas.fetchers) == {1}
        cluster.elect(2)
        assert set(cluster[3].replicas.fetchers) == {2}
        cluster.elect(3)
        assert cluster[3].replicas.fetchers == {}
        assert len(work_changed) == 3


class TestStop:
    @pytest.mark.parametrize(("epoch", "code"), [(-2, 0), (-1, 0), (1, 0), (0, 74), (-3, 74)])
    def test_the_epoch_says_whether_it_counts(self, cluster, epoch, code):
        cluster.elect(1)
        request = stop(ORDERS, epoch, delete=True)
        (error,) = stop_replicas(cluster[1].replicas.apply, request).partition_errors
        assert error.error_code == code
        assert (ORDERS in cluster[1].directory.logs) == (code != 0)

    def test_a_replica_that_is_only_stopped_keeps_its_log(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        cluster.settle()
        two = cluster[2]
        stop_replicas(two.replicas.apply, stop(ORDERS, 1, delete=False))
        assert (two.partition.role, two.replicas.fetchers, two.values) == (Role.NONE, {}, ["a"])
        for known, code in (
            (True, ErrorCode.not_leader_or_follower),
            (False, ErrorCode.unknown_topic_or_partition),  # the topic is being deleted
        ):
            two.replicas.elsewhere = lambda partition, known=known: known
            assert code_of(two.replicas.find, ORDERS, leads=False) == code
        cluster.elect(1)
        assert two.partition.role is Role.FOLLOWER

    def test_a_log_without_a_role_can_be_deleted(self, cluster):
        cluster.elect(1)
        cluster.kill(2)
        cluster[2].start()
        assert ORDERS in cluster[2].directory.logs
        gone = []
        cluster[2].replicas.deleted.append(gone.append)
        stop_replicas(cluster[2].replicas.apply, stop(ORDERS, -2, delete=True))
        assert (cluster[2].directory.logs, gone) == ({}, [ORDERS])


class TestHighWatermark:
    def test_it_comes_from_the_checkpoint_and_never_beyond_the_log(self, cluster):
        cluster.elect(1)
        cluster.produce("a", "b", "c")
        cluster.settle()
        checkpoint(cluster[1].replicas)
        cluster.kill(1)
        cluster[1].start()
        cluster.elect(1)
        assert cluster[1].partition.high_watermark == 3
        cluster.kill(1)
        cluster[1].start()
        cluster[1].log.truncate(1, cluster.now)  # torn off by the crash
        cluster.elect(1)
        assert cluster[1].partition.high_watermark == 1

    def test_a_checkpoint_before_the_controller_speaks_forgets_nothing(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        cluster.settle()
        checkpoint(cluster[1].replicas)
        for _ in range(2):
            cluster.kill(1)
            cluster[1].start()
            checkpoint(cluster[1].replicas)
        cluster.tell(1)
        assert cluster[1].partition.high_watermark == 1


class TestIsr:
    def grown(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        cluster.settle()

    def lag(self, cluster):
        """Nobody but 2 fetches any more."""
        cluster.produce("b")
        cluster.fetch(2)
        cluster.now += LAG_MS
        cluster.fetch(2)
        cluster.now += 1
        cluster[1].replicas.tick()

    def test_shrink_and_grow(self, cluster):
        self.grown(cluster)
        self.lag(cluster)
        assert [each.isr for each in cluster.write()] == [(1, 2)]
        assert cluster[1].partition.high_watermark == 2
        cluster.fetch(3)
        assert cluster.write() == []  # it got b, but has not said so
        cluster.fetch(3)
        assert [each.isr for each in cluster.write()] == [(1, 2, 3)]
        assert [
            (each["was"], each["isr"], each["version"]) for each in cluster[1].has("isr.changed")
        ] == [((1, 2, 3), (1, 2), 1), ((1, 2), (1, 2, 3), 2)]

    def test_a_shrink_that_begins_an_epoch_is_told_as_any_other(self, cluster):
        """Without ZooKeeper, at level 7: the leader hears of its own proposal as of a new role.
        A role with an ISR that it has not proposed is no change of its own."""
        self.grown(cluster)
        self.lag(cluster)
        cluster.elect(1, isr=(1, 2))
        (told,) = cluster[1].has("isr.changed")
        assert (told["was"], told["isr"]) == ((1, 2, 3), (1, 2))
        cluster.elect(1, isr=(1,))
        assert len(cluster[1].has("isr.changed")) == 1

    def test_a_refused_change_ends_all_proposals(self, cluster):
        self.grown(cluster)
        cluster.version += 1  # somebody else has written
        self.lag(cluster)
        cluster.write()
        assert len(cluster[1].has("isr.refused")) == 1
        assert cluster[1].partition.isr == (1, 2, 3)
        cluster[1].replicas.tick()
        assert cluster.write() == []
        cluster.elect(1, isr=(1, 2))
        cluster.settle()
        assert cluster.isr == (1, 2, 3)

    def test_a_change_that_was_overtaken_by_nobody_who_decides_is_proposed_anew(self, cluster):
        self.grown(cluster)
        self.lag(cluster)
        replicas = cluster[1].replicas
        (proposal,) = replicas.proposals
        cluster.version = 9
        replicas.proposals.clear()
        replicas.isr_overtaken(proposal, 9)
        replicas.isr_overtaken(proposal, 9)  # it is another one by now
        assert replicas.proposals == [proposal._replace(version=9)]
        assert [each.isr for each in cluster.write()] == [(1, 2)]
        assert (cluster[1].partition.isr, cluster[1].partition.version) == ((1, 2), 10)

    def test_an_ineligible_replica_is_proposed_again_though_nothing_is_written(self, cluster):
        """Without ZooKeeper: a follower that was fenced, and fetches in an idle session."""
        self.grown(cluster)
        cluster.elect(1, isr=(1, 2))
        for _ in range(2):
            cluster.fetch(3)
        replicas = cluster[1].replicas
        (proposal,) = replicas.proposals
        replicas.proposals.clear()
        replicas.isr_withdrawn(proposal)
        assert replicas.proposals == [proposal]

    def with_one_outside(self, cluster):
        """Broker 3 is not in the ISR and is proposed for it. Broker 2 has a record more than 3."""
        self.grown(cluster)
        cluster.elect(1, isr=(1, 2))
        for follower in (2, 3, 2, 3):
            cluster.fetch(follower)
        replicas, partition = cluster[1].replicas, cluster[1].partition
        (proposal,) = replicas.proposals
        cluster.produce("b")
        for _ in range(3):
            cluster.fetch(2)
        return replicas, partition, proposal

    def test_a_record_does_not_wait_for_a_replica_that_may_not_join(self, cluster):
        """Broker 3 stops in order: it is out of the ISR, fetches once more, and ends. A record that
        the others have is committed when 3 has been silent for the limit, though nobody appends or
        fetches then."""
        replicas, partition, proposal = self.with_one_outside(cluster)
        assert partition.followers[2].end == 2 and partition.high_watermark == 1
        cluster.now += LAG_MS + 1
        replicas.isr_withdrawn(proposal)
        replicas.tick()
        assert partition.high_watermark == 2

    def test_a_broker_that_may_join_no_isr_is_not_waited_for(self, cluster):
        """The controller says so after 3 has caught up: a waiting record is committed at once."""
        replicas, partition, proposal = self.with_one_outside(cluster)
        replicas.apply(MetadataDelta(ineligible=frozenset({3})))
        assert partition.high_watermark == 1  # it counts while it is proposed
        replicas.isr_withdrawn(proposal)
        assert partition.high_watermark == 2
        for _ in range(2):
            cluster.fetch(3)
        assert partition.followers[3].end == 2 and not partition.proposal
        replicas.apply(MetadataDelta(ineligible=frozenset()))  # 3 has nothing new to ask for
        assert partition.proposal.isr == (1, 2, 3)

    def test_an_answer_that_comes_too_late(self, cluster):
        self.grown(cluster)
        self.lag(cluster)
        (proposal,) = cluster[1].replicas.proposals
        cluster.elect(1)
        cluster[1].replicas.isr_answered(proposal, 7)
        assert (cluster[1].partition.isr, cluster[1].partition.version) == (
            (1, 2, 3),
            cluster.version,
        )
        cluster.elect(2)
        cluster[1].replicas.isr_answered(proposal, None)
        assert cluster[1].has("isr.changed", "isr.refused") == []

    def test_two_that_are_ready_at_once(self, cluster):
        self.grown(cluster)
        cluster.elect(1, isr=(1,))
        for _ in range(3):
            cluster.fetch(2)
            cluster.fetch(3)
        assert [cluster.write(), cluster.isr, cluster.write()][1] == (1, 2, 3)

    def test_each_follower_hears_one_round_later(self, cluster):
        """The follower's high watermark: the leader's, as it was told with the last records."""
        cluster.elect(1)
        seen = []
        for word in "abc":
            cluster.produce(word)
            cluster.fetch(3)
            cluster.fetch(2)
            seen.append((cluster[1].partition.high_watermark, cluster[2].partition.high_watermark))
        assert seen == [(0, 0), (1, 0), (2, 1)]
        assert cluster[2].log.end_offset == 3


def test_an_answer_to_a_role_that_is_over_is_thrown_away(cluster):
    cluster.elect(1)
    cluster.produce("a")
    cluster.fetch(2)
    cluster.produce("b")
    fetcher = cluster[2].replicas.fetchers[1]
    request = fetcher.next(cluster.now)
    late = cluster[1].serve(request)
    cluster.elect(2, isr=(2, 3))
    cluster.produce("c")
    fetcher.answered(request, late, cluster.now)
    assert cluster[2].values == ["a", "c"]


def test_an_answer_from_an_earlier_epoch_of_the_same_leader_is_thrown_away(cluster):
    cluster.elect(1)
    cluster.produce("a")
    fetcher = cluster[2].replicas.fetchers[1]
    request = fetcher.next(cluster.now)
    late = cluster[1].serve(request)
    cluster.elect(1)
    fetcher.answered(request, late, cluster.now)
    assert cluster[2].values == []
    assert cluster[2].replicas.fetchers[1].following[ORDERS].stage is Stage.TRUNCATING
    cluster.settle()
    assert cluster[2].values == ["a"]
