"""Who said what to whom: out of a cluster's events, and out of a simulator's trace."""

from dataclasses import replace

from engine.broker.frames import texts
from engine.cluster.event_stream import ClusterEvent
from engine.errors import ErrorCode
from engine.storage import records
from engine.wire.apis import Api
from engine.wire.codec import encode_request, message
from engine.wire.errors import RequestHeader
from engine.wire.kraft_apis import EVERY_API
from proof.storms.moment import Moment, TraceMessage
from tests.unit.widgets.cluster import START, state
from tests.unit.widgets.test_wire_anatomy import RECORDS, sample
from tests.unit.wire.frames import encode_response
from widgets.wire.anatomy import ANSWER, ASK
from widgets.wire.exchange import MessageLog


def asked(api, number, at=0, took=1, *, client="producer-1", broker=1, bytes_too=True, **facts):
    """The event of a request: it came so many ms after the start. `request`, `response`: fields."""
    changes = {way: facts.pop(way, {}) for way in (ASK, ANSWER)}
    version = facts.pop("version", api.newest)
    header = RequestHeader(api, version, number, client)
    frames = [
        write(header, replace(sample(message(api, version, way)), **changes[way]), EVERY_API)
        for way, write in ((ASK, encode_request), (ANSWER, encode_response))
    ]
    data = {"api": api.name, "version": version, "client": client, "peer": "127.0.0.1:5"}
    data |= {"size": len(frames[0]) - 4, "took": took, **facts}
    data |= texts(frames[0][4:], [frames[1]]) if bytes_too else {}
    return ClusterEvent("request", START + at + took, broker, data, number)


def fetched(number, at=0, took=1, *, given=93, **facts):
    row = {"topic": "orders", "partition": 0, "offset": 42}
    row |= {"bytes": given, "high_watermark": 45, "error": 0} if given else {}
    return asked(Api.FETCH, number, at, took, partitions=[row], **facts)


def produced(number, at=0, took=1, *, error=0, **facts):
    row = {"topic": "orders", "partition": 0, "bytes": 70, "offset": 42, "error": error}
    return asked(
        Api.PRODUCE, number, at, took, partitions=[row], **{"request": TWO_RECORDS} | facts
    )


def to_orders(batch):
    """The fields of a produce request with one batch."""
    (topic,) = sample(message(Api.PRODUCE, 9, ASK)).topic_data
    part = replace(topic.partition_data[0], records=batch)
    return {"acks": -1, "topic_data": (replace(topic, name="orders", partition_data=(part,)),)}


TWO_RECORDS = to_orders(records.encode(RECORDS))


def heard(*events, **facts):
    talk = MessageLog(**facts)
    talk.add(events)
    return talk


def drawn(talk):
    return [(it.at - START, it.source, it.target, it.kind, it.way) for it in talk.arrows]


def test_a_request_and_its_answer_are_two_arrows_in_the_order_of_time():
    slow = fetched(2, 5, 100, client="c1")
    quick = produced(1, 10, 2)
    talk = heard(quick, slow, ClusterEvent("isr.changed", START, 1, {}, 3))
    assert drawn(talk) == [
        (5, "c1", "broker 1", "Fetch", ASK),
        (10, "producer-1", "broker 1", "Produce", ASK),
        (12, "broker 1", "producer-1", "Produce", ANSWER),
        (105, "broker 1", "c1", "Fetch", ANSWER),
    ]
    assert talk.start == START + 5
    assert talk.last == 3
    assert not talk.add([])


def test_microseconds_decide_what_was_first():
    effect = fetched(
        1, 10, 0, came_us=(START + 10) * 1000 - 9000, left_us=(START + 10) * 1000 + 800
    )
    cause = produced(2, 10, 0, came_us=(START + 10) * 1000 + 200, left_us=(START + 11) * 1000)
    talk = heard(effect, cause)
    assert [(it.kind, it.way) for it in talk.arrows][:3] == [
        ("Fetch", ASK),
        ("Produce", ASK),
        ("Fetch", ANSWER),
    ]


