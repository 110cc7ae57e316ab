"""What other brokers and the controller send makes no sense: it is answered as by Kafka, no more.

The partition `orders` of three replicas lives on beside all of it.
"""

from random import Random
from types import SimpleNamespace

import pytest

from engine.broker.zookeeper.roles import change_roles, stop_replicas
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.log_read import FetchRange
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrTopicState
from tests.unit.replication.cluster import ORDERS, checkpoint, code_of, order, state, stop

NONE, UNKNOWN, STALE = (
    ErrorCode.none,
    ErrorCode.unknown_topic_or_partition,
    ErrorCode.stale_controller_epoch,
)
OTHER = TopicPartition("other", 0)
NUMBERS = (-(2**31), -7, -1, 0, 1, 2, 3, 7, 2**31 - 1)
LISTS = ((), (1,), (2,), (1, 1), (2, 1, 3), (3, 9), (-1, 1), (2**31 - 1, 1))
NAMES = ("other", "", ".", "..", "../other", "a/b", "x" * 300, "ümlaut", "a b")


def codes(broker, *states, topic="other"):
    row = LeaderAndIsrTopicState(topic_name=topic, partition_states=states)
    request = LeaderAndIsrRequest(controller_id=9, controller_epoch=1, topic_states=(row,))
    return [
        each.error_code for each in change_roles(broker.replicas.apply, request).partition_errors
    ]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (state(1, 0, (), ()), UNKNOWN),
        (state(1, 0, (2,), (2, 3)), UNKNOWN),
        (state(1, -1, (1,), (1,)), STALE),
        (state(1, 0, (1,), (1,), partition_index=-1), UNKNOWN),
        (state(9, 0, (9,), (1, 2)), NONE),  # nobody knows where 9 is: it is waited for
        (state(-7, 0, (1,), (1,)), NONE),
        (state(1, 0, (), (1,)), NONE),
        (state(1, 2**31 - 1, (1, 1), (1, 1)), NONE),
    ],
)
def test_a_role_that_makes_no_sense(cluster, row, code):
    assert codes(cluster[1], row) == [code]


@pytest.mark.parametrize("name", NAMES[1:2] + NAMES[4:])
def test_a_topic_that_cannot_be(cluster, name):
    before = sorted(cluster[1].path.rglob("*"))
    assert codes(cluster[1], state(1, 0, (1,), (1,)), topic=name) == [UNKNOWN]
    assert sorted(cluster[1].path.rglob("*")) == before


def test_of_two_rows_for_a_partition_the_first_counts(cluster):
    rows = state(1, 0, (1,), (1,)), state(2, 0, (2,), (1, 2))
    assert codes(cluster[1], *rows) == [NONE, STALE]
    assert cluster[1].replicas.partitions[OTHER].is_leader


def test_what_is_to_stop_is_not_here(cluster):
    for delete in (False, True):
        response = stop_replicas(cluster[1].replicas.apply, stop(OTHER, 5, delete=delete))
        assert [each.error_code for each in response.partition_errors] == [NONE]


def test_a_replica_that_is_none_is_sent_nothing(cluster):
    cluster.elect(1)
    cluster.produce("a")
    replicas = cluster[1].replicas
    read = replicas.read_for_follower(ORDERS, 9, FetchRange(0, 1 << 20), 1 << 20, at_least_one=True)
    assert read.records.size == 0
    assert 9 not in cluster[1].partition.followers


def requests(chance):
    partition = TopicPartition(chance.choice(NAMES), chance.choice(NUMBERS))
    row = state(
        chance.choice(NUMBERS),
        chance.choice(NUMBERS),
        chance.choice(LISTS),
        chance.choice(LISTS),
        partition_index=partition.partition,
        adding_replicas=chance.choice(LISTS),
        removing_replicas=chance.choice(LISTS),
    )
    return partition, order({partition: row}, controller_epoch=chance.choice((-1, 0, 1)))


@pytest.mark.parametrize("seed", range(20))
def test_no_order_that_makes_no_sense_harms_another_partition(cluster, seed):
    cluster.elect(1)
    cluster.produce("a")
    cluster.settle()
    replicas, chance = cluster[1].replicas, Random(seed)
    allowed = {NONE, UNKNOWN, STALE, ErrorCode.fenced_leader_epoch}
    for _ in range(20):
        partition, request = requests(chance)
        found = change_roles(replicas.apply, request).partition_errors
        epoch, delete = chance.choice(NUMBERS), chance.random() < 0.5
        found += stop_replicas(
            replicas.apply, stop(partition, epoch, delete=delete)
        ).partition_errors
        assert {each.error_code for each in found} <= allowed
        for broker in (-7, 9, 2**31 - 1):
            wanted = FetchRange(chance.choice(NUMBERS), chance.choice(NUMBERS))
            assert (
                code_of(
                    replicas.read_for_follower, partition, broker, wanted, 1000, at_least_one=True
                )
                is not ErrorCode.unknown_server_error
            )
        replicas.tick()
        replicas.enforce_retention()
        checkpoint(replicas)
    cluster.produce("b")
    cluster.settle()
    assert [broker.values for broker in cluster.all.values()] == [["a", "b"]] * 3


OFFSETS = (-(2**63), -2, -1, 0, 1, 2**31, 2**63 - 1)
RECORDS = (None, b"", b"\0" * 10, b"\0" * 61, b"\xff" * 61, b"\0\0\0\0\0\0\0\1" + b"\xff" * 90)


def answers(chance, request):
    """Of partitions that were asked about or not, once, twice or never."""
    asked = [(topic, "orders") for topic in (0, 0, 1, 7)]
    rows = [
        SimpleNamespace(
            partition=number,
            partition_index=number,
            error_code=chance.choice([NONE, NONE, NONE, *ErrorCode]),
            leader_epoch=chance.choice(NUMBERS),
            end_offset=chance.choice(OFFSETS),
            offset=chance.choice(OFFSETS),
            high_watermark=chance.choice(OFFSETS),
            log_start_offset=chance.choice(OFFSETS[:5]),
            diverging_epoch=SimpleNamespace(
                epoch=chance.choice(NUMBERS), end_offset=chance.choice((-1, -1, *OFFSETS))
            ),
            records=chance.choice(RECORDS),
        )
        for number, _ in chance.sample(asked, chance.randrange(len(asked)))
    ]
    topics = [
        SimpleNamespace(topic=name, name=name, partitions=rows)
        for name in chance.sample(("orders", "orders", "nobody's"), chance.randrange(1, 3))
    ]
    code = chance.choice([NONE, NONE, ErrorCode.fetch_session_id_not_found])
    session = chance.choice((0, 7, -1))
    return SimpleNamespace(topics=topics, responses=topics, error_code=code, session_id=session)


@pytest.mark.parametrize("seed", range(40))
def test_no_answer_that_makes_no_sense_ends_a_fetcher(build, seed):
    chance = Random(seed)
    cluster = build(3, {"inter.broker.protocol.version": chance.choice(("2.6", "2.7"))})
    cluster.elect(1)
    cluster.produce("a", "b")
    cluster.settle()
    cluster.elect(1)  # a new epoch: the followers begin anew
    fetcher = cluster[2].replicas.fetchers[1]
    for _ in range(30):
        request = fetcher.next(cluster.now)
        if request is not None:
            fetcher.answered(request, answers(chance, request), cluster.now)
        cluster.now += 5000
    assert cluster[2].directory.offline is None
    cluster.elect(1)
    cluster.produce("c")
    cluster.settle()
    assert cluster[1].values == cluster[3].values == ["a", "b", "c"]
    assert cluster[2].log.end_offset == 3
