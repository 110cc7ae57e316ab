"""The ring of events, and what a traced request tells."""

from dataclasses import make_dataclass
from types import SimpleNamespace as Message

import pytest

from engine.broker.events import MILLISECOND, SHOWN, Ring, Span, broker_of
from engine.errors import ErrorCode
from engine.model import Event
from engine.wire import fetch
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)


def told(api, request, response):
    ring = Ring()
    header = RequestHeader(api, api.newest, 1, "me")
    span = Span(1000 * MILLISECOND, 1030 * MILLISECOND)
    ring.traced(header, "127.0.0.1:5", request, response, span, bytes(99), None)
    (event,) = ring
    assert (event.kind, event.at) == ("request", 1030)
    assert (event.data["api"], event.data["client"], event.data["peer"]) == (
        api.name,
        "me",
        "127.0.0.1:5",
    )
    assert (event.data["size"], event.data["took"]) == (99, 30)
    return event.data


def fetches(replica, *offsets):
    asked = [Message(partition=n, fetch_offset=offset) for n, offset in enumerate(offsets)]
    return Message(replica_id=replica, topics=[Message(topic="orders", partitions=asked)])


def test_numbers_go_on_when_the_oldest_are_forgotten():
    ring = Ring(3)
    assert ring.after(0, 10) == ([], 0, 0)
    events = [Event("counted", at, {}) for at in range(5)]
    for event in events:
        ring.append(event)
    assert (ring.total, list(ring)) == (5, events[2:])
    assert ring.after(0, 10) == (events[2:], 5, 2)
    assert ring.after(3, 1) == (events[3:4], 4, 0)
    assert ring.after(5, 10) == ([], 5, 0)


def test_a_follower_s_fetch_tells_what_it_asked_for_and_what_it_got():
    given = [
        fetch.FetchedPartition(0, high_watermark=7, records=b"x" * 40),
        fetch.FetchedPartition(2, high_watermark=3, records=Message(size=50)),
    ]
    response = fetch.FetchAnswer([fetch.FetchedTopic("orders", given)])
    data = told(Api.FETCH, fetches(2, 7, 8), response)
    assert data["replica_id"] == 2
    assert data["partitions"] == [
        {
            "topic": "orders",
            "partition": 0,
            "offset": 7,
            "bytes": 40,
            "high_watermark": 7,
            "error": 0,
        },
        {"topic": "orders", "partition": 1, "offset": 8},  # nothing new
        {"topic": "orders", "partition": 2, "bytes": 50, "high_watermark": 3, "error": 0},
    ]
    assert "replica_id" not in told(Api.FETCH, fetches(-1), fetch.FetchAnswer([]))


def test_of_many_partitions_the_first_are_told():
    data = told(Api.FETCH, fetches(-1, *range(SHOWN + 5)), fetch.FetchAnswer([]))
    assert (len(data["partitions"]), data["more"]) == (SHOWN, 5)


def test_a_produce_tells_where_its_records_are():
    batch = Message(index=1, records=b"x" * 70)
    request = Message(topic_data=[Message(name="orders", partition_data=[batch])])
    stored = Message(index=1, base_offset=12, error_code=ErrorCode.none)
    response = Message(responses=[Message(name="orders", partition_responses=[stored])])
    row = {"topic": "orders", "partition": 1, "bytes": 70, "offset": 12, "error": 0}
    assert told(Api.PRODUCE, request, response)["partitions"] == [row]
    assert "partitions" not in told(Api.PRODUCE, request, None)  # acks=0


def test_a_controller_s_word_is_told_with_who_it_was():
    state = LeaderAndIsrPartitionState(
        partition_index=0,
        controller_epoch=4,
        leader=1,
        leader_epoch=9,
        isr=(1, 2),
        zk_version=3,
        replicas=(1, 2),
    )
    request = LeaderAndIsrRequest(
        controller_id=3,
        controller_epoch=4,
        broker_epoch=77,
        type=0,
        topic_states=(LeaderAndIsrTopicState(topic_name="orders", partition_states=(state,)),),
        live_leaders=(),
    )
    response = LeaderAndIsrResponse(error_code=ErrorCode.none, topics=(), partition_errors=())
    data = told(Api.LEADER_AND_ISR, request, response)
    assert (data["controller_id"], data["controller_epoch"], data["broker_epoch"]) == (3, 4, 77)
    assert data["partitions"] == [
        {"topic": "orders", "partition": 0, "leader": 1, "leader_epoch": 9, "isr": (1, 2)}
    ]


@pytest.mark.parametrize(
    ("fields", "broker"),
    [
        ({"replica_id": 3}, 3),
        ({"replica_id": -1}, None),
        ({"replica_id": 0}, 0),
        ({"controller_id": 2, "broker_epoch": 9}, 2),
        ({"broker_id": 4}, 4),
        ({"topics": ()}, None),
    ],
)
def test_only_a_broker_says_who_it_is(fields, broker):
    """Whether a request has such a field is a matter of its class."""
    kind = make_dataclass("Request", fields, slots=True)
    assert broker_of(kind(**fields)) == broker


@pytest.mark.parametrize(
    ("client_id", "broker"),
    [
        ("broker-3-txn-marker-sender", 3),
        (f"broker-{'9' * 5000}-txn-marker-sender", None),
        ("broker-3", None),
        (None, None),
    ],
)
def test_who_sends_markers_is_known_by_its_name(client_id, broker):
    assert broker_of(Message(markers=()), client_id) == broker
    assert broker_of(Message(topics=()), client_id) is None
