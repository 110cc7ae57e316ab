"""Brokers made of answers: a test says what each request is answered with, and sees what was asked.

with FakeBroker({Api.METADATA: lambda request: metadata(...)}) as broker:
    ClusterClient([broker.address])
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace as Message
from typing import Any, Self

from engine.client.address import Address
from engine.errors import ErrorCode
from engine.storage import records
from engine.storage.records import Record
from engine.wire.apis import APIS, Api
from engine.wire.codec import decode_request
from engine.wire.frame import FrameReader
from tests.unit.wire.frames import encode_response

Answer = Callable[[Any], Any]


class HangUp(Exception):
    """Raised by an answer: the connection is closed instead."""


NOTHING = object()  # an answer that never comes


class FakeBroker:
    def __init__(
        self, answers: Mapping[Api, Answer], versions: Mapping[Api, tuple[int, int]] | None = None
    ) -> None:
        self.answers = dict(answers)
        self.asked: list[tuple[Api, int, Any]] = []  # API, version, request
        everything = {api: (api.oldest, api.newest) for api in Api}
        self._versions = everything if versions is None else versions
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname())
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Nobody listens at its address any more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def requests(self, api: Api) -> list[Any]:
        return [request for key, _, request in self.asked if key is api]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        reader = FrameReader()
        with connection, contextlib.suppress(HangUp, OSError):
            while chunk := connection.recv(65536):
                for frame in reader.feed(chunk):
                    header, request = decode_request(frame, APIS)
                    api = APIS[header.api_key]
                    self.asked.append((api, header.api_version, request))
                    response = self._answer(api, request)
                    if response is not NOTHING:
                        connection.sendall(encode_response(header, response))

    def _answer(self, api: Api, request: Any) -> Any:
        if api is not Api.API_VERSIONS or api in self.answers:
            return self.answers[api](request)
        offered = tuple(
            Message(api_key=int(each), min_version=low, max_version=high)
            for each, (low, high) in self._versions.items()
        )
        return Message(error_code=ErrorCode.none, api_keys=offered)


# -- answers ---------------------------------------------------------------------------------


def metadata(
    brokers: Mapping[int, Address],
    topics: Mapping[str, Sequence[int]],
    wanted: Any = None,
    controller: int = 1,
) -> Message:
    """`topics`: the leader of each partition. `wanted`: the request, if it is to be heeded."""
    names = (
        list(topics)
        if wanted is None or wanted.topics is None
        else [topic.name for topic in wanted.topics]
    )
    return Message(
        brokers=tuple(
            Message(node_id=number, host=host, port=port)
            for number, (host, port) in brokers.items()
        ),
        cluster_id="a-cluster",
        controller_id=controller,
        topics=tuple(_topic(name, topics.get(name)) for name in names),
    )


def _topic(name: str, leaders: Sequence[int] | None) -> Message:
    known = leaders is not None
    return Message(
        error_code=ErrorCode.none if known else ErrorCode.unknown_topic_or_partition,
        name=name,
        partitions=tuple(
            Message(
                error_code=ErrorCode.none if leader >= 0 else ErrorCode.leader_not_available,
                partition_index=number,
                leader_id=leader,
                replica_nodes=(1, 2),
                isr_nodes=(1,),
            )
            for number, leader in enumerate(leaders or ())
        ),
    )


def produced(request: Any, error: ErrorCode = ErrorCode.none, text: str | None = None) -> Message:
    """The answer to a Produce request of one partition."""
    (topic,) = request.topic_data
    partition = Message(
        index=topic.partition_data[0].index,
        error_code=error,
        base_offset=0,
        error_message=text,
        record_errors=(),
    )
    return Message(responses=(Message(name=topic.name, partition_responses=(partition,)),))


def fetched(topic: str, **partitions: tuple[ErrorCode, bytes]) -> Message:
    """The answer to a Fetch request; partitions as p0=(error, records)."""
    return Message(
        error_code=ErrorCode.none,
        responses=(
            Message(
                topic=topic,
                partitions=tuple(
                    Message(
                        partition_index=int(name[1:]),
                        error_code=error,
                        high_watermark=0,
                        records=data,
                    )
                    for name, (error, data) in partitions.items()
                ),
            ),
        ),
    )


def batch(first: int, *values: bytes, control: bool = False) -> bytes:
    """A batch as a log has it, from this offset on."""
    found = [Record(first + number, 1000, None, value) for number, value in enumerate(values)]
    return records.encode(found, base_offset=first, control=control)
