"""Where a follower cuts its log: the examples of KIP-101 and KIP-279, and what there was before."""

import pytest
from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.offset_for_leader_epoch.v4.request import OffsetForLeaderEpochRequest

from engine.replication.follower_partition import agreement
from engine.storage.epochs import Epochs
from tests.unit.replication.cluster import ORDERS

BEFORE = {"inter.broker.protocol.version": "0.10.2"}
ON_FETCH = {"inter.broker.protocol.version": "2.7-IV1"}  # no request but Fetch
BY_EPOCHS = pytest.mark.parametrize("protocol", [{}, ON_FETCH], ids=["asked", "on fetch"])


@pytest.fixture
def epochs(tmp_path):
    def make(*entries):
        made = Epochs(tmp_path)
        for entry in entries:
            made.assign(*entry)
        return made

    return make


@pytest.mark.parametrize(
    ("epoch", "end", "agreed"),
    [
        (2, 30, (30, True)),  # the leader has as much of our last epoch
        (2, 25, (25, True)),  # and less
        (2, 40, (30, True)),  # and more
        (1, 15, (15, True)),  # none at all: its last one before ours ended there
        (1, 99, (20, True)),  # or ended there after ours did
        (0, 10, (10, True)),
    ],
)
def test_the_epoch_is_known_to_both(epochs, epoch, end, agreed):
    assert agreement(epochs((0, 0), (1, 10), (2, 20)), 30, epoch, end) == agreed


def test_an_epoch_that_we_never_heard_of_leads_to_an_older_one(epochs):
    """KIP-279: cut to where our own older one ends, and ask about that."""
    assert agreement(epochs((1, 0), (4, 10)), 20, 3, 15) == (10, False)


def test_below_all_that_we_know_the_leader_is_believed(epochs):
    assert agreement(epochs((5, 10)), 20, 3, 8) == (8, True)
    assert agreement(epochs(), 20, 3, 8) == (8, True)


class TestAMomentBehind:
    """KIP-101, first example: a record is committed, and the follower has not heard of that yet.

    The follower begins anew with its high watermark one behind, and then the leader dies.
    """

    def tell(self, cluster):
        cluster.elect(1)
        cluster.produce("m1")
        cluster.settle()
        cluster.produce("m2")
        cluster.fetch(2)  # it has m2,
        cluster.fetch(2)  # and says so: m2 is committed
        assert cluster[1].partition.high_watermark == 2
        cluster[2].partition.high_watermark = 1  # it had not got the answer when it went down
        cluster.elect(1)
        cluster.kill(1)
        cluster.fetch(2)  # it truncates, or asks where to, and gets no answer
        cluster.elect(2, isr=(2,))
        cluster.start(1)
        cluster.settle()
        assert cluster[1].values == cluster[2].values
        return cluster[2].values

    def test_before_epochs_it_was_lost(self, build):
        assert self.tell(build(2, BEFORE)) == ["m1"]

    @BY_EPOCHS
    def test_with_epochs_it_is_not(self, build, protocol):
        assert self.tell(build(2, protocol)) == ["m1", "m2"]


class TestDivergence:
    """KIP-101, second example: both lose power, come back in turn, and write in the same place."""

    def tell(self, cluster):
        cluster.elect(1)
        cluster.produce("m1")
        cluster.settle()
        cluster.kill(2)
        cluster.produce("m2", to_all=False)
        cluster.kill(1)
        cluster.elect(2, isr=(2,))  # uncleanly
        cluster.start(2)
        cluster.produce("m3")
        cluster[1].start()
        cluster[1].directory.high_watermarks[ORDERS] = 2  # all it had was in the ISR
        cluster.tell(1)
        cluster.settle()
        return cluster[1].values, cluster[2].values

    def test_before_epochs_they_never_agreed_again(self, build):
        assert self.tell(build(2, BEFORE)) == (["m1", "m2"], ["m1", "m3"])

    @BY_EPOCHS
    def test_with_epochs_the_leader_is_right(self, build, protocol):
        assert self.tell(build(2, protocol)) == (["m1", "m3"], ["m1", "m3"])


@BY_EPOCHS
def test_in_steps_down_to_the_last_epoch_that_both_know(build, protocol):
    """KIP-279: unclean elections in turn, so that neither knows the other's last epochs."""
    cluster = build(2, protocol)
    cluster.elect(1)
    cluster.produce("a", "b")
    cluster.settle()
    for survivor, dead, word in ((2, 1, "c"), (1, 2, "d"), (2, 1, "e"), (1, 2, "f")):
        cluster.kill(dead)
        if not cluster[survivor].up:
            cluster[survivor].start()
        cluster.elect(survivor, isr=(survivor,))
        cluster.produce(f"{word}1", f"{word}2")
    assert cluster[1].values == ["a", "b", "d1", "d2", "f1", "f2"]
    cluster[2].start()
    cluster[2].directory.high_watermarks[ORDERS] = 6  # alone in the ISR, all it had was committed
    cluster.tell(2)
    assert cluster[2].values == ["a", "b", "c1", "c2", "e1", "e2"]
    for _ in range(2):
        cluster.fetch(2)
        assert cluster[2].partition.high_watermark == cluster[2].log.end_offset
    cluster.settle()
    assert cluster[2].values == cluster[1].values
    cuts = [cut["end_offset"] for cut in cluster[2].has("log.truncated")]
    assert cuts == [4, 2]  # first e, which began after c: then c
    assert cluster[2].log.epochs.entries == cluster[1].log.epochs.entries