def test_brokers_are_known_by_what_only_they_say():
    talk = heard(
        fetched(1, asker=2, client="broker-2-fetcher-0", broker=3),
        asked(Api.LEADER_AND_ISR, 2, controller_id=3, client="3", broker=3),  # older recordings
        asked(Api.METADATA, 3, client=None, broker=1),
        asked(Api.METADATA, 4, client="a broker", broker=10),
    )
    assert talk.parties == ["client at 127.0.0.1:5", "a broker", *(f"broker {it}" for it in
                            (1, 2, 3, 10))]  # fmt: skip
    assert talk.arrows[0].parties == {"broker 2", "broker 3"}
    assert talk.kinds == ["Fetch", "LeaderAndIsr", "Metadata"]


def test_a_produce_that_wants_no_answer_has_none():
    talk = heard(asked(Api.PRODUCE, 1))
    assert drawn(talk) == [(0, "producer-1", "broker 1", "Produce", ASK)]
    assert not talk.arrows[0].answer


def test_what_comes_all_the_time_is_routine_unless_it_fails():
    beat = asked(Api.HEARTBEAT, 1)
    thrown_out = asked(Api.HEARTBEAT, 2, response={"error_code": ErrorCode.unknown_member_id})
    refused = fetched(5, given=0, response={"error_code": ErrorCode.fetch_session_id_not_found})
    talk = heard(beat, thrown_out, fetched(3, given=0), fetched(4), refused)
    told = {it.number: it.routine for it in talk.arrows}
    assert told == {1: "heartbeat", 2: "", 3: "empty fetch", 4: "", 5: ""}
    refusals = {it.number: it.exchange.errors for it in talk.arrows if it.exchange.errors}
    assert refusals == {2: ["UNKNOWN_MEMBER_ID"], 5: ["FETCH_SESSION_ID_NOT_FOUND"]}


def test_bytes_are_kept_though_the_stream_lets_them_go():
    event = produced(1)
    talk = heard(event)
    del event.data["asked"]
    assert talk.arrows[0].exchange.asked[0].name == "size"
    bare = heard(produced(1, bytes_too=False, error=6)).arrows[0].exchange
    assert (bare.asked, bare.answered) == ([], [])
    assert bare.errors == ["NOT_LEADER_OR_FOLLOWER"]  # the event tells without them


def test_of_a_long_talk_the_newest_are_remembered():
    talk = heard(*(produced(number, number) for number in range(1, 31)), most=10)
    assert (len(talk.arrows), talk.forgotten) == (20, 40)
    assert talk.arrows[0].number == 21
    talk.add([produced(31, 31)])
    assert talk.start == START + 1  # the clock does not begin anew


def test_a_simulated_run_is_reported_message_by_message():
    messages = [
        TraceMessage("producer", "broker-1", "Produce orders-0 r1 acks=all", False, 14),
        TraceMessage("broker-1", "broker-2", "Fetched orders-0 70 bytes", False, 12),
        TraceMessage("broker-1", "producer", "NOT_LEADER_OR_FOLLOWER", False, 13),
        TraceMessage("broker-1", "zookeeper", "create /brokers/ids/1", False, -1),
        TraceMessage("member-1", "broker-1", "Heartbeat", True, 13),
    ]
    talk = MessageLog()
    assert talk.add_moments([Moment(10, state(), (), tuple(messages)), Moment(20, state(), (), ())])
    first, *_, lost, beat = talk.arrows
    assert (first.source, first.target, first.kind) == ("producer", "broker 1", "Produce")
    assert (first.words, first.way) == ("orders-0 r1 acks=all, 4 ms", ASK)
    assert [it.way for it in talk.arrows] == [ASK, ANSWER, ANSWER, ASK, ASK]
    assert (lost.lost, lost.words) == (True, "/brokers/ids/1")
    assert beat.routine == "routine message"
    assert talk.parties == ["producer", "member-1", "broker 1", "broker 2", "zookeeper"]
