"""Producers and consumers at a leader, and at a follower."""

import pytest

from engine.broker.zookeeper.roles import stop_replicas
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.replication.log_read import NO_REPLICA, FetchRange
from tests.unit.replication.cluster import LAG_MS, ORDERS, batch, code_of, stop

RACK_AWARE = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


def read(broker, offset, epoch=-1, last_epoch=-1, leads=True, **more):
    wanted = FetchRange(offset, 1 << 20, epoch, -1, last_epoch)
    return broker.replicas.read(ORDERS, wanted, 1 << 20, at_least_one=True, leads=leads, **more)


def shrink(cluster, *stays):
    """Time goes by, and only those who stay go on fetching."""
    for _ in range(2):
        cluster.now += LAG_MS
        for follower in stays:
            cluster.fetch(follower)
    cluster.now += 1
    cluster[cluster.leader].replicas.tick()
    cluster.write()


class TestAcks:
    @pytest.fixture
    def cluster(self, build):
        cluster = build(min_insync_replicas=2)
        cluster.elect(1)
        cluster.produce("a")
        cluster.settle()
        return cluster

    def outcome(self, cluster, offset, leader_since=0):
        return cluster[1].replicas.is_committed(ORDERS, offset, leader_since)

    def test_all_of_the_isr_must_have_it(self, cluster):
        offset = cluster.produce("b")
        assert not self.outcome(cluster, offset)
        for _ in range(2):
            cluster.fetch(2)
        assert not self.outcome(cluster, offset)
        for _ in range(2):
            cluster.fetch(3)
        assert self.outcome(cluster, offset)

    def test_too_few_before_the_append(self, cluster):
        cluster.produce("b", to_all=False)
        shrink(cluster)
        assert cluster.isr == (1,)
        end = cluster[1].log.end_offset
        append = cluster[1].replicas.append
        assert code_of(append, ORDERS, batch("c"), to_all=True) == ErrorCode.not_enough_replicas
        assert cluster[1].log.end_offset == end
        assert code_of(append, ORDERS, batch("c"), to_all=False) == ErrorCode.none

    def test_too_few_after_the_append(self, cluster):
        offset = cluster.produce("b")
        shrink(cluster)
        assert cluster[1].partition.high_watermark > offset
        assert code_of(self.outcome, cluster, offset) == ErrorCode.not_enough_replicas_after_append

    def test_who_is_just_being_let_in_is_enough_after_the_append_and_not_before(self, cluster):
        shrink_to = cluster.produce("b", to_all=False)
        shrink(cluster)
        cluster.fetch(2)
        cluster.fetch(2)
        assert (cluster[1].partition.isr, cluster[1].partition.counted) == ((1,), {1, 2})
        assert self.outcome(cluster, shrink_to)
        append = cluster[1].replicas.append
        assert code_of(append, ORDERS, batch("c"), to_all=True) == ErrorCode.not_enough_replicas

    def test_another_leads_meanwhile(self, cluster):
        offset = cluster.produce("b")
        cluster.elect(2)
        code = code_of(self.outcome, cluster, offset)
        assert code == ErrorCode.not_leader_or_follower

    def test_another_led_meanwhile(self, cluster):
        """What stands at that offset now may be another's record."""
        offset = cluster.produce("b")
        cluster.elect(2, isr=(2, 3))
        cluster.produce("not b")
        cluster.settle()
        cluster.elect(1)
        cluster.settle()
        assert cluster[1].partition.high_watermark > offset
        assert code_of(self.outcome, cluster, offset) == ErrorCode.not_leader_or_follower

    def test_a_new_epoch_of_the_same_leader_changes_nothing(self, cluster):
        offset = cluster.produce("b")
        cluster.elect(1)
        cluster.settle()
        assert self.outcome(cluster, offset)


