"""A connection to one broker that never blocks, for the network's thread (network.py).

    DOWN -> CONNECTING -> SHAKING_HANDS -> GREETING -> AUTHENTICATING -> READY   requests, and
      ^  a pause, that   |  TLS       ApiVersions       SASL            |        answers in the
      +- doubles         +----------------------------------------------+        same order
                           lost: all requests fail

Without TLS and SASL their states are skipped. Before a SASL session ends, the client authenticates
again; requests wait meanwhile.

Requests wait while there is no connection. Each has a time-out. If it ends for a request that was
sent, the connection is closed: the answers to all later requests would come after the missing one.

Invariant: a request that fails with UNSENT was not sent; with any other code it may have been
sent, and the broker may have carried it out.
"""

import math
import os
import selectors
import socket
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kio.schema.api_versions.v0.request import ApiVersionsRequest

from engine.client.address import Address
from engine.client.core import UNSENT, Ask, Core
from engine.config.client import ClientConfig
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import LARGEST_ID, Malformed, RequestHeader
from engine.wire.frame import FrameReader

if TYPE_CHECKING:  # they are loaded only if a client has TLS or SASL
    from engine.client.security import ConnectionSecurity, TlsSocket
    from engine.security.sasl_client import Authentication

RENEWED = 0.85  # the part of a session after which the client authenticates again
REFUSED = (ErrorCode.sasl_authentication_failed, ErrorCode.unsupported_sasl_mechanism)
NO_ADDRESS = (OSError, OverflowError, UnicodeError)  # a port or a name that cannot be, for instance
CHUNK = 256 * 1024  # bytes read from the socket at once
MAX_ANSWER = 512 * 1024 * 1024  # a longer answer is not Kafka's protocol

Outcome = tuple[Core, Ask, Any]  # the core, its ask, and the response or an ApiException


class ConnectionState(Enum):
    DOWN = "down"
    CONNECTING = "connecting"
    SHAKING_HANDS = "shaking hands"
    GREETING = "greeting"
    AUTHENTICATING = "authenticating"
    READY = "ready"


SETTING_UP = (  # between the attempt to connect and the first request
    ConnectionState.CONNECTING,
    ConnectionState.SHAKING_HANDS,
    ConnectionState.GREETING,
    ConnectionState.AUTHENTICATING,
)


class _Asked(NamedTuple):
    """A request that waits: for a connection, or for its answer."""

    core: Core
    ask: Ask
    until: float
    header: RequestHeader | None = None  # None: not sent yet


