"""One connection to one broker.

    send(a) send(b) send(c)  ->  | a | b | c |  ->  broker
    receive() receive() ...  <-  | A | B | C |  <-

A broker answers the requests of a connection in the order in which they were sent, so several may
be on the way, and the next answer always belongs to the oldest of them. Each request goes out in
the newest version that both sides know; which those are is the first thing to ask (ApiVersions).

Invariant: after any error the connection is closed. What was on the way may have been done or not.
"""

import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Collection, Sequence
from itertools import count
from typing import Any, NamedTuple, Self

from kio.schema.api_versions.v0.request import ApiVersionsRequest

from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import Malformed, RequestHeader
from engine.wire.frame import Frame, FrameReader

SETUP_TIMEOUT = 10.0  # seconds to connect and agree on versions: socket.connection.setup.timeout.ms
REQUEST_TIMEOUT = 30.0  # seconds until an answer has to be there: request.timeout.ms
CHUNK = 256 * 1024  # bytes read from the socket at once
MAX_ANSWER = 512 * 1024 * 1024  # more than that is not Kafka speaking


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Self:
        host, _, port = text.strip().rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise KafkaError(
                ErrorCode.invalid_config, f"{text!r} is not HOST:PORT, such as 127.0.0.1:9092"
            )
        return cls(host.strip("[]"), int(port))


class _Sent(NamedTuple):
    """A request whose answer is to come."""

    header: RequestHeader
    at: float
    about: Any


class Answer(NamedTuple):
    about: Any  # what the sender of the request noted with it
    response: Any


class Connection:
    def __init__(
        self, address: Address, client_id: str = "brokerlab", timeout: float = REQUEST_TIMEOUT
    ) -> None:
        self.address = address
        self._client_id = client_id
        self.timeout = timeout  # seconds for one request and its answer
        self._numbers = count(1)
        self._on_the_way: deque[_Sent] = deque()
        self._reader = FrameReader(MAX_ANSWER)
        self._frames: deque[Frame] = deque()  # answers that are here and were not asked for yet
        setup = min(timeout, SETUP_TIMEOUT)
        try:
            self._socket = socket.create_connection(address, setup)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise KafkaError(
                ErrorCode.broker_not_available, f"no broker at {address}: {reason}"
            ) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._versions = {int(Api.API_VERSIONS): 0}
        self._versions = self._negotiate(setup)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def on_the_way(self) -> int:
        """How many requests wait for their answers."""
        return len(self._on_the_way)

    @property
    def overdue(self) -> bool:
        """Whether the oldest answer should have been here long ago."""
        if not self._on_the_way or self._frames:
            return False
        return time.monotonic() - self._on_the_way[0].at > self.timeout

    # -- requests ------------------------------------------------------------------------

    def ask(self, api: Api, request: Any, timeout: float | None = None) -> Any:
        """One request and its answer, when nothing else is on the way."""
        assert not self._on_the_way, "the next answer would be that of an older request"
        self.send(api, request)
        return self.receive(timeout).response

    def send(self, api: Api, request: Any, about: Any = None, answered: bool = True) -> None:
        """Put a request on its way. One that is not `answered` is forgotten: acks=0."""
        header = RequestHeader(int(api), self.version(api), next(self._numbers), self._client_id)
        frame = encode_request(header, request)
        try:
            self._socket.settimeout(self.timeout)
            self._socket.sendall(frame)
        except OSError as error:
            raise self._lost(f"the connection to {self.address} broke: {error}") from error
        if answered:
            self._on_the_way.append(_Sent(header, time.monotonic(), about))

    def receive(self, timeout: float | None = None) -> Answer:
        """The answer to the oldest request on the way, as soon as it is there."""
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        while not self._frames:
            self._read(max(until - time.monotonic(), 0.001))
        sent = self._on_the_way.popleft()
        try:
            return Answer(sent.about, decode_response(sent.header, self._frames.popleft()))
        except Malformed as error:
            raise self._not_kafka(error) from error

    def version(self, api: Api) -> int:
        """The newest version of a request that both sides know."""
        if api not in self._versions:
            raise not_served(api, self.address)
        return self._versions[api]

    def abandon(self) -> list[Any]:
        """Give up on all answers; returns what was noted with the requests."""
        self.close()
        abandoned = [sent.about for sent in self._on_the_way]
        self._on_the_way.clear()
        return abandoned

    def has_answer(self) -> bool:
        """Whether the next answer is here already, without a look at the socket."""
        return bool(self._frames)

    def _negotiate(self, timeout: float) -> dict[int, int]:
        """Asked in version 0, which any broker answers, however old or new."""
        return agreed(self.ask(Api.API_VERSIONS, ApiVersionsRequest(), timeout))

    # -- bytes ---------------------------------------------------------------------------

    def _read(self, timeout: float) -> None:
        """Whatever arrives next; an answer may take several such reads."""
        try:
            self._socket.settimeout(timeout)
            chunk = self._socket.recv(CHUNK)
        except TimeoutError as error:
            raise self._lost(
                f"the broker at {self.address} does not answer", ErrorCode.request_timed_out
            ) from error
        except OSError as error:
            raise self._lost(f"the connection to {self.address} broke: {error}") from error
        if not chunk:
            raise self._lost(f"{self.address} closed the connection")
        try:
            self._frames.extend(self._reader.feed(chunk))
        except Malformed as error:
            raise self._not_kafka(error) from error

    def _lost(self, why: str, code: ErrorCode = ErrorCode.network_exception) -> KafkaError:
        self.close()
        return KafkaError(code, why)

    def _not_kafka(self, error: Malformed) -> KafkaError:
        return self._lost(
            f"what {self.address} answers is not Kafka's protocol: {error}",
            ErrorCode.unknown_server_error,
        )


def agreed(response: Any) -> dict[int, int]:
    """The newest version of each API that both sides know, by the answer to ApiVersions."""
    offered = {each.api_key: each for each in response.api_keys}
    return {
        int(api): min(api.newest, offered[api].max_version)
        for api in Api
        if api in offered
        and offered[api].min_version <= api.newest
        and offered[api].max_version >= api.oldest
    }


def not_served(api: Api, address: Address | None) -> KafkaError:
    name = api.name.title().replace("_", "")
    return KafkaError(
        ErrorCode.unsupported_version,
        f"the broker at {address} does not serve {name} in version {api.oldest} to {api.newest}",
    )


def wait(connections: Collection[Connection], timeout: float) -> Sequence[Connection]:
    """Those of the connections on which an answer arrives first; none after `timeout` seconds."""
    at_hand = [each for each in connections if each.has_answer()]
    if at_hand:
        return at_hand
    with selectors.DefaultSelector() as selector:
        for each in connections:
            selector.register(each, selectors.EVENT_READ, each)
        return [key.data for key, _ in selector.select(max(timeout, 0))]