class TestFind:
    def test_what_is_where(self, cluster):
        replicas, find = cluster[1].replicas, cluster[1].replicas.find
        assert code_of(find, ORDERS) == ErrorCode.unknown_topic_or_partition
        replicas.elsewhere = lambda partition: partition == ORDERS
        assert code_of(find, ORDERS) == ErrorCode.not_leader_or_follower
        assert code_of(find, TopicPartition("x", 0)) == ErrorCode.unknown_topic_or_partition
        cluster.elect(2)
        assert code_of(find, ORDERS) == ErrorCode.not_leader_or_follower
        assert code_of(find, ORDERS, leads=False) == ErrorCode.none

    def test_epochs_come_before_leadership(self, cluster):
        cluster.elect(2)
        cluster.elect(2)
        for number in (1, 2):
            find = cluster[number].replicas.find
            assert code_of(find, ORDERS, 0) == ErrorCode.fenced_leader_epoch
            assert code_of(find, ORDERS, 2) == ErrorCode.unknown_leader_epoch


class TestConsumers:
    @pytest.fixture
    def cluster(self, build):
        cluster = build(settings=RACK_AWARE)
        cluster.elect(1)
        cluster.produce("a", "b")
        cluster.settle()
        cluster.produce("c", to_all=False)
        return cluster

    def test_up_to_the_high_watermark(self, cluster):
        found = read(cluster[1], 0)
        assert (found.high_watermark, found.at_end) == (2, False)
        size = len(batch("a")) * 2
        assert found.records.size == size
        beyond = read(cluster[1], 3)
        assert (beyond.records.size, beyond.at_end) == (0, True)
        assert code_of(read, cluster[1], 4) == ErrorCode.offset_out_of_range

    def test_from_a_follower_up_to_its_own(self, cluster):
        assert code_of(read, cluster[2], 0) == ErrorCode.not_leader_or_follower
        cluster.fetch(2)
        found = read(cluster[2], 0, leads=False)
        assert (found.high_watermark, cluster[2].log.end_offset) == (2, 3)
        assert found.records.size == len(batch("a")) * 2

    def test_one_that_knows_more_is_told_where_it_diverges(self, cluster):
        assert read(cluster[1], 3, last_epoch=0).diverging is None
        assert read(cluster[1], 9, last_epoch=0).diverging == (0, 3)
        cluster.elect(2, isr=(2, 3))
        cluster.produce("d")
        assert read(cluster[2], 3, last_epoch=0).diverging == (0, 2)
        assert code_of(read, cluster[2], 3, last_epoch=7) == ErrorCode.offset_out_of_range
        cluster[2].log.advance_start(1, cluster.now)
        assert code_of(read, cluster[2], 0, last_epoch=0) == ErrorCode.offset_out_of_range

    @pytest.mark.parametrize(
        ("rack", "offset", "chosen"),
        [
            ("", 0, NO_REPLICA),
            ("a", 0, NO_REPLICA),  # the leader's own
            ("b", 0, 2),
            ("b", 2, 2),
            ("b", 3, NO_REPLICA),  # 2 has not got so far
            ("nowhere", 0, NO_REPLICA),
        ],
    )
    def test_a_replica_in_the_readers_rack(self, cluster, rack, offset, chosen):
        racks = {1: "a", 2: "b", 3: "c"}
        found = read(cluster[1], offset, rack=rack, racks=racks)
        assert found.preferred == chosen
        assert (found.records.size > 0) == (chosen == NO_REPLICA and offset < 2)
        assert read(cluster[2], 0, rack="c", racks=racks, leads=False).preferred == NO_REPLICA

    def test_of_two_in_a_rack_the_one_that_is_further(self, cluster):
        cluster.fetch(3)
        cluster.fetch(3)
        assert read(cluster[1], 0, rack="b", racks={1: "a", 2: "b", 3: "b"}).preferred == 3

    def test_not_unless_it_is_configured(self, build):
        cluster = build()
        cluster.elect(1)
        cluster.settle()
        assert read(cluster[1], 0, rack="b", racks={2: "b"}).preferred == NO_REPLICA


