"""Many connections, silent ones, and clients that do not read: they cost the others nothing."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from statistics import median
from threading import Event, Thread
from types import SimpleNamespace as Message

import pytest

from engine.cluster.cluster import Cluster
from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from tests.interop.raw import Raw, batch, fetch, metadata, produce, unpacked
from tests.interop.watch import bounded, descriptors, told, until

# What is deleted goes at once, and not after a minute.
CONFIG = {
    "log.segment.delete.delay.ms": "0",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
MEGABYTE = 1 << 20
SMALL_WINDOW = 64 * 1024  # a client's receive buffer


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Raw]:
    """A connection that is closed by the broker, too, before the next test counts what is open."""
    with Raw(cluster.bootstrap) as client:
        yield client
        client.end()
        assert client.hung_up()


@pytest.fixture
def large(client, topic) -> str:
    """A topic with 48 MB in its first partition."""
    block = os.urandom(900_000)
    request = codec.encode_request(
        RequestHeader(Api.PRODUCE, 9, 7, "raw"), produce(topic, batch(block))
    )
    for _ in range(54):
        client.send(request)
        client.frame()
    return topic


def pace(client: Raw, topic: str, rounds: int = 60) -> float:
    """Seconds that a produce and a fetch take, most of the time."""
    taken = []
    for _ in range(rounds):
        start = time.monotonic()
        offset = client.produce(topic, batch("x"), partition=1).base_offset
        assert client.fetch(topic, offset, partition=1).records
        taken.append(time.monotonic() - start)
    return median(taken)


# -- many ------------------------------------------------------------------------------------


def test_a_thousand_idle_connections_cost_little(cluster, client, topic):
    broker = cluster.child(1)
    before, files = pace(client, topic), descriptors(broker.pid)
    with ExitStack() as idle, bounded(broker.pid, 30 * MEGABYTE):
        connections = [idle.enter_context(Raw(cluster.bootstrap)) for _ in range(1000)]
        assert all(connection.is_served() for connection in connections)
        assert descriptors(broker.pid) == files + 1000
        assert pace(client, topic) < 3 * before + 0.005
        assert all(connection.is_silent() for connection in connections)
    until(lambda: descriptors(broker.pid) == files)


def test_five_hundred_connections_work_at_once(cluster, client, topic):
    """Each sends before any reads; every record is stored once, in its connection's order."""
    files = descriptors(cluster.child(1).pid)
    with ExitStack() as busy:
        connections = [busy.enter_context(Raw(cluster.bootstrap)) for _ in range(500)]
        for turn in range(4):
            headers = [
                connection.post(Api.PRODUCE, produce(topic, batch(f"{number} {turn}")))
                for number, connection in enumerate(connections)
            ]
            for connection, header in zip(connections, headers, strict=True):
                answer = codec.decode_response(header, connection.frame())
                assert answer.responses[0].partition_responses[0].error_code == 0
    values = [record.value.decode() for record in client.read(topic)]
    expected = [f"{number} {turn}" for number in range(500) for turn in range(4)]
    assert sorted(values, key=lambda value: int(value.split()[0])) == expected
    until(lambda: descriptors(cluster.child(1).pid) == files)


# -- greedy ----------------------------------------------------------------------------------


def test_a_client_that_never_reads_stops_only_itself(cluster, client, large):
    """It asks for ten gigabytes; its socket is full after some hundred kilobytes."""
    broker = cluster.child(1)
    before = pace(client, large)
    request = codec.encode_request(
        RequestHeader(Api.FETCH, 12, 7, "deaf"), fetch(large, 0, max_bytes=40 * MEGABYTE)
    )
    with ExitStack() as deaf_ones, bounded(broker.pid, 10 * MEGABYTE):
        for _ in range(5):
            deaf = deaf_ones.enter_context(Raw(cluster.bootstrap, receive_buffer=SMALL_WINDOW))
            sent = deaf.send_what_fits(request * 50_000)
            assert sent < len(request) * 50_000, "the broker reads on and on"
        assert pace(client, large) < 3 * before + 0.005