class BrokerConnection:
    def __init__(
        self,
        settings: ClientConfig,
        selector: selectors.BaseSelector,
        address: Callable[[], Address],  # where the broker is now; raises if that is not known
        security: "ConnectionSecurity | None" = None,  # TLS and SASL
    ) -> None:
        self.state = ConnectionState.DOWN
        self._settings = settings
        self._selector = selector
        self._find = address
        self._address: Address | None = None
        self._security = security
        self._exchange: Authentication | None = None  # while it authenticates
        self._renew = math.inf  # when to authenticate again
        self._socket: socket.socket | TlsSocket | None = None
        self._places: list[Any] = []  # the addresses of the host name that were not tried yet
        self._failures = 0  # in a row
        self._again = 0.0  # the time of the next attempt
        self._setup_until = 0.0
        self._numbers = count(1)
        self._versions: dict[int, int] = {}
        self._reader = FrameReader(MAX_ANSWER)
        self._waiting: deque[_Asked] = deque()
        self._on_the_way: deque[_Asked] = deque()
        self._out: deque[tuple[memoryview, _Asked | None]] = deque()  # None: it has an answer
        self._outcomes: list[Outcome] = []

    @property
    def load(self) -> int:
        """The number of requests ahead of a new one."""
        return len(self._waiting) + len(self._on_the_way)

    @property
    def _unanswered(self) -> list[_Asked]:
        """Requests without an answer that the socket has not taken whole yet."""
        return [asked for _, asked in self._out if asked is not None]

    def pause(self, now: float) -> float:
        """Seconds until the next attempt; 0 if it is connected, or may connect at once."""
        return max(self._again - now, 0) if self.state is ConnectionState.DOWN else 0

    # -- called by the network -------------------------------------------------------------

    def put(self, core: Core, ask: Ask, now: float) -> None:
        usual = self._settings.request_timeout_ms / 1000
        timeout = usual if ask.timeout is None else ask.timeout
        self._waiting.append(_Asked(core, ask, now + timeout))

    def move(self, now: float) -> None:
        """Send the requests that wait; connect first if there is no connection."""
        if not self._waiting:
            return
        if self.state is ConnectionState.DOWN and now >= self._again:
            self._connect(now)
        if self.state is ConnectionState.READY:
            if now >= self._renew:
                if not self._on_the_way and not self._out:
                    self._authenticate(now)
                return  # the requests wait until the session is renewed
            while self._waiting:
                self._send(self._waiting.popleft())
            self._flush(now)

    def serve(self, events: int, now: float) -> None:
        """The selector reports that the socket is ready."""
        if self.state is ConnectionState.CONNECTING:
            self._connected(now)
        elif self.state is ConnectionState.SHAKING_HANDS:
            self._shake_hands(now)
        else:
            if events & selectors.EVENT_READ:
                self._read(now)
            if events & selectors.EVENT_WRITE and self._out:
                self._flush(now)

    def expire(self, now: float) -> None:
        """Fail the requests whose time is over."""
        late = ErrorCode.request_timed_out
        if any(now >= asked.until for asked in (*self._on_the_way, *self._unanswered)):
            self._lost(now, f"{self._address} does not answer", late)
        elif self.state in SETTING_UP and now >= self._setup_until:
            self._lost(now, f"{self._address} does not answer")
        for asked in [asked for asked in self._waiting if now >= asked.until]:
            self._waiting.remove(asked)
            where = self._address or "the broker"
            self._came(asked, ApiException(UNSENT, f"no connection to {where} in time"))

    def due(self) -> float | None:
        """The time of the next call that is needed even if nothing arrives."""
        if self._outcomes:
            return 0.0  # the cores have to get these results now
        asked = *self._waiting, *self._on_the_way, *self._unanswered
        dues = [each.until for each in asked]
        if self.state in SETTING_UP:
            dues.append(self._setup_until)
        elif self.state is ConnectionState.DOWN and self._waiting:
            dues.append(self._again)
        return min(dues, default=None)

    def outcomes(self) -> Iterable[Outcome]:
        """The results since the last call."""
        found, self._outcomes = self._outcomes, []
        return found

    def close(self) -> None:
        if self._socket is not None:
            self._selector.unregister(self._socket)
            self._socket.close()
            self._socket = None
        self.state = ConnectionState.DOWN
        self._out.clear()

    # -- a connection, and its end ---------------------------------------------------------

    def _connect(self, now: float) -> None:
        try:
            self._address = self._find()
            # The lookup of a name may block: brokers of a lab have IP addresses, or are local.
            found = socket.getaddrinfo(*self._address, type=socket.SOCK_STREAM)
        except ApiException as error:
            self._refuse(now, error)
        except NO_ADDRESS as error:
            self._refuse(now, ApiException(UNSENT, f"no broker at {self._address}: {error}"))
        else:
            self._places = [(family, place) for family, _, _, _, place in found]
            self._setup_until = now + self._settings.socket_connection_setup_timeout_ms / 1000
            self._next_place(now, "it has no address")

    def _next_place(self, now: float, reason: str) -> None:
        """A name may have several addresses, and the broker may listen on only one of them."""
        self.close()
        if not self._places:
            self._refuse(now, ApiException(UNSENT, f"no broker at {self._address}: {reason}"))
            return
        family, place = self._places.pop(0)
        try:
            self._socket = plain = socket.socket(family, socket.SOCK_STREAM)
            plain.setblocking(False)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(plain, selectors.EVENT_WRITE, self)
            self.state = ConnectionState.CONNECTING
            plain.connect(place)
        except BlockingIOError:
            pass  # in progress: `_connected` gets the result
        except NO_ADDRESS as error:
            self._next_place(now, getattr(error, "strerror", None) or str(error))

    def _connected(self, now: float) -> None:
        assert isinstance(self._socket, socket.socket)
        failure = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failure:
            self._next_place(now, os.strerror(failure))
        elif self._security is not None and self._security.tls:
            assert self._address is not None
            self._selector.unregister(self._socket)
            self._socket = self._security.wrap(self._socket, self._address.host)
            self._selector.register(self._socket, selectors.EVENT_WRITE, self)
            self.state = ConnectionState.SHAKING_HANDS
            self._shake_hands(now)
        else:
            self._greet(now)

    def _shake_hands(self, now: float) -> None:
        tls = cast("TlsSocket", self._socket)
        try:
            done = tls.handshake()
        except OSError as error:  # an SSLError is one
            self._lost(now, f"SSL handshake failed with {self._address}: {error}")
            return
        if done:
            self._greet(now)
        else:
            wanted = selectors.EVENT_READ if done is None else selectors.EVENT_WRITE
            self._selector.modify(tls, wanted, self)

    def _greet(self, now: float) -> None:
        self.state = ConnectionState.GREETING
        self._reader = FrameReader(MAX_ANSWER)
        header = RequestHeader(int(Api.API_VERSIONS), 0, 0, self._settings.client_id)
        self._out.append((memoryview(encode_request(header, ApiVersionsRequest())), None))
        self._flush(now)

    def _greeted(self, frame: bytes | bytearray, now: float) -> None:
        header = RequestHeader(int(Api.API_VERSIONS), 0, 0, None)
        self._versions = agreed(decode_response(header, frame))
        self._authenticate(now)

    def _authenticate(self, now: float) -> None:
        """On a new connection, or again before the session ends."""
        self._renew = math.inf
        self._exchange = self._security.exchange() if self._security else None
        if self._exchange is None:
            self._ready()
            return
        self.state = ConnectionState.AUTHENTICATING
        self._setup_until = now + self._settings.socket_connection_setup_timeout_ms / 1000
        self._out.append((memoryview(next(self._exchange)), None))
        self._flush(now)

    def _authenticated(self, frame: bytes | bytearray, now: float) -> None:
        assert self._exchange is not None
        try:
            self._out.append((memoryview(self._exchange.send(frame)), None))
        except StopIteration as end:
            self._ready()
            if end.value:
                self._renew = now + RENEWED * end.value / 1000
        except ApiException as error:
            self._lost(now, error.message, error.code)
        else:
            self._flush(now)

    def _ready(self) -> None:
        self._failures = 0
        self.state = ConnectionState.READY

    def _lost(self, now: float, why: str, code: ErrorCode = ErrorCode.network_exception) -> None:
        """The connection is closed: all requests fail."""
        unsent = self._unanswered
        self.close()
        for asked in (*self._on_the_way, *unsent):
            self._came(asked, ApiException(code, why))
        self._on_the_way.clear()
        self._refuse(now, ApiException(code if code in REFUSED else UNSENT, why))

    def _refuse(self, now: float, error: ApiException) -> None:
        """No connection: the requests that wait fail, and the next attempt is delayed."""
        self._again = now + self._backoff()
        self._failures += 1
        for asked in self._waiting:
            self._came(asked, error)
        self._waiting.clear()

    def _backoff(self) -> float:
        longest = self._settings.reconnect_backoff_max_ms
        return min(self._settings.reconnect_backoff_ms << min(self._failures, 30), longest) / 1000

    # -- bytes -----------------------------------------------------------------------------

    def _send(self, asked: _Asked) -> None:
        ask = asked.ask
        version = self._versions.get(ask.api) if ask.version is None else ask.version
        if version is None:
            self._came(asked, not_served(ask.api, self._address))
            return
        number = next(self._numbers) & LARGEST_ID
        header = RequestHeader(int(ask.api), version, number, self._settings.client_id)
        self._out.append(
            (memoryview(encode_request(header, ask.request)), None if ask.answered else asked)
        )
        if ask.answered:
            self._on_the_way.append(asked._replace(header=header))

    def _flush(self, now: float) -> None:
        """Send as much as the socket takes."""
        assert self._socket is not None
        try:
            while self._out:
                view, asked = self._out[0]
                sent = self._socket.send(view)
                if sent < len(view):
                    self._out[0] = (view[sent:], asked)
                    continue
                self._out.popleft()
                if asked is not None:
                    self._came(asked, None)
        except BlockingIOError:
            pass  # the selector reports when it takes more
        except OSError as error:
            self._lost(now, f"the connection to {self._address} broke: {error}")
            return
        more = selectors.EVENT_WRITE if self._out else 0
        self._selector.modify(self._socket, selectors.EVENT_READ | more, self)

    def _read(self, now: float) -> None:
        assert self._socket is not None
        try:
            chunk = self._socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(now, f"the connection to {self._address} broke: {error}")
            return
        if not chunk:
            self._lost(now, f"{self._address} closed the connection")
            return
        try:
            for frame in self._reader.feed(chunk):
                self._take(frame, now)
        except Malformed as error:
            why = f"the answer of {self._address} is not Kafka's protocol: {error}"
            self._lost(now, why, ErrorCode.unknown_server_error)

    def _take(self, frame: bytes | bytearray, now: float) -> None:
        """The answer to the oldest request in flight."""
        if self.state is ConnectionState.GREETING:
            self._greeted(frame, now)
        elif self.state is ConnectionState.AUTHENTICATING:
            self._authenticated(frame, now)
        elif not self._on_the_way:
            raise Malformed("an answer without a request")
        else:
            asked = self._on_the_way[0]
            assert asked.header is not None
            response = decode_response(asked.header, frame)
            self._on_the_way.popleft()
            self._came(asked, response)

    def _came(self, asked: _Asked, outcome: Any) -> None:
        self._outcomes.append((asked.core, asked.ask, outcome))


def agreed(response: Any) -> dict[int, int]:
    """The newest version of each API that both sides serve, by the answer to ApiVersions."""
    offered = {each.api_key: each for each in response.api_keys}
    return {
        int(api): min(api.newest, offered[api].max_version)
        for api in Api
        if api in offered
        and offered[api].min_version <= api.newest
        and offered[api].max_version >= api.oldest
    }


def not_served(api: Api, address: Address | None) -> ApiException:
    name = api.name.title().replace("_", "")
    return ApiException(
        ErrorCode.unsupported_version,
        f"the broker at {address} does not serve {name} in version {api.oldest} to {api.newest}",
    )
