"""Bytes that are no request: that connection is closed, and nobody else hears of it.

Each test ends with a question on a connection that was there before all of them.
"""

from datetime import timedelta
from random import Random
from struct import pack
from types import SimpleNamespace as Message

import pytest

from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from tests.interop.raw import Raw, batch, create, fetch, framed, metadata, produce
from tests.interop.watch import bounded, descriptors, told, until

CONFIG = {"socket.request.max.bytes": "2000000", "max.connections": "1200"}
LITTLE = 4 << 20  # bytes: what a broker may grow by while it refuses something


@pytest.fixture(scope="module")
def neighbour(cluster):
    with Raw(cluster.bootstrap) as neighbour:
        yield neighbour


@pytest.fixture(autouse=True)
def others_live_on(cluster, neighbour):
    before = neighbour.create("neighbour"), neighbour.end_offset("neighbour")
    yield
    assert neighbour.produce("neighbour", batch("still", "here")).error_code == 0
    assert len(neighbour.read("neighbour")) == before[1] + 2


def message(api: int, version: int, body: bytes = b"", client_id: bytes = b"\0\3raw") -> bytes:
    return pack(">hhi", api, version, 7) + client_id + body


def metadata_of(count: int) -> bytes:
    """Metadata in version 1, which says how many topics follow; none do."""
    return message(Api.METADATA, 1, pack(">i", count))


BAD = {
    "size 0": (framed(b"", 0), "announces 0 bytes"),
    "size -1": (framed(b"", -1), "announces -1 bytes"),
    "the least size": (framed(b"", -(2**31)), "announces -2147483648 bytes"),
    "a size over the limit": (framed(b"", 2_000_001), "announces 2000001 bytes"),
    "the greatest size": (framed(b"", 2**31 - 1), "announces 2147483647 bytes"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "announces 1195725856 bytes"),
    "TLS": (b"\x16\3\1\2\0\1\0\1\xfc\3\3" + bytes(500), "announces"),
    "garbage": (framed(Random(1).randbytes(300)), "not served"),
    "zeros": (framed(bytes(10)), "requires a buffer"),
    "a header cut off": (framed(b"\0\3"), "requires a buffer"),
    "an unknown API": (framed(message(999, 0)), "API 999 is not served"),
    "a negative API": (framed(message(-1, 0)), "API -1 is not served"),
    "a version too high": (framed(message(Api.METADATA, 13, b"\0")), "version 13 of API 3"),
    "a version too low": (framed(message(Api.CONTROLLED_SHUTDOWN, 0)), "API 7"),
    "a negative version": (framed(message(Api.METADATA, -1)), "version -1 of API 3"),
    "a client id cut off": (framed(message(3, 1, client_id=b"\x7f\xffx")), "32767 bytes"),
    "more topics than bytes": (framed(metadata_of(1000)), "1000 elements"),
    "the most topics": (framed(metadata_of(2**31 - 1)), "2147483647 elements"),
    "minus seven topics": (framed(metadata_of(-7)), "a length of -7"),
    "a number without end": (framed(message(3, 11, b"\xff" * 40)), "more than five bytes"),
    "a string longer than Kafka reads": (
        framed(message(3, 11, b"\0\2" + bytes(16) + b"\x81\x80\2" + b"n" * 2**15)),
        "a string of 32768 bytes",
    ),
    "a compact count too high": (framed(message(3, 11, b"\0\xff\xff\xff\xff\7")), "elements"),
}


@pytest.mark.parametrize(("data", "reason"), BAD.values(), ids=BAD)
def test_what_is_no_request_closes_the_connection(cluster, data, reason):
    broker = cluster.child(1)
    with Raw(cluster.bootstrap) as bad, bounded(broker.pid, LITTLE):
        assert bad.is_served()
        with told(broker, f"closing the connection of .*{reason}"):
            bad.send(data)
            assert bad.hung_up()


def test_what_was_asked_before_is_answered_first(cluster, client, topic):
    """Ten good requests and a bad one in one packet."""
    header = RequestHeader(Api.METADATA, 11, 0, "raw")
    good = codec.encode_request(header, metadata(topic))
    stored = codec.encode_request(
        RequestHeader(Api.PRODUCE, 9, 1, "raw"), produce(topic, batch("kept"), acks=0)
    )
    with Raw(cluster.bootstrap) as bad:
        bad.send(good * 10 + stored + framed(b"", -1))
        for _ in range(10):
            assert codec.decode_response(header, bad.frame()).topics[0].error_code == 0
        assert bad.hung_up()
    assert client.end_offset(topic) == 1


def test_a_request_that_breaks_off_is_forgotten(cluster):
    broker = cluster.child(1)
    with Raw(cluster.bootstrap) as last:
        last.end()
        assert last.hung_up()  # and before it the broker has closed those of other tests
    before = descriptors(broker.pid)
    cut_off = "closed the connection in the middle of a request"
    with bounded(broker.pid, LITTLE), told(broker, cut_off):
        for cut in range(1, 60):
            with Raw(cluster.bootstrap) as torn:
                torn.send(framed(bytes(900_000))[:cut])
    until(lambda: descriptors(broker.pid) == before)


