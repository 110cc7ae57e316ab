"""One connection: versions, order, and what can go wrong with it."""

import socket
import threading
from types import SimpleNamespace as Message

import pytest
from kio.schema.metadata.v11.request import MetadataRequest

from engine.client.raw_connection import Address, RawConnection
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from tests.unit.client.fake import FakeBroker, HangUp, metadata

ASK = MetadataRequest(topics=None, include_topic_authorized_operations=False)


def answer(request: object) -> Message:
    return metadata({}, {})


def hang_up(request: object) -> Message:
    raise HangUp


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9092", ("localhost", 9092)),
        (" [::1]:1 ", ("::1", 1)),
        ("a.b:65535", ("a.b", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize("text", ["", "localhost", ":9092", "localhost:", "a:b", "a:0", "a:65536"])
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(ApiException, match="is not HOST:PORT, such as 127"):
        Address.parse(text)


@pytest.mark.parametrize(
    ("offered", "used"),
    [((0, 11), 11), ((4, 5), 5), ((0, 99), 11), ((11, 12), 11)],
    ids=["the same", "an older broker", "a newer broker", "overlapping by one"],
)
def test_the_newest_version_that_both_know_is_used(offered: tuple[int, int], used: int) -> None:
    with (
        FakeBroker({Api.METADATA: answer}, {Api.METADATA: offered}) as broker,
        RawConnection(broker.address) as connection,
    ):
        assert connection.ask(Api.METADATA, ASK).controller_id == (1 if used else -1)
        assert [(api, version) for api, version, _ in broker.asked] == [
            (Api.API_VERSIONS, 0),
            (Api.METADATA, used),
        ]


@pytest.mark.parametrize("offered", [{}, {Api.METADATA: (12, 13)}], ids=["not at all", "too new"])
def test_a_request_that_is_not_served_is_told(offered: dict[Api, tuple[int, int]]) -> None:
    with FakeBroker({}, offered) as broker, RawConnection(broker.address) as connection:
        with pytest.raises(
            ApiException, match="does not serve Metadata in version 0 to 11"
        ) as caught:
            connection.ask(Api.METADATA, ASK)
        assert caught.value.code == ErrorCode.unsupported_version


def test_a_version_can_be_chosen() -> None:
    with FakeBroker({Api.METADATA: answer}) as broker, RawConnection(broker.address) as connection:
        connection.ask(Api.METADATA, ASK, version=5)
    assert broker.asked[-1][:2] == (Api.METADATA, 5)


def test_answers_belong_to_the_requests_in_their_order() -> None:
    controllers = iter(range(5))
    broker = FakeBroker({Api.METADATA: lambda _: metadata({}, {}, controller=next(controllers))})
    with broker, RawConnection(broker.address) as connection:
        for _ in range(5):
            connection.send(Api.METADATA, ASK)
        assert [connection.receive().controller_id for _ in range(5)] == [0, 1, 2, 3, 4]


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with (
        RawConnection(Address("127.0.0.1", port)) as connection,
        pytest.raises(
            ApiException, match=f"no broker at 127.0.0.1:{port}: Connection refused"
        ) as e,
    ):
        connection.ask(Api.METADATA, ASK)
    assert e.value.code == ErrorCode.broker_not_available


def test_a_host_without_address() -> None:
    with (
        RawConnection(Address("no-such-host.invalid", 9092)) as connection,
        pytest.raises(ApiException, match="no broker at no-such-host"),
    ):
        connection.ask(Api.METADATA, ASK)


def test_all_that_was_sent_on_a_connection_that_ends_has_failed() -> None:
    with FakeBroker({Api.METADATA: hang_up}) as broker, RawConnection(broker.address) as connection:
        connection.send(Api.METADATA, ASK)
        connection.send(Api.METADATA, ASK)
        for _ in range(2):
            with pytest.raises(ApiException, match=r"closed the connection|broke") as caught:
                connection.receive()
            assert caught.value.code == ErrorCode.network_exception


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\4\0\0\0\7", b"\0\0\0\6\0\0\0\1\0\0"],
    ids=["another protocol", "an answer to another request", "an answer cut short"],
)
def test_what_is_not_kafka_is_told(answer: bytes) -> None:
    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(1000)
            peer.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        with (
            RawConnection(Address(*listener.getsockname())) as connection,
            pytest.raises(ApiException, match=r"the answer of .* is not Kafka's protocol"),
        ):
            connection.ask(Api.METADATA, ASK)
        thread.join()