class TestFollowers:
    def test_who_is_no_replica_gets_nothing_and_counts_for_nothing(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        wanted = FetchRange(0, 1 << 20)
        found = cluster[1].replicas.read_for_follower(ORDERS, 7, wanted, 100, at_least_one=True)
        assert found.records.size == 0
        assert 7 not in cluster[1].partition.followers

    def test_who_knows_of_its_assignment_before_the_leader_does_is_told_to_ask_again(self, cluster):
        """In its fetch session it would not: without an error the leader had never counted it."""
        cluster.elect(1)
        wanted = FetchRange(0, 1 << 20, leader_epoch=cluster[1].partition.leader_epoch)
        with pytest.raises(ApiException) as failed:
            cluster[1].replicas.read_for_follower(ORDERS, 7, wanted, 100, at_least_one=True)
        assert failed.value.code is ErrorCode.unknown_leader_epoch

    def test_read_again_while_it_waits_it_has_not_asked_again(self, cluster):
        cluster.elect(1)
        replicas, wanted = cluster[1].replicas, FetchRange(0, 1 << 20, 0)
        cluster.now += 5
        replicas.read_for_follower(ORDERS, 2, wanted, 100, at_least_one=True)
        cluster.now += 5
        replicas.read_for_follower(ORDERS, 2, wanted, 100, at_least_one=True, again=True)
        follower = cluster[1].partition.followers[2]
        assert follower.asked == follower.caught_up == cluster.now - 5

    def test_one_that_diverges_has_not_got_so_far(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        wanted = FetchRange(9, 1 << 20, 0, 0, 0)
        found = cluster[1].replicas.read_for_follower(ORDERS, 2, wanted, 100, at_least_one=True)
        assert found.diverging == (0, 1)
        assert cluster[1].partition.followers[2].end == -1


class TestDeleteRecords:
    def test_the_followers_follow(self, cluster):
        cluster.elect(1)
        cluster.produce("a", "b", "c")
        cluster.settle()
        one, alive = cluster[1].replicas, {1, 2, 3}
        assert one.delete_records(ORDERS, 2) == 2
        assert one.low_watermark(ORDERS, alive) == 0
        woken = []
        one.changed.append(woken.append)
        for follower in (2, 3):
            assert one.low_watermark(ORDERS, alive) == 0
            cluster.fetch(follower)  # hears of it
            cluster.fetch(follower)  # and says so
            assert cluster[follower].log.start_offset == 2
        assert one.low_watermark(ORDERS, alive) == 2
        assert woken == [ORDERS, ORDERS]

    def test_a_dead_follower_is_not_waited_for(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        cluster.settle()
        assert cluster[1].replicas.delete_records(ORDERS, -1) == 1
        assert cluster[1].replicas.low_watermark(ORDERS, {1}) == 1

    def test_not_beyond_what_is_committed(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        delete = cluster[1].replicas.delete_records
        assert code_of(delete, ORDERS, 1) == ErrorCode.offset_out_of_range
        assert code_of(delete, ORDERS, -2) == ErrorCode.offset_out_of_range


def test_a_disk_that_fails_takes_its_partition_along(cluster):
    cluster.elect(1)
    cluster[1].directory.offline = "Input/output error"
    replicas = cluster[1].replicas
    assert code_of(replicas.find, ORDERS) == ErrorCode.kafka_storage_error
    assert code_of(replicas.append, ORDERS, batch("a"), to_all=False) == 56
    cluster.now += 2 * LAG_MS
    replicas.tick()
    assert replicas.proposals == []


def test_logs_of_the_replicas(cluster):
    cluster.elect(1)
    cluster.produce("a")
    replicas, seen = cluster[1].replicas, []
    replicas.logs.each(lambda log: seen.append(log.partition))
    assert seen == [ORDERS]
    assert replicas.committed(cluster[1].directory) == [(cluster[1].log, 0)]
    replicas.reconfigure(lambda topic: cluster.topic.parse({"retention.ms": "5"}, cluster.topic))
    assert cluster[1].log.config.retention_ms == 5
    stop_replicas(replicas.apply, stop(ORDERS, -2, delete=True))
    replicas.logs.each(lambda log: seen.append("gone"))
    assert len(seen) == 1
    assert replicas.logs.log_start(ORDERS) == -1  # who waited for it can still be answered