def test_what_is_announced_is_not_allocated(cluster):
    """A hundred connections that announce two megabytes each, and send three bytes."""
    broker, connections = cluster.child(1), []
    with bounded(broker.pid, 8 << 20):
        for _ in range(100):
            connections.append(Raw(cluster.bootstrap))
            connections[-1].send(pack(">i", 2_000_000) + b"abc")
        assert all(connection.is_silent() for connection in connections)
    for connection in connections:
        connection.close()


def test_as_much_as_the_limit_is_taken(cluster, client):
    name = "a" * 1_000
    asked = [name] * 1_995
    header = RequestHeader(Api.METADATA, 1, 7, "raw")
    frame = codec.encode_request(header, metadata(*asked))[4:]
    frame += bytes(2_000_000 - len(frame))  # bytes that are left over are passed over, as by Kafka
    with told(cluster.child(1), "longer than 249"):
        client.send(framed(frame))
        assert len(codec.decode_response(header, client.frame()).topics) == 1


@pytest.mark.parametrize("version", [4, 9, 32767])
def test_a_client_from_the_future_is_told_in_the_oldest_form(client, version):
    """Error 35 with the versions of this one API, header and body in version 0."""
    body = b"\0" + b"\4new" + b"\0041.0" + b"\0" + b"whatever comes then"
    client.send(framed(message(Api.API_VERSIONS, version, body)))
    assert client.frame() == pack(">ihi", 7, 35, 1) + pack(">hhh", Api.API_VERSIONS, 0, 3)
    assert client.is_served()


# -- requests that are well-formed, and cannot be granted ------------------------------------


def deciding(cluster):
    """The process that decides on topics."""
    number = cluster.state().controller
    return cluster.child(f"controller-{number - 100}" if cluster.is_kraft else number)


