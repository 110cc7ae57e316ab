"""The broker's end of an authentication: which request may follow which.

    client                                broker
      ApiVersions                   ─>                      once, if at all
      SaslHandshake PLAIN           ─>    the mechanisms, or UNSUPPORTED_SASL_MECHANISM
      SaslAuthenticate token        ─>    token, and at the end how long the session may last
      Metadata, Produce ...         ─>    from here on any request

After SaslHandshake 0 the tokens come without a request around them: a size, then the token. After
version 1 each is a SaslAuthenticate request. Any other request before the end is a failure; then
the broker waits for a moment, answers, and closes the connection.

A session may have an end (`connections.max.reauth.ms`). Before it the client authenticates again on
the same connection: as the same principal, by the same mechanism.

Invariant: `principal` changes from None to a principal once, and never to another one.
Invariant: no answer says whether the name or the password was wrong.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, NamedTuple

from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from engine.errors import ErrorCode
from engine.security.mechanism import AuthenticationFailed, InvalidCredentials, SaslServer
from engine.security.principals import Principal
from engine.wire.apis import APIS, Api
from engine.wire.codec import decode_request, encode_response
from engine.wire.errors import Malformed, RequestHeader, UnservedVersion
from engine.wire.frame import SIZE, Frame

SERVED = {Api.API_VERSIONS, Api.SASL_HANDSHAKE}
MIN_REAUTH_INTERVAL = 1.0  # seconds between two re-authentications

Pieces = Sequence[Any]


class SaslState(Enum):
    HANDSHAKE_OR_VERSIONS_REQUEST = "handshake or versions request"
    HANDSHAKE_REQUEST = "handshake request"
    AUTHENTICATE = "authenticate"
    COMPLETE = "complete"
    FAILED = "failed"


class SaslStep(Enum):
    VERSIONS = "ApiVersions"
    HANDSHAKE = "SaslHandshake"
    TOKEN = "token"
    LAST_TOKEN = "last token"
    REFUSED = "refused"


S, E = SaslState, SaslStep

TRANSITIONS = {
    S.HANDSHAKE_OR_VERSIONS_REQUEST: {
        E.VERSIONS: S.HANDSHAKE_REQUEST,
        E.HANDSHAKE: S.AUTHENTICATE,
        E.REFUSED: S.FAILED,
    },
    S.HANDSHAKE_REQUEST: {E.HANDSHAKE: S.AUTHENTICATE, E.REFUSED: S.FAILED},
    S.AUTHENTICATE: {
        E.TOKEN: S.AUTHENTICATE,
        E.LAST_TOKEN: S.COMPLETE,
        E.REFUSED: S.FAILED,
    },
    S.COMPLETE: {E.HANDSHAKE: S.AUTHENTICATE, E.REFUSED: S.FAILED},
    S.FAILED: {},
}


class AuthenticationRefused(Exception):
    """The authentication has failed: after a while, send the answer, and close the connection."""

    def __init__(self, why: str, answer: Pieces = ()) -> None:
        super().__init__(why)
        self.answer = answer


class Mechanism(NamedTuple):
    """A mechanism that a listener has."""

    start: Callable[[], SaslServer]
    max_reauth_ms: int  # 0: a session has no end


@dataclass(eq=False, repr=False)
class SaslServerAuthenticator:
    _mechanisms: dict[str, Mechanism]
    _versions: Callable[[Any, int], Any]  # the answer to an ApiVersions request of a version
    _unsupported: Callable[[], Any]  # ... to one of an unknown version
    state: SaslState = SaslState.HANDSHAKE_OR_VERSIONS_REQUEST
    principal: Principal | None = None
    mechanism: str = ""
    expires: float | None = None  # when the session ends, in the caller's time
    _server: SaslServer | None = None
    _wrapped: bool = False  # whether tokens come in SaslAuthenticate requests
    _reauthenticated: float | None = None

    @property
    def complete(self) -> bool:
        return self.state is SaslState.COMPLETE

    def takes(self, api_key: int, now: float) -> bool:
        """Whether a request is a part of an authentication, or one that begins again."""
        if not self.complete:
            return True
        last = self._reauthenticated
        rested = last is None or now - last >= MIN_REAUTH_INTERVAL
        return api_key == Api.SASL_HANDSHAKE and self.expires is not None and rested

    def has_expired(self, now: float) -> bool:
        return self.expires is not None and now > self.expires

    def receive(self, frame: Frame, now: float) -> Pieces:
        """The answer to a request, or to a bare token. Raises `AuthenticationRefused` or
        `Malformed`."""
        if self.state is SaslState.FAILED:
            raise Malformed("a request after a failed authentication")
        try:
            if self.state is SaslState.AUTHENTICATE:
                return self._token(frame, now)
            return self._request(frame, now)
        except (AuthenticationRefused, Malformed):
            self._move(SaslStep.REFUSED)
            raise

    def _move(self, step: SaslStep) -> None:
        self.state = TRANSITIONS[self.state][step]

    # -- requests before the tokens ------------------------------------------------------

    def _request(self, frame: Frame, now: float) -> Pieces:
        _expect(SERVED, frame, "handshake")
        try:
            header, request = decode_request(frame, SERVED)
        except UnservedVersion as error:
            if error.header.api_key != Api.API_VERSIONS:
                raise
            self._expect_versions()
            return encode_response(error.header._replace(api_version=0), self._unsupported())
        if header.api_key == Api.SASL_HANDSHAKE:
            return self._handshake(header, request.mechanism, now)
        self._expect_versions()
        response = self._versions(request, header.api_version)
        if response.error_code == ErrorCode.none:
            self._move(SaslStep.VERSIONS)
        return encode_response(header, response)

    def _expect_versions(self) -> None:
        if SaslStep.VERSIONS not in TRANSITIONS[self.state]:
            raise AuthenticationRefused(
                "Unexpected ApiVersions request received during SASL authentication state "
                f"{self.state.name}"
            )

    def _handshake(self, header: RequestHeader, mechanism: str, now: float) -> Pieces:
        if mechanism not in self._mechanisms:
            unsupported = self._handshake_answer(header, ErrorCode.unsupported_sasl_mechanism)
            raise AuthenticationRefused(
                f"Unsupported SASL mechanism {mechanism[:100]!r}", unsupported
            )
        if self.complete:
            self._reauthenticated = now
            if mechanism != self.mechanism:
                raise AuthenticationRefused(
                    f"SASL mechanism '{mechanism}' requested by client is not supported for "
                    f"re-authentication of mechanism '{self.mechanism}'",
                    self._handshake_answer(header, ErrorCode.none),
                )
        self._wrapped = header.api_version >= 1
        self.mechanism = mechanism
        self._server = self._mechanisms[mechanism].start()
        self._move(SaslStep.HANDSHAKE)
        return self._handshake_answer(header, ErrorCode.none)

    def _handshake_answer(self, header: RequestHeader, code: ErrorCode) -> Pieces:
        response = SaslHandshakeResponse(error_code=code, mechanisms=tuple(self._mechanisms))
        return encode_response(header, response)

    # -- tokens --------------------------------------------------------------------------

    def _token(self, frame: Frame, now: float) -> Pieces:
        if not self._wrapped:
            try:
                answer = self._evaluate(bytes(frame), now)[0]
            except AuthenticationFailed as error:
                raise AuthenticationRefused(str(error)) from None
            return [SIZE.pack(len(answer)) + answer]
        _expect({Api.SASL_AUTHENTICATE}, frame, "authentication")
        header, request = decode_request(frame, {Api.SASL_AUTHENTICATE})
        try:
            token, lifetime = self._evaluate(request.auth_bytes, now)
        except AuthenticationFailed as error:
            failed = ErrorCode.sasl_authentication_failed
            raise AuthenticationRefused(
                str(error), _token_answer(header, failed, message=str(error))
            ) from None
        return _token_answer(header, ErrorCode.none, token, lifetime)

    def _evaluate(self, token: bytes, now: float) -> tuple[bytes, int]:
        """The next token, and when it is the last one, how long the session may last (ms)."""
        assert self._server is not None
        try:
            answer = self._server.evaluate(token)
        except InvalidCredentials:
            again = "re-authentication" if self.principal else "authentication"
            raise AuthenticationFailed(
                f"Authentication failed during {again} due to invalid credentials with SASL "
                f"mechanism {self.mechanism}"
            ) from None
        if self._server.name is None:
            self._move(SaslStep.TOKEN)
            return answer, 0
        principal = Principal(self._server.name)
        if self.principal not in (None, principal):
            raise AuthenticationFailed(
                "Cannot change principals during re-authentication from "
                f"{_dotted(self.principal)}: {_dotted(principal)}"
            )
        self.principal = principal
        lifetime = self._mechanisms[self.mechanism].max_reauth_ms
        self.expires = now + lifetime / 1000 if lifetime > 0 else None
        self._server = None
        self._move(SaslStep.LAST_TOKEN)
        return answer, lifetime


def _expect(apis: Container[int], frame: Frame, phase: str) -> None:
    key = int.from_bytes(frame[:2], "big", signed=True)
    if key in APIS and key not in apis:
        raise AuthenticationRefused(
            f"Unexpected Kafka request of type {APIS[key].name} during SASL {phase}."
        )


def _token_answer(
    header: RequestHeader,
    code: ErrorCode,
    token: bytes = b"",
    lifetime: int = 0,
    message: str | None = None,
) -> Pieces:
    response = SaslAuthenticateResponse(
        error_code=code,
        error_message=message,
        auth_bytes=token,
        session_lifetime=timedelta(milliseconds=lifetime),
    )
    return encode_response(header, response)


def _dotted(principal: Principal | None) -> str:
    return f"{principal.type}.{principal.name}" if principal else ""
