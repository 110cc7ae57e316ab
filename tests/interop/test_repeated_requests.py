"""A request that the network delivers a second time, later: after its transaction, in the next one.

Kafka 2.8 takes it for a request of the transaction that is open now (KAFKA-17754), and so does this
broker, in each of these cases. After InitProducerId the epoch is another one, and it is refused.
"""

import pytest

from engine.cluster.cluster import Cluster
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from tests.interop.delivering import making, new_topic
from tests.interop.raw import batch
from tests.interop.watch import until
from tests.limits import ANSWER_S

CONFIG = {"zookeeper.session.timeout.ms": "4000"}


@pytest.fixture(autouse=True)
def healed(cluster: Cluster):
    yield
    cluster.heal()
    assert faults(cluster) == []


@pytest.fixture
def pair(client) -> str:
    return new_topic(client, 2)


@pytest.fixture
def producer(cluster, pair):
    with making(cluster.bootstrap) as make:
        made = make(transactional_id=f"late-{pair}")
        made.init_transactions(ANSWER_S)
        yield made


def faults(cluster):
    return [dict(each) for each in cluster.state().brokers[1].request_faults]


def write(producer, topic, value, partition):
    producer.produce(topic, value, partition=partition)
    assert producer.flush(ANSWER_S) == 0


def transact(producer, topic, values, commits=True):
    """One transaction: a record in each of the partitions."""
    producer.begin_transaction()
    for partition, value in enumerate(values):
        write(producer, topic, value, partition)
    end = producer.commit_transaction if commits else producer.abort_transaction
    end(ANSWER_S)


def completed(cluster, topic):
    """The state of the transactional id, if all markers of its last transaction are written."""
    state = cluster.state().transactions[f"late-{topic}"]
    return state if state.state == "CompleteCommit" else None


def committed(cluster, topic):
    return [cluster.read(topic, each, isolation_level="read_committed") for each in (0, 1)]


def answers(table):
    return [tuple(row) for row in table.rows]


def test_half_of_an_aborted_transaction_is_committed_by_the_last_ones_commit(
    cluster, pair, producer
):
    cluster.requests.repeat(1, "EndTxn")
    assert faults(cluster) == [
        {"fault": "repeat", "api": "END_TXN", "ms": None, "times": 1, "kept": 0}
    ]
    transact(producer, pair, ["a", "b"])
    assert faults(cluster) == [
        {"fault": "repeat", "api": "END_TXN", "ms": None, "times": 0, "kept": 1}
    ]
    producer.begin_transaction()
    write(producer, pair, "c", 0)
    assert answers(cluster.requests.deliver_repeats(1)) == [("END_TXN", "NONE")]
    write(producer, pair, "d", 1)
    producer.abort_transaction(ANSWER_S)
    assert committed(cluster, pair) == [["a", "c"], ["b"]]


def test_half_of_a_committed_transaction_is_lost_by_the_last_ones_abort(cluster, pair, producer):
    cluster.requests.repeat(1, "EndTxn")
    transact(producer, pair, ["a", "b"], commits=False)
    producer.begin_transaction()
    write(producer, pair, "c", 0)
    assert answers(cluster.requests.deliver_repeats(1)) == [("END_TXN", "NONE")]
    write(producer, pair, "d", 1)
    producer.commit_transaction(ANSWER_S)
    assert committed(cluster, pair) == [[], ["d"]]


def test_after_init_producer_id_it_is_refused(cluster, pair, producer):
    """What a client can do: a new session after an unknown outcome, with the next epoch."""
    cluster.requests.repeat(1, "EndTxn")
    transact(producer, pair, ["a", "b"])
    with making(cluster.bootstrap) as make:
        again = make(transactional_id=f"late-{pair}")
        again.init_transactions(ANSWER_S)
        again.begin_transaction()
        write(again, pair, "c", 0)
        assert answers(cluster.requests.deliver_repeats(1)) == [("END_TXN", "PRODUCER_FENCED")]
        write(again, pair, "d", 1)
        again.abort_transaction(ANSWER_S)
    assert committed(cluster, pair) == [["a"], ["b"]]


