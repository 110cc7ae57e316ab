"""What readers of committed transactions see, on a leader and on a follower."""

from datetime import timedelta

import pytest
from kio.schema.fetch.v12.request import FetchPartition, FetchRequest, FetchTopic
from kio.schema.list_offsets.v6.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

from engine.errors import ErrorCode
from engine.replication.log_read import last_stable
from engine.storage.batch import scan
from engine.storage.control import ControlType
from tests.unit.replication.cluster import ORDERS, batch, code_of
from tests.unit.storage.disk import marker, sequenced

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT
UNCOMMITTED, COMMITTED = 0, 1


def write(cluster, producer, sequence, count=1):
    made = sequenced(producer, sequence, count, at=cluster.now, transactional=True)
    cluster.lead.replicas.append(ORDERS, made, to_all=True)


def end(cluster, producer, kind, **more):
    made = marker(producer, kind, at=cluster.now, **more)
    cluster.lead.replicas.append(ORDERS, made, to_all=True, client=False)


def fetch(broker, offset=0, isolation=COMMITTED, replica=-1, size=1 << 20):
    row = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=size)
    request = FetchRequest(
        replica_id=replica,
        isolation_level=isolation,
        min_bytes=1,
        max_wait=timedelta(),
        max_bytes=1 << 20,
        topics=(FetchTopic(topic="orders", partitions=(row,)),),
        forgotten_topics_data=(),
    )
    [topic] = broker.serve(request).responses
    return topic.partitions[0]


def offsets(answer):
    return [header.base_offset for _, header in scan(answer.records)]


def aborted(answer):
    listed = answer.aborted_transactions
    return None if listed is None else [(it.producer_id, it.first_offset) for it in listed]


def latest(broker, isolation=COMMITTED):
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=(
            ListOffsetsTopic(
                name="orders", partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),)
            ),
        ),
    )
    [answer] = broker.serve(request).topics[0].partitions
    return answer.offset


def stable(broker):
    return last_stable(broker.log, broker.partition)


@pytest.fixture
def alone(build):
    cluster = build(1)
    cluster.elect(1)
    return cluster


@pytest.fixture
def pair(build):
    cluster = build(2)
    cluster.elect(1)
    return cluster


def test_who_wants_what_is_committed_hears_what_was_aborted(alone):
    write(alone, 7, 0)  # 0
    write(alone, 8, 0)  # 1
    end(alone, 8, ABORT)  # 2
    end(alone, 7, ABORT)  # 3
    alone.produce("a")  # 4
    write(alone, 9, 0)  # 5
    answer = fetch(alone[1])
    assert (offsets(answer), answer.last_stable_offset) == ([0, 1, 2, 3, 4], 5)
    assert aborted(answer) == [(7, 0), (8, 1)]
    assert aborted(fetch(alone[1], 3)) == [(7, 0)]
    assert aborted(fetch(alone[1], 4)) == []
    assert aborted(fetch(alone[1], 5)) == []


def test_who_wants_all_gets_all_and_hears_nothing(alone):
    write(alone, 7, 0)
    end(alone, 7, ABORT)
    write(alone, 7, 1)
    answer = fetch(alone[1], isolation=UNCOMMITTED)
    assert (offsets(answer), aborted(answer)) == ([0, 1, 2], None)
    assert (answer.last_stable_offset, answer.high_watermark) == (2, 3)


def test_a_follower_hears_nothing_of_it_whatever_it_says_of_isolation(pair):
    write(pair, 7, 0)
    answer = fetch(pair[1], replica=2)
    assert (offsets(answer), aborted(answer)) == ([0], None)


def test_an_error_comes_without_a_list(alone):
    answer = fetch(alone[1], 99)
    assert (answer.error_code, aborted(answer)) == (ErrorCode.offset_out_of_range, None)


def test_only_what_is_sent_is_told_of(build):
    alone = build(1, index_interval_bytes=100, segment_bytes=1000)
    alone.elect(1)
    for sequence in range(20):
        write(alone, 7, sequence)
        end(alone, 7, ABORT)
    assert len(alone[1].log.segments) > 2
    answer = fetch(alone[1], 4, size=400)
    assert offsets(answer)[0] == 4
    sent = [(7, offset) for offset in offsets(answer) if offset % 2 == 0]
    assert aborted(answer)[: len(sent)] == sent
    assert len(aborted(answer)) <= len(sent) + 2  # where the next index entry points
    assert len(sent) < 5


def test_an_end_counts_when_it_is_replicated(pair):
    write(pair, 7, 0)
    pair.settle()
    end(pair, 7, COMMIT)
    assert (pair[1].partition.high_watermark, stable(pair[1])) == (1, 0)
    assert offsets(fetch(pair[1])) == []
    assert offsets(fetch(pair[1], isolation=UNCOMMITTED)) == [0]
    assert (latest(pair[1]), latest(pair[1], UNCOMMITTED)) == (0, 1)
    pair.fetch(2)
    assert (pair[2].log.end_offset, stable(pair[1]), stable(pair[2])) == (2, 0, 0)
    pair.settle()
    assert (stable(pair[1]), stable(pair[2]), latest(pair[1])) == (2, 2, 2)
    assert offsets(fetch(pair[1])) == [0, 1]


def test_a_follower_can_be_read_as_well(pair):
    write(pair, 7, 0)
    end(pair, 7, ABORT)
    write(pair, 8, 0)
    pair.settle()
    answer = fetch(pair[2])
    assert (offsets(answer), answer.last_stable_offset) == ([0, 1], 2)
    assert aborted(answer) == [(7, 0)]


def test_a_restarted_broker_remembers_which_ends_were_not_replicated(pair):
    write(pair, 7, 0)
    pair.settle()
    end(pair, 7, COMMIT)
    pair[1].replicas.close()
    pair.start(1)
    assert (pair[1].partition.high_watermark, stable(pair[1])) == (1, 0)
    pair.elect(1)
    pair.settle()
    pair.now += 2_000  # the follower's fetch session is gone, so it waits and begins another
    pair.settle()
    assert stable(pair[1]) == 2


def test_no_transaction_holds_back_the_start_of_the_log(alone):
    write(alone, 7, 0, count=3)
    alone.produce("a")
    assert stable(alone[1]) == 0
    alone[1].replicas.delete_records(ORDERS, 2)
    assert stable(alone[1]) == 2
    assert latest(alone[1]) == 2


def test_the_brokers_own_batches_are_told_from_those_of_clients(alone):
    append = alone[1].replicas.append
    made = marker(7, COMMIT, coordinator=2, at=alone.now)
    assert code_of(append, ORDERS, made, to_all=True) is ErrorCode.invalid_record
    append(ORDERS, made, to_all=True, client=False)
    older = marker(7, COMMIT, coordinator=1, at=alone.now)
    fenced = ErrorCode.transaction_coordinator_fenced
    assert code_of(append, ORDERS, older, to_all=True, client=False) is fenced
    alone[1].replicas.append(ORDERS, batch("a"), to_all=True)
    assert alone[1].log.end_offset == 2