def test_a_client_that_never_reads_small_answers_is_not_read_from(cluster, client, topic):
    """Answers that do not come from files wait in memory: no more than a few of them."""
    broker = cluster.child(1)
    asked = Message(resource_type=2, resource_name=topic, configuration_keys=None)
    describe = Message(resources=(asked,), include_synonyms=True, include_documentation=True)
    header = RequestHeader(Api.DESCRIBE_CONFIGS, 4, 7, "deaf" * 500)
    requests = codec.encode_request(header, describe) * 20_000  # 40 MB; the answers are far more
    with (
        Raw(cluster.bootstrap, receive_buffer=SMALL_WINDOW) as deaf,
        bounded(broker.pid, 10 * MEGABYTE),
    ):
        assert deaf.send_what_fits(requests) < len(requests)
        assert client.is_served()


def test_a_flood_of_requests_leaves_the_others_their_turn(cluster, client, topic):
    """Thousands of small requests in each packet: the neighbour waits for one, not for all."""
    ask = RequestHeader(Api.API_VERSIONS, 0, 7, "flood")
    packet = codec.encode_request(ask, None) * 10_000
    with flooding(cluster, packet):
        taken = []
        for _ in range(30):
            start = time.monotonic()
            assert client.is_served()
            taken.append(time.monotonic() - start)
    assert median(taken) < 0.1


@contextmanager
def flooding(cluster: Cluster, packet: bytes) -> Iterator[None]:
    over = Event()
    with Raw(cluster.bootstrap) as flood:

        def send() -> None:
            while not over.is_set():
                flood.send(packet)

        def read() -> None:
            with suppress(ConnectionError):  # hung up with answers still on their way
                while flood.receive(MEGABYTE):
                    pass

        reader, writer = Thread(target=read), Thread(target=send)
        reader.start()
        writer.start()
        try:
            yield
        finally:
            over.set()
            writer.join()
            flood.hang_up()
            reader.join()


# -- slow ------------------------------------------------------------------------------------


def test_a_slow_reader_gets_its_own_bytes_though_the_topic_is_deleted(cluster, client, large):
    """What is being sent stays open, and no other file takes its place."""
    with Raw(cluster.bootstrap, receive_buffer=SMALL_WINDOW) as slow:
        whole = client.fetch(large, 0, max_bytes=40 * MEGABYTE).records
        header = slow.post(Api.FETCH, fetch(large, 0, max_bytes=40 * MEGABYTE))
        until(lambda: not slow.is_silent())
        assert client.delete(large) == 0
        until(lambda: not [*cluster.directory(1).glob("*-delete")])
        for number in range(20):  # they get the descriptors that the deleted one had
            assert client.create(f"after-{large}-{number}") == 0
            assert client.produce(f"after-{large}-{number}", batch("x" * 900_000)).error_code == 0
        answer = codec.decode_response(header, slow.frame())
        slow.end()
        assert slow.hung_up()
    records = answer.responses[0].partitions[0].records
    assert len(unpacked(records)) >= 40
    assert records == whole


def test_a_reader_that_goes_away_while_it_is_sent_to(cluster, client, large):
    broker = cluster.child(1)
    files = descriptors(broker.pid)
    for _ in range(10):
        with Raw(cluster.bootstrap, receive_buffer=SMALL_WINDOW) as gone:
            gone.post(Api.FETCH, fetch(large, 0, max_bytes=40 * MEGABYTE))
            until(lambda gone=gone: not gone.is_silent())
    until(lambda: descriptors(broker.pid) == files)
    assert "Traceback" not in broker.output()


# -- a broker with little patience -----------------------------------------------------------


@pytest.fixture(scope="module")
def strict() -> Iterator[Cluster]:
    with Cluster(config={"connections.max.idle.ms": "1000", "max.connections": "20"}) as strict:
        yield strict


def test_a_silent_connection_is_closed(strict):
    with (
        Raw(strict.bootstrap) as silent,
        Raw(strict.bootstrap) as busy,
        told(strict.child(1), "dropping the connection of .*connections.max.idle.ms"),
    ):
        assert silent.is_served()
        until(lambda: busy.is_served() and not silent.is_silent())
        assert silent.hung_up()
        assert busy.is_served()


def test_one_that_is_silent_because_it_does_not_read_is_closed_too(strict):
    broker = strict.child(1)
    controllers = " (1): it was idle"  # the broker's connection to itself, as it is the controller
    closed = broker.output().count(controllers)
    with Raw(strict.bootstrap) as client:
        assert client.create("large") == 0
        for _ in range(30):
            assert client.produce("large", batch("x" * 900_000)).error_code == 0
    until(lambda: broker.output().count(controllers) > closed)
    files = descriptors(broker.pid)
    with Raw(strict.bootstrap, receive_buffer=SMALL_WINDOW) as deaf:
        deaf.send_what_fits(
            codec.encode_request(
                RequestHeader(Api.FETCH, 12, 7, "deaf"), fetch("large", 0, max_bytes=24 * MEGABYTE)
            )
        )
        until(lambda: not deaf.is_silent())
        until(lambda: descriptors(broker.pid) == files)
    assert "Traceback" not in broker.output()