def test_late_partitions_open_a_transaction_that_its_producer_does_not_know(
    cluster, pair, producer
):
    cluster.requests.repeat(1, "AddPartitionsToTxn")
    transact(producer, pair, ["a", "b"])
    until(lambda: completed(cluster, pair))
    assert answers(cluster.requests.deliver_repeats(1)) == [("ADD_PARTITIONS_TO_TXN", "NONE")]
    state = cluster.state().transactions[f"late-{pair}"]
    assert state.state == "Ongoing"
    assert state.partitions == (f"{pair}-0",)


def test_a_late_produce_that_is_new_to_its_partition_blocks_readers(
    cluster, client, pair, producer
):
    """Its producer had given it up, and its transaction has ended; no coordinator knows of it."""
    transact(producer, pair, ["a", "b"])
    state = until(lambda: completed(cluster, pair))
    late = batch(
        "late",
        producer_id=state.producer_id,
        producer_epoch=state.epoch,
        base_sequence=1,
        transactional=True,
    )
    assert client.produce(pair, late, transactional_id="t").error_code == ErrorCode.none
    assert client.produce(pair, batch("behind it")).error_code == ErrorCode.none
    assert completed(cluster, pair)
    assert committed(cluster, pair) == [["a"], ["b"]]
    assert cluster.read(pair, 0) == ["a", "late", "behind it"]

    def blocked() -> bool:
        replica = cluster.state().partitions[TopicPartition(pair, 0)].replicas[1]
        return replica.last_stable < replica.high_watermark

    until(blocked)


def test_a_late_marker_ends_what_is_open_in_its_partition(cluster, pair, producer):
    """WriteTxnMarkers goes from broker to broker; here from the broker to itself."""
    cluster.requests.repeat(1, "WriteTxnMarkers")
    transact(producer, pair, ["a", "b"])
    until(lambda: faults(cluster)[0]["kept"] == 1)
    producer.begin_transaction()
    write(producer, pair, "c", 0)
    assert answers(cluster.requests.deliver_repeats(1)) == [("WRITE_TXN_MARKERS", "NONE")]
    producer.abort_transaction(ANSWER_S)
    assert committed(cluster, pair) == [["a", "c"], ["b"]]


def test_it_comes_by_itself_after_so_many_ms(cluster, pair, producer):
    before = cluster.events()[-1].number
    cluster.requests.repeat(1, "EndTxn", ms=300)
    transact(producer, pair, ["a", "b"])
    until(lambda: [it for it in cluster.events(before) if it.kind == "request.repeated"])
    events = {it.kind: it.data for it in cluster.events(before)}
    assert events["request.repeating"] == {"broker": 1, "api": "END_TXN", "ms": 300, "times": 1}
    assert events["request.repeated"]["error"] == "NONE"
    assert faults(cluster) == []


def test_the_first_one_is_done_and_answered_as_always(cluster, client, pair):
    """A copy has no connection, so nobody hears how it is answered; healed, it never comes."""
    cluster.requests.repeat(1, "Produce")
    with making(cluster.bootstrap) as make:
        plain = make(enable_idempotence=False)
        write(plain, pair, "a", 0)
        assert answers(cluster.requests.deliver_repeats(1)) == [("PRODUCE", "NONE")]
        assert cluster.read(pair, 0) == ["a", "a"]
        cluster.requests.repeat(1, "Produce")
        write(plain, pair, "b", 0)
        cluster.heal()
        assert answers(cluster.requests.deliver_repeats(1)) == []
    assert cluster.read(pair, 0) == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda it: it.repeat_request(1, "EndTxns"), r'no API .EndTxns.*did you mean "EndTxn"\?'),
        (lambda it: it.repeat_request(1, "AlterIsr"), "no API 'AlterIsr'"),
        (lambda it: it.repeat_request(1, "EndTxn", ms=-1), "ms is a number from 0"),
        (lambda it: it.repeat_request(7, "EndTxn"), "there is no broker 7"),
        (lambda it: it.deliver_repeats(7), "there is no broker 7"),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(cluster, ask, says):
    before = cluster.events()[-1].number
    with pytest.raises(ApiException, match=says):
        ask(cluster)
    assert cluster.events(before) == []
