"""The other end of an authentication: of a client, or of a broker that connects to another one.

    SaslHandshake 1 ─> <─ the mechanisms    SaslAuthenticate ─> <─ token, until both ends agree

`authentication` is a generator: it yields a request as bytes, and is sent the answer's frame. So
any connection can drive it, whether it blocks or not.
"""

from collections.abc import Generator
from datetime import timedelta
from typing import NamedTuple

from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest

from engine.errors import ApiException, ErrorCode
from engine.security.mechanism import AuthenticationFailed, SaslClient
from engine.security.plain import PLAIN, PlainClient
from engine.security.scram import HASHES, ScramClient
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import RequestHeader
from engine.wire.frame import Frame

MILLISECOND = timedelta(milliseconds=1)
MECHANISMS = (PLAIN, *HASHES)

Authentication = Generator[bytes, Frame, int]


class Login(NamedTuple):
    """Who to log in as."""

    mechanism: str
    name: str
    password: str

    def __repr__(self) -> str:
        return f"Login({self.mechanism}, {self.name}, [hidden])"

    def start(self) -> SaslClient:
        if self.mechanism == PLAIN:
            return PlainClient(self.name, self.password)
        return ScramClient(self.mechanism, self.name, self.password)


def authentication(login: Login, client_id: str | None) -> Authentication:
    """Returns how long the session may last, in ms; 0 if it has no end. Raises an ApiException."""
    header = RequestHeader(int(Api.SASL_HANDSHAKE), 1, 0, client_id)
    frame = yield encode_request(header, SaslHandshakeRequest(mechanism=login.mechanism))
    offered = decode_response(header, frame)
    if offered.error_code != ErrorCode.none:
        raise ApiException(
            ErrorCode.unsupported_sasl_mechanism,
            f"Client SASL mechanism '{login.mechanism}' not enabled in the server, enabled "
            f"mechanisms are {list(offered.mechanisms)}",
        )
    header = RequestHeader(int(Api.SASL_AUTHENTICATE), 2, 0, client_id)
    client = login.start()
    token: bytes | None = client.first()
    while True:
        assert token is not None
        frame = yield encode_request(header, SaslAuthenticateRequest(auth_bytes=token))
        answer = decode_response(header, frame)
        if answer.error_code != ErrorCode.none:
            raise ApiException(answer.error_code, answer.error_message or answer.error_code.name)
        try:
            token = client.evaluate(answer.auth_bytes)
        except AuthenticationFailed as error:
            raise ApiException(ErrorCode.sasl_authentication_failed, str(error)) from None
        if token is None:
            return int(answer.session_lifetime / MILLISECOND)