def test_one_connection_too_many_is_closed(strict):
    alone(strict)
    with ExitStack() as all_of_them, told(strict.child(1), "there are 20 connections"):
        connections = [all_of_them.enter_context(Raw(strict.bootstrap)) for _ in range(20)]
        assert all(connection.is_served() for connection in connections)
        with Raw(strict.bootstrap) as excess:
            assert excess.hung_up()
        connections[0].close()
        until(lambda: _gets_in(strict))


def alone(cluster):
    """Until the broker has noticed that all the clients before us are gone."""
    until(lambda: cluster.state().brokers[1].connections == 0)


def test_how_many_connections_there_may_be_can_be_changed(strict):
    alone(strict)
    change = Message(name="max.connections", config_operation=0, value="25")
    broker = Message(resource_type=4, resource_name="1", configs=(change,))
    request = Message(resources=(broker,), validate_only=False)
    with ExitStack() as all_of_them:
        connections = [all_of_them.enter_context(Raw(strict.bootstrap)) for _ in range(20)]
        answer = connections[0].ask(Api.INCREMENTAL_ALTER_CONFIGS, request)
        assert answer.responses[0].error_code == 0
        connections += [all_of_them.enter_context(Raw(strict.bootstrap)) for _ in range(5)]
        assert all(connection.is_served() for connection in connections)
        with Raw(strict.bootstrap) as excess:
            assert excess.hung_up()


def change(client: Raw, key: str, value: str) -> int:
    changed = Message(name=key, config_operation=0, value=value)
    broker = Message(resource_type=4, resource_name="1", configs=(changed,))
    request = Message(resources=(broker,), validate_only=False)
    return int(client.ask(Api.INCREMENTAL_ALTER_CONFIGS, request).responses[0].error_code)


def test_how_many_connections_an_address_may_have(strict):
    """127.0.0.2 is this machine, too."""
    alone(strict)
    _, port = strict.bootstrap.split(":")
    with Raw(strict.bootstrap) as admin, told(strict.child(1), "from 127.0.0.1 .maximum = 1."):
        assert change(admin, "max.connections.per.ip.overrides", "127.0.0.1:x") != 0
        assert change(admin, "max.connections.per.ip", "1") == 0
        with Raw(strict.bootstrap) as excess:
            assert excess.hung_up()
        with socket.create_connection(("127.0.0.1", int(port)), source_address=("127.0.0.2", 0)):
            until(lambda: strict.state().brokers[1].connections == 2)
        assert change(admin, "max.connections.per.ip.overrides", "127.0.0.1:2") == 0
        until(lambda: _gets_in(strict))
        assert change(admin, "max.connections.per.ip", str(2**31 - 1)) == 0
        assert change(admin, "max.connections.per.ip.overrides", "") == 0


def test_connections_that_come_too_fast_wait_for_their_turn(cluster):
    """Two a second, for eleven seconds: the twenty-first waits, and those behind it."""
    with Raw(cluster.bootstrap) as admin:
        assert change(admin, "max.connection.creation.rate", "2") == 0
        try:
            start = time.monotonic()
            for _ in range(24):
                with Raw(cluster.bootstrap) as client:
                    assert client.is_served()
            assert time.monotonic() - start > 1
        finally:
            assert change(admin, "max.connection.creation.rate", str(2**31 - 1)) == 0


def _gets_in(cluster: Cluster) -> bool:
    with Raw(cluster.bootstrap) as client:
        client.post(Api.METADATA, metadata())
        return not client.hung_up()


def test_it_stops_although_a_client_does_not_read(strict):
    """Last in this module: the broker is gone after it."""
    with Raw(strict.bootstrap, receive_buffer=SMALL_WINDOW) as deaf:
        deaf.post(Api.FETCH, fetch("large", 0, max_bytes=24 * MEGABYTE))
        until(lambda: not deaf.is_silent())
        start = time.monotonic()
        assert strict.child(1).terminate() == 0
        assert time.monotonic() - start < 5
    assert "Traceback" not in strict.child(1).output()
