"""Whatever happens, in whatever order: what is committed stays, and replicas agree on it.

Records are appended, fetched, acknowledged; answers get lost; brokers are killed and come back;
followers lag; another leader is elected, always one of the ISR that ZooKeeper has.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ApiException
from tests.unit.replication.cluster import LAG_MS, ORDERS, Cluster

BROKERS = (1, 2, 3)
broker = st.sampled_from(BROKERS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), broker),
        st.tuples(st.just("fetch"), broker),
        st.tuples(st.just("fetch"), broker),
        st.tuples(st.just("ask"), broker),
        st.tuples(st.just("answer"), broker),
        st.tuples(st.just("lose"), broker),
        st.tuples(st.just("elect"), broker),
        st.tuples(st.just("tell"), broker),
        st.tuples(st.just("restart"), broker),
        st.tuples(st.just("lag"), st.just(0)),
        st.tuples(st.just("write"), st.just(0)),
    ),
    max_size=60,
)


class History:
    """What a perfect observer has seen: nothing that was committed may ever change."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.committed: list[str] = []
        self.leaders_since: dict[tuple[int, int], int] = {}
        self.on_the_way: dict[int, tuple] = {}
        self.count = 0

    def look(self) -> None:
        known = [
            (each.partition, each.values[: each.partition.high_watermark], each.log)
            for each in self.cluster.all.values()
            if ORDERS in each.replicas.partitions
        ]
        for partition, seen, _ in known:
            if partition.is_leader:
                leader_since = partition.broker_id, partition.leader_epoch
                assert partition.high_watermark >= self.leaders_since.get(leader_since, 0)
                self.leaders_since[leader_since] = partition.high_watermark
                self.committed += seen[len(self.committed) :]
        for partition, seen, log in known:
            assert partition.high_watermark <= log.end_offset
            assert seen == self.committed[: len(seen)], "what was committed is another"
        for number in self.cluster.isr:
            values = self.cluster[number].values
            assert values[: len(self.committed)] == self.committed, "it was lost"

    def do(self, what: str, number: int) -> None:
        cluster = self.cluster
        match what:
            case "produce":
                self.count += 1
                try:
                    cluster.produce(f"{self.count}", to=number, to_all=False)
                except ApiException:
                    return
            case "fetch":
                cluster.fetch(number)
            case "ask":
                for leader, fetcher in cluster[number].replicas.fetchers.items():
                    request = fetcher.next(cluster.now)
                    if request is not None:
                        response = cluster[leader].serve(request)
                        self.on_the_way[number] = fetcher, request, response
            case "answer" if number in self.on_the_way:
                fetcher, request, response = self.on_the_way.pop(number)
                fetcher.answered(request, response, cluster.now)
            case "lose" if number in self.on_the_way:
                self.on_the_way.pop(number)[0].failed(cluster.now)
            case "elect" if number in cluster.isr:
                cluster.elect(number, to=())
            case "tell":
                cluster.tell(number)
            case "restart":
                self.on_the_way.pop(number, None)
                cluster.kill(number)
                cluster[number].start()
                cluster.elect(cluster.leader, to=(number,))
            case "lag":
                cluster.now += LAG_MS + 1
                for each in cluster.all.values():
                    each.replicas.tick()
            case "write":
                cluster.write()
        cluster.now += 40


@settings(max_examples=60)
@given(steps)
def test_nothing_that_was_committed_is_ever_lost_or_changed(story: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as directory:
        cluster = Cluster(Path(directory), len(BROKERS))
        try:
            cluster.elect(1)
            history = History(cluster)
            for what, number in story:
                history.do(what, number)
                history.look()
            heal(cluster, history)
        finally:
            for each in cluster.all.values():
                each.directory.abandon()


def heal(cluster: Cluster, history: History) -> None:
    """When nothing goes wrong any more, all are alike in the end, and in sync."""
    for number in list(history.on_the_way):
        history.do("lose", number)
    cluster.elect(cluster.leader)
    cluster.produce("the end")
    for _ in range(20):
        cluster.settle()
        cluster.now += 1000
    history.look()
    assert sorted(cluster.isr) == list(BROKERS)
    assert cluster[1].values == cluster[2].values == cluster[3].values
    assert cluster.lead.partition.high_watermark == cluster.lead.log.end_offset
    entries = [each.log.epochs.entries for each in cluster.all.values()]
    assert entries[0] == entries[1] == entries[2]


@pytest.mark.parametrize("seed", range(3))
def test_the_observer_sees_a_loss(cluster: Cluster, seed: int) -> None:
    """Were it blind, the test above could not fail: here a committed record is torn off."""
    cluster.elect(1)
    history = History(cluster)
    cluster.produce("a", "b", "c")
    cluster.settle()
    history.look()
    cluster[1].log.truncate(seed, cluster.now)
    cluster[1].partition.high_watermark = min(cluster[1].partition.high_watermark, seed)
    with pytest.raises(AssertionError):
        history.look()