NAMES = {
    "two dots": "..",
    "one dot": ".",
    "a slash": "a/b",
    "empty": "",
    "250 characters": "a" * 250,
    "not ASCII": "größe",
    "NUL": "a\0b",
    "a newline": "a\n",
    "a blank": "a b",
    "way out": "../../../tmp/x",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_topic_cannot_have_any_name(cluster, client, name):
    broker = cluster.child(1)
    for may_create in (True, False):
        with told(broker, "refused with invalid_topic_exception: Topic name"):
            assert [topic.error_code for topic in client.topics(name, create=may_create)] == [17]
    with told(deciding(cluster), "Topic name"):
        assert client.create(name) == 17
    with told(broker, "is not on this broker"):
        assert client.produce(name, batch("x")).error_code == 3
    assert client.fetch(name, 0).error_code == 3


def test_names_do_not_forge_or_flood_the_log(cluster, client):
    broker = cluster.child(1)
    before = len(broker.output())
    for name in ("a\n2021-04-19 ERROR forged", "\x1b[31mred", "long" * 8_000):
        assert client.create(name) == 17
        assert client.produce(name, batch("x")).error_code == 3
    told = broker.output()[before:]
    assert "forged" in told
    assert "\n2021" not in told
    assert "\x1b" not in told
    assert len(told) < 30_000


def test_a_name_of_249_characters_is_taken(client):
    name = "n" * 249
    assert client.create(name) == 0
    assert client.produce(name, batch("x")).error_code == 0
    assert client.delete(name) == 0


def test_two_names_may_not_differ_by_a_dot_only(cluster, client, topic):
    assert client.create(f"{topic}_a.b") == 0
    for name in (f"{topic}.a.b", f"{topic}_a_b"):
        with told(deciding(cluster), "collides with existing topics"):
            assert client.create(name) == 17
        with told(cluster.child(1), "collides with existing topics"):
            assert client.topics(name, create=True)[0].error_code == 17


def test_a_topic_has_partitions_and_no_more_replicas_than_there_are_brokers(cluster, client, topic):
    for partitions, replication, code in [(0, 1, 37), (-5, 1, 37), (1, 99, 38), (1, 0, 38)]:
        with told(deciding(cluster), r"refused with invalid_\w+: (Number of part|Replication)"):
            assert client.create("impossible", partitions, replication) == code
    with told(deciding(cluster), "already exists"):
        assert client.create(topic) == 36
    assert client.topics("impossible")[0].error_code == 3


def test_billions_of_partitions_are_refused_before_they_are_counted(cluster, client, topic):
    broker = deciding(cluster)
    with bounded(broker.pid, LITTLE), told(broker, "Excessively large number of partitions"):
        assert client.create("endless", 2**31 - 1) == 44
    with bounded(broker.pid, LITTLE), told(broker, "Excessively large number of partitions"):
        more = Message(name=topic, count=2**31 - 1, assignments=None)
        request = Message(topics=(more,), timeout=timedelta(seconds=1), validate_only=False)
        assert client.ask(Api.CREATE_PARTITIONS, request).results[0].error_code == 44


def test_more_than_a_topic_can_have_is_refused(cluster, client, topic):
    """A request adds 10,000 partitions at most."""
    wide = create(f"wide-{topic}")
    each = [Message(partition_index=number, broker_ids=(1,)) for number in range(90_000)]
    wide.topics[0].num_partitions = wide.topics[0].replication_factor = -1
    wide.topics[0].assignments = tuple(each)
    with told(deciding(cluster), "Excessively large number of partitions"):
        assert client.ask(Api.CREATE_TOPICS, wide).topics[0].error_code == 44
    assert client.create(f"next-{topic}") == 0


def test_more_than_a_znode_can_hold_is_refused(cluster, client, topic):
    """A znode ends at a megabyte, and ZooKeeper hangs up on whoever sends more. Without it, a value
    ends at 32,767 bytes."""
    name = "follower.replication.throttled.replicas"

    def answers():
        for broker in range(36):
            more = ",".join(f"{partition}:{broker}" for partition in range(4_000))
            append = Message(name=name, config_operation=2, value=more)
            resource = Message(resource_type=2, resource_name=topic, configs=(append,))
            request = Message(resources=(resource,), validate_only=False)
            yield client.ask(Api.INCREMENTAL_ALTER_CONFIGS, request).responses[0].error_code

    what = "maximum value size" if cluster.is_kraft else "more than a ZooKeeper node can hold"
    with told(deciding(cluster), what):
        assert set(answers()) == {0, 40 if cluster.is_kraft else 44}
    assert client.create(f"next-{topic}") == 0


def test_nobody_writes_to_the_broker_s_own_topics(cluster, client):
    for existing in (False, True):
        if existing:
            assert client.create("__consumer_offsets") == 0
        with told(cluster.child(1), "PRODUCE of __consumer_offsets-0"):
            assert client.produce("__consumer_offsets", batch("x")).error_code == 17
    assert client.end_offset("__consumer_offsets") == 0


def test_an_offset_that_is_not_there(cluster, client, topic):
    assert client.produce(topic, batch("a", "b")).error_code == 0
    for offset in (-1, 3, 2**63 - 1):
        with told(cluster.child(1), f"FETCH of {topic}-0 .* has offsets 0 to 2, not {offset}"):
            answer = client.fetch(topic, offset)
        assert answer.error_code == 1
        assert not answer.records
    assert client.fetch(topic, 2).error_code == 0


def test_a_session_that_is_not_there_and_an_epoch_that_was_lost(cluster, client, topic):
    def ask(session: int, epoch: int) -> Message:
        return client.ask(Api.FETCH, fetch(topic, 0, session=(session, epoch)))

    opened = ask(0, 0)
    assert opened.error_code == 0
    assert opened.session_id > 0
    for session in (1, -1, opened.session_id ^ 1):
        with told(cluster.child(1), f"no fetch session {session}"):
            assert ask(session, 1).error_code == 70
    assert ask(opened.session_id, 1).error_code == 0
    for epoch in (1, 3, 99):
        with told(cluster.child(1), f"expects epoch 2, not {epoch}"):
            assert ask(opened.session_id, epoch).error_code == 71
    assert ask(opened.session_id, 2).error_code == 0


def test_one_session_on_two_connections_harms_nobody(cluster, client, topic):
    """A client that is confused asks twice in one session, and forgets what it waits for."""
    opened = client.ask(Api.FETCH, fetch(topic, 0, session=(0, 0))).session_id
    with Raw(cluster.bootstrap) as twin:
        wait = fetch(topic, 0, session=(opened, 1), max_wait=60_000)
        header = client.post(Api.FETCH, wait)
        forget = fetch(topic, 0, session=(opened, 2))
        forget.topics = ()
        forget.forgotten_topics_data = (Message(topic=topic, partitions=(0,)),)
        until(lambda: twin.ask(Api.FETCH, forget).error_code == 0)
        assert twin.produce(topic, batch("a")).error_code == 0
        answer = codec.decode_response(header, client.frame())
    assert answer.error_code == 0


def test_timeouts_beyond_reason(client, topic):
    """Negative ones are over at once; the longest do not overflow."""
    for milliseconds in (-(2**31), -1, 2**31 - 1):
        request = produce(topic, batch("a"))
        request.timeout = timedelta(milliseconds=milliseconds)
        assert client.ask(Api.PRODUCE, request).responses[0].partition_responses[0].error_code == 0
    hurried = create(f"hurried-{topic}")
    hurried.timeout = timedelta(milliseconds=-1)
    assert client.ask(Api.CREATE_TOPICS, hurried).topics[0].error_code in (0, 7)
    assert client.ask(Api.FETCH, fetch(topic, 3, max_wait=-(2**31))).error_code == 0
