"""What a request carries and what came of it, in a few words."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.assignors.protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.storage import records
from engine.wire.apis import Api
from engine.wire.codec import message
from engine.wire.kraft_apis import KRaftApi
from tests.unit.widgets.cluster import event
from tests.unit.widgets.test_wire_anatomy import RECORDS, sample
from tests.unit.widgets.test_wire_exchange import asked, fetched, heard, produced, to_orders
from widgets.wire.anatomy import ANSWER, ASK
from widgets.wire.exchange import MessageArrow
from widgets.wire.words import told

EPOCH = {"producer": 4000, "epoch": 2}
SHARE = encode_assignment(Assignment((TopicPartition("orders", 0), TopicPartition("orders", 1))))


def words(event):
    arrows = heard(event).arrows
    return [told(arrow) for arrow in arrows]


def of(api, way, *path, **changes):
    """One element of an array in a message, changed; the fields of the message."""
    body = sample(message(api, api.newest, way))
    name, *inner = path
    (element,) = getattr(body, name)
    if inner:
        (deep,) = getattr(element, inner[0])
        element = replace(element, name="orders") if hasattr(element, "name") else element
        element = replace(element, **{inner[0]: (replace(deep, **changes),)})
    else:
        element = replace(element, **changes)
    return {name: (element,)}


def test_a_produce_counts_its_records_and_says_what_it_waits_for():
    assert words(produced(1)) == [
        ("orders-0 · 2 records · acks -1", False),
        ("orders-0 offset 42", False),
    ]
    assert words(produced(1, bytes_too=False))[0] == ("orders-0 · 70 bytes", False)
    assert words(produced(1, error=6))[1] == ("NOT_LEADER_OR_FOLLOWER · orders-0", True)


def test_a_fetch_says_from_where_and_what_it_got():
    nothing_aborted = of(Api.FETCH, ANSWER, "responses", "partitions", aborted_transactions=())
    ask, answer = words(fetched(1, response=nothing_aborted))
    assert ask == ("orders-0 @ 42", False)
    assert answer == ("orders-0: 93 bytes, HW 45", False)
    assert words(fetched(1, given=0, response=nothing_aborted))[1] == ("nothing new", False)
    event = fetched(1)
    event.data["partitions"] = [
        {"topic": "orders", "partition": at, "offset": 1} for at in range(5)
    ]
    assert words(event)[0][0] == "orders-0 @ 1, orders-1 @ 1 +3"
    event.data["partitions"] = []
    assert words(event)[0][0] == "as its session knows"


@pytest.mark.parametrize(
    ("topics", "said"), [(None, "every topic"), ((), "the brokers"), (("orders",), "orders")]
)
def test_metadata_is_of_some_topics_or_of_all(topics, said):
    body = sample(message(Api.METADATA, 11, ASK))
    wanted = topics and tuple(replace(body.topics[0], name=name) for name in topics)
    ask, answer = words(asked(Api.METADATA, 1, request={"topics": wanted}))
    assert ask == (said, False)
    assert answer == ("1 broker · 1 topic", False)


def test_a_member_of_a_group_joins_and_gets_its_share():
    subscription = encode_subscription(Subscription(("orders",)))
    joins = of(Api.JOIN_GROUP, ASK, "protocols", name="range", metadata=subscription)
    facts = {"request": joins | {"group_id": "kitchen"}}
    refused = {"error_code": ErrorCode.member_id_required}
    assert words(asked(Api.JOIN_GROUP, 1, **facts, response=refused)) == [
        ("kitchen · a new member", False),
        ("MEMBER_ID_REQUIRED", True),
    ]
    facts = {"request": joins | {"group_id": "kitchen", "member_id": "k-1"}}
    joined = {"generation_id": 3, "protocol_name": "range", "leader": "k-1", "member_id": "k-1"}
    assert words(asked(Api.JOIN_GROUP, 1, **facts, response=joined)) == [
        ("kitchen · known by its id", False),
        ("generation 3 · range · leader of 1", False),
    ]
    (leaf,) = (it for it in heard(asked(Api.JOIN_GROUP, 1, **facts)).arrows[0].exchange.asked
               if it.name == "metadata")  # fmt: skip
    assert leaf.value == "topics orders"
    shares = of(Api.SYNC_GROUP, ASK, "assignments", member_id="k-1", assignment=SHARE)
    event = asked(
        Api.SYNC_GROUP,
        1,
        request=shares | {"group_id": "kitchen", "generation_id": 3},
        response={"assignment": SHARE},
    )
    assert words(event) == [
        ("kitchen · generation 3 · shares for 1", False),
        ("orders-0, orders-1", False),
    ]


def test_offsets_are_committed_fetched_and_looked_up():
    commits = of(Api.OFFSET_COMMIT, ASK, "topics", "partitions", committed_offset=7)
    ask, answer = words(asked(Api.OFFSET_COMMIT, 1, request=commits | {"group_id": "kitchen"}))
    assert (ask[0], answer[0]) == ("kitchen · orders-0 → 7", "done")
    found = of(Api.OFFSET_FETCH, ANSWER, "topics", "partitions", committed_offset=7)
    _, answer = words(asked(Api.OFFSET_FETCH, 1, response=found))
    assert answer[0] == "orders-0 @ 7"
    for timestamp, said in ((-2, "earliest"), (-1, "latest"), (5, "at a time")):
        looks = of(Api.LIST_OFFSETS, ASK, "topics", "partitions", timestamp=timestamp)
        ask, answer = words(asked(Api.LIST_OFFSETS, 1, request=looks))
        assert ask[0] == f"orders-0 {said}"
    none = of(Api.OFFSET_FETCH, ANSWER, "topics", "partitions", committed_offset=-1)
    assert words(asked(Api.OFFSET_FETCH, 1, response=none))[1][0] == "orders-0: none"


def test_a_transaction_is_reported_from_its_first_partition_to_its_markers():
    numbers = {"producer_id": 4000, "producer_epoch": 2}
    adds = of(Api.ADD_PARTITIONS_TO_TXN, ASK, "topics", name="orders", partitions=(0, 2))
    asks = {
        Api.INIT_PRODUCER_ID: {"transactional_id": "till"},
        Api.ADD_PARTITIONS_TO_TXN: adds | {"transactional_id": "till", "producer_epoch": 2},
        Api.ADD_OFFSETS_TO_TXN: {"transactional_id": "till", "group_id": "kitchen"} | numbers,
        Api.END_TXN: {"transactional_id": "till", "committed": True} | numbers,
        Api.WRITE_TXN_MARKERS: marks(("orders", (0, 2)), ("bills", (1,))),
        Api.TXN_OFFSET_COMMIT: of(
            Api.TXN_OFFSET_COMMIT, ASK, "topics", "partitions", committed_offset=7
        )
        | {"transactional_id": "till", "group_id": "kitchen"}
        | numbers,
    }
    said = {api: words(asked(api, 1, request=request))[0][0] for api, request in asks.items()}
    assert said == {
        Api.INIT_PRODUCER_ID: "till · a new epoch",
        Api.ADD_PARTITIONS_TO_TXN: "till · epoch 2 · orders-0, orders-2",
        Api.ADD_OFFSETS_TO_TXN: "till · epoch 2 · offsets of kitchen",
        Api.END_TXN: "till · epoch 2 · commit",
        Api.WRITE_TXN_MARKERS: "abort · producer 4000 · epoch 2 · orders-0, orders-2 +1",
        Api.TXN_OFFSET_COMMIT: "till · epoch 2 · kitchen · orders-0 → 7",
    }
    again = {"transactional_id": "till"} | numbers  # after an error that is no end
    assert words(asked(Api.INIT_PRODUCER_ID, 1, request=again))[0][0] == "till · after epoch 2"


def test_the_transactional_id_of_markers_is_known_from_the_coordinators_event():
    changed = event("transaction.changed", 0, 2, id="till", producer=4000, epoch=2)
    markers = asked(Api.WRITE_TXN_MARKERS, 1, request=marks(("orders", (0,))), asker=2)
    for events in ((changed, markers), (markers, changed)):
        ask, answer = heard(*events).arrows
        assert told(ask)[0] == "abort · till · epoch 2 · orders-0"
        assert (ask.source, told(answer)[0]) == ("broker 2", "written")


def test_a_fetch_that_reads_committed_says_what_it_waits_for_and_skips():
    rows = of(
        Api.FETCH, ANSWER, "responses", "partitions", high_watermark=45, last_stable_offset=40
    )
    ask, answer = words(fetched(1, request={"isolation_level": 1}, response=rows))
    assert ask[0] == "orders-0 @ 42 · read_committed"
    assert answer[0] == "orders-0: 93 bytes, HW 45 · -0 LSO 40 · skip producer 0 from 0"


def copying():
    """A transaction of till, from its epoch to its markers; then an old producer of its id."""
    known = {"transactional_id": "till", "producer_id": 4000, "producer_epoch": 2}
    adds = of(Api.ADD_PARTITIONS_TO_TXN, ASK, "topics", name="orders", partitions=(0, 2))
    commits = of(Api.TXN_OFFSET_COMMIT, ASK, "topics", "partitions", committed_offset=7)
    till = {"client": "till", "broker": 3}
    epoch = {"producer_id": 4000, "producer_epoch": 2}
    starts = {"request": {"transactional_id": "till"}, "response": epoch}
    batch = records.encode(RECORDS, producer_id=4000, producer_epoch=2, transactional=True)
    sends = {"request": {"transactional_id": "till"} | to_orders(batch)}
    offsets = {"request": commits | known | {"group_id": "kitchen"}}
    ends = {"request": known | {"committed": True}}
    fenced = {"response": {"error_code": ErrorCode.producer_fenced}, "client": "old till"}
    marked = {"request": marks(("orders", (0, 2))), "asker": 3, "broker": 1}
    return [
        asked(Api.FIND_COORDINATOR, 1, 0, 2, request={"key": "till", "key_type": 1}, **till),
        asked(Api.INIT_PRODUCER_ID, 2, 5, 9, **starts, **till),
        event("transaction.changed", 14, 3, id="till", **EPOCH)._replace(number=10),
        asked(Api.ADD_PARTITIONS_TO_TXN, 3, 20, 5, request=adds | known, **till),
        produced(4, 30, 4, **sends, client="till"),
        asked(Api.ADD_OFFSETS_TO_TXN, 5, 40, 3, request=known | {"group_id": "kitchen"}, **till),
        asked(Api.TXN_OFFSET_COMMIT, 6, 50, 5, client="till", **offsets),
        asked(Api.END_TXN, 7, 60, 6, **ends, **till),
        asked(Api.WRITE_TXN_MARKERS, 8, 67, 4, **marked),
        asked(Api.END_TXN, 9, 80, 2, broker=3, **ends, **fenced),
    ]


def marks(*topics):
    """The request for markers in these partitions, of a transaction that was aborted."""
    (marker,) = sample(message(Api.WRITE_TXN_MARKERS, 1, ASK)).markers
    (topic,) = marker.topics
    rows = tuple(replace(topic, name=name, partition_indexes=numbers) for name, numbers in topics)
    return {
        "markers": (
            replace(
                marker, producer_id=4000, producer_epoch=2, transaction_result=False, topics=rows
            ),
        )
    }


def test_the_rest_is_reported_by_what_matters_in_it():
    found = {"node_id": 2, "throttle_time": timedelta()}
    ask, answer = words(asked(Api.FIND_COORDINATOR, 1, request={"key": "g"}, response=found))
    assert (ask[0], answer[0]) == ("of g", "broker 2")
    till = {"key": "till", "key_type": 1}
    assert words(asked(Api.FIND_COORDINATOR, 1, request=till))[0][0] == "of transactional id till"
    writes = {"transactional_id": "till"} | to_orders(records.encode(RECORDS))
    said = words(produced(1, request=writes))[0][0]
    assert said == "till · epoch -1 · orders-0 · 2 records · acks -1"
    numbered = {"producer_id": 5, "producer_epoch": 1}
    ask, answer = words(asked(Api.INIT_PRODUCER_ID, 1, response=numbered))
    assert (ask[0], answer[0]) == ("to be idempotent", "producer 5 · epoch 1")
    names = {"client_software_name": "librdkafka", "client_software_version": "2.3"}
    assert words(asked(Api.API_VERSIONS, 1, request=names)) == [
        ("librdkafka 2.3", False),
        ("1 API", False),
    ]
    rows = [{"topic": "orders", "partition": 0, "leader": 2}]
    event = asked(Api.LEADER_AND_ISR, 1, bytes_too=False, partitions=rows, more=4)
    assert words(event)[0][0] == "orders-0 leader 2 · and 4 more"
    assert words(asked(Api.LEAVE_GROUP, 1, request={"group_id": "kitchen"}))[0][0] == "kitchen"
    topics = of(Api.CREATE_TOPICS, ASK, "topics", "configs", name="segment.bytes")
    assert words(asked(Api.CREATE_TOPICS, 1, request=topics))[0][0] == "orders"


def test_of_a_simulated_message_there_are_words_only():
    def message(words, **facts):
        return MessageArrow(
            1, 1, ANSWER, "broker 1", "producer", "answers", "", None, words, **facts
        )

    assert told(message("offset 5, 3 ms")) == ("offset 5, 3 ms", False)
    assert told(message("not_leader_or_follower, 3 ms")) == ("NOT_LEADER_OR_FOLLOWER, 3 ms", True)
    assert told(message("offset 5", lost=True)) == ("lost, offset 5", True)


@pytest.mark.parametrize("api", list(Api), ids=lambda it: it.name)
def test_every_api_has_words_with_bytes_and_without(api):
    for bytes_too in (True, False):
        for said, failed in words(asked(api, 1, bytes_too=bytes_too)):
            assert isinstance(said, str) and not failed


def test_what_only_a_broker_without_zookeeper_serves():
    several = {"coordinator_keys": ("g", "h")}
    ask, answer = words(asked(KRaftApi.FIND_COORDINATOR, 1, request=several))
    assert (ask[0], answer[0]) == ("of g, h", "broker 0")
    assert words(asked(KRaftApi.LIST_TRANSACTIONS, 1)) == [("", False), ("done", False)]