@BY_EPOCHS
def test_an_epoch_without_records_is_forgotten_by_who_follows(build, protocol):
    """A leader notes where its epoch begins, and another is elected before it writes anything."""
    cluster = build(2, protocol)
    cluster.elect(1)
    cluster.produce("a")
    cluster.settle()
    cluster.elect(2, to=(2,))
    assert cluster[2].log.epochs.latest == 1
    cluster.elect(1)
    cluster.settle()
    cluster.produce("b")
    cluster.settle()
    assert cluster[2].log.epochs.entries == cluster[1].log.epochs.entries == [(0, 0), (2, 1)]


@BY_EPOCHS
def test_nor_does_such_an_epoch_hide_an_older_one(build, protocol):
    """Its number would stand for records that were written before it."""
    cluster = build(2, protocol)
    cluster.elect(1)
    cluster.produce("a")
    cluster.settle()
    cluster.elect(1)
    cluster.produce("b", to_all=False)
    cluster.elect(2, to=(2,))  # 2 notes that epoch 2 begins at offset 1
    cluster.elect(1)
    cluster.settle()
    assert cluster[2].values == ["a", "b"]
    cluster.produce("c")
    cluster.settle()
    assert cluster[2].log.epochs.entries == cluster[1].log.epochs.entries
    assert cluster[2].log.epochs.entries == [(0, 0), (1, 1), (3, 2)]


@BY_EPOCHS
def test_whoever_looks_at_a_log_is_told_of_a_cut(build, protocol):
    cluster, told = build(2, protocol), []
    cluster.elect(1)
    cluster[1].replicas.truncated.append(lambda log: told.append(log.end_offset))
    cluster.produce("a")
    cluster.settle()
    cluster.produce("b", to_all=False)
    cluster.elect(2, isr=(2,))
    cluster.settle()
    assert told == [1]


@pytest.mark.parametrize("protocol", [{}, BEFORE, ON_FETCH])
def test_a_leader_that_was_superseded_loses_its_tail(build, protocol):
    """A zombie: it took writes with acks=1 that nobody else ever saw."""
    cluster = build(3, protocol)
    cluster.elect(1)
    cluster.produce("a")
    cluster.settle()
    cluster.elect(2, isr=(2, 3), to=(2, 3))
    cluster.produce("lost", to=1, to_all=False)
    cluster.produce("b")
    cluster.settle()
    cluster.tell(1)
    cluster.settle()
    assert cluster[1].values == cluster[2].values == cluster[3].values == ["a", "b"]
    assert cluster.isr == (2, 3, 1)


class TestOnFetch:
    """From 2.7 on: what a follower that lost a disk's tail, or has too much, is told by Fetch."""

    def divergent(self, build, protocol):
        """2 has a record that 1, the leader, has not."""
        cluster = build(2, protocol)
        cluster.elect(1)
        cluster.produce("a", "b")
        cluster.settle()
        cluster.elect(2, to=(2,))
        cluster.produce("lost", to=2, to_all=False)
        cluster.elect(1)
        cluster.produce("c", to_all=False)
        return cluster

    def requests(self, cluster):
        """Of 2, until it has nothing to say that would change anything."""
        fetcher, found = cluster[2].replicas.fetchers[1], []
        while cluster[2].values != cluster[1].values:
            found.append(fetcher.next(cluster.now))
            fetcher.answered(found[-1], cluster[1].serve(found[-1]), cluster.now)
        return found

    def test_there_is_no_request_but_fetch(self, build):
        kinds = {type(it) for it in self.requests(self.divergent(build, ON_FETCH))}
        assert kinds == {FetchRequest}
        kinds = {type(it) for it in self.requests(self.divergent(build, {}))}
        assert kinds == {FetchRequest, OffsetForLeaderEpochRequest}

    def test_each_fetch_says_the_epoch_of_the_last_record(self, build):
        rows = [
            (each.fetch_offset, each.last_fetched_epoch)
            for request in self.requests(self.divergent(build, ON_FETCH))
            for topic in request.topics
            for each in topic.partitions
        ]
        assert rows == [(3, 1), (2, 0)]  # "lost" is of epoch 1; then it is gone

    def test_below_2_7_it_says_none(self, build):
        requests = self.requests(self.divergent(build, {}))
        fetches = [it for it in requests if isinstance(it, FetchRequest)]
        assert {each.last_fetched_epoch for each in fetches[0].topics[0].partitions} == {-1}

    def test_a_response_that_diverges_moves_no_high_watermark_up(self, build):
        """It is the leader's, and our records below it may be others."""
        cluster = self.divergent(build, ON_FETCH)
        cluster[1].partition.high_watermark, was = 3, cluster[2].partition.high_watermark
        cluster.fetch(2)
        assert cluster[2].values == ["a", "b"]
        assert cluster[2].partition.high_watermark == was <= 2

    def test_the_leader_does_not_count_records_that_diverge(self, build):
        """Offset 3 in that Fetch is no copy of the leader's offset 2."""
        cluster = self.divergent(build, ON_FETCH)
        cluster.fetch(2)
        assert cluster[1].partition.high_watermark == 2

    def test_a_log_without_epochs_is_truncated_to_its_high_watermark(self, build):
        cluster = self.divergent(build, ON_FETCH)
        cluster[2].log.epochs.clear()
        cluster.elect(1)
        cluster.settle()
        assert cluster[2].values == cluster[1].values == ["a", "b", "c"]

    def test_what_the_leader_has_deleted_is_not_compared(self, build):
        """It is deleted here, too: the response has the leader's log start."""
        cluster = self.divergent(build, ON_FETCH)
        cluster[1].log.advance_start(3, cluster.now)
        cluster[1].log.epochs.truncate_start(3)
        cluster.produce("d", to_all=False)
        cluster.settle()
        assert (cluster[2].log.start_offset, cluster[2].log.end_offset) == (3, 4)
        assert cluster[2].values[3:] == ["d"]
