"""An authentication at both ends, without a network; again before the session ends."""

from types import SimpleNamespace

import pytest
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest

from engine.broker.handlers import versions
from engine.errors import ApiException, ErrorCode
from engine.security.plain import PlainServer
from engine.security.principals import Principal
from engine.security.sasl_client import Login, authentication
from engine.security.sasl_server import (
    TRANSITIONS,
    AuthenticationRefused,
    Mechanism,
    SaslServerAuthenticator,
    SaslState,
    SaslStep,
)
from engine.security.scram import ScramCredential, ScramServer
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import Malformed, RequestHeader

SCRAM = "SCRAM-SHA-256"
PASSWORDS = {"alice": "of alice", "bob": "of bob"}
CREDENTIALS = {name: ScramCredential.make(SCRAM, it) for name, it in PASSWORDS.items()}
LIFETIME = 10_000  # ms


def broker(lifetime: int = 0) -> SaslServerAuthenticator:
    mechanisms = {
        "PLAIN": Mechanism(lambda: PlainServer(PASSWORDS), lifetime),
        SCRAM: Mechanism(lambda: ScramServer(SCRAM, CREDENTIALS.get), lifetime),
    }
    apis = {Api.API_VERSIONS, Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE}
    return SaslServerAuthenticator(
        mechanisms, lambda *asked: versions.respond(apis, *asked), versions.unsupported
    )


def log_in(it: SaslServerAuthenticator, user: str, mechanism: str = SCRAM, now: float = 0) -> int:
    """How long the session may last."""
    exchange = authentication(Login(mechanism, user, PASSWORDS[user]), "test")
    request = next(exchange)
    while True:
        answer = b"".join(it.receive(request[4:], now))
        try:
            request = exchange.send(answer[4:])
        except StopIteration as end:
            return end.value


def handshake(mechanism: str, version: int = 1) -> bytes:
    header = RequestHeader(int(Api.SASL_HANDSHAKE), version, 7, None)
    return encode_request(header, SaslHandshakeRequest(mechanism=mechanism))[4:]


def token(data: bytes, version: int = 2) -> bytes:
    header = RequestHeader(int(Api.SASL_AUTHENTICATE), version, 7, None)
    return encode_request(header, SaslAuthenticateRequest(auth_bytes=data))[4:]


@pytest.mark.parametrize("mechanism", ["PLAIN", SCRAM])
def test_both_ends_agree(mechanism: str) -> None:
    it = broker()
    assert it.principal is None
    assert log_in(it, "alice", mechanism) == 0
    assert it.complete
    assert it.principal == Principal("alice")
    assert not it.has_expired(1e9)
    assert not it.takes(Api.METADATA, 0)
    assert not it.takes(Api.SASL_HANDSHAKE, 0)  # without an end there is nothing to renew


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_lifetime_of_a_session_is_told_from_version_1_on(version: int) -> None:
    it = broker(LIFETIME)
    it.receive(handshake("PLAIN"), 0)
    answer = b"".join(it.receive(token(b"\0alice\0of alice", version), 0))
    header = RequestHeader(int(Api.SASL_AUTHENTICATE), version, 7, None)
    lifetime = decode_response(header, answer[4:]).session_lifetime
    assert lifetime.total_seconds() * 1000 == (LIFETIME if version else 0)
    assert not it.has_expired(10)
    assert it.has_expired(10.1)


def test_again_before_the_session_ends() -> None:
    it = broker(LIFETIME)
    assert log_in(it, "alice") == LIFETIME
    assert it.takes(Api.SASL_HANDSHAKE, 8)
    assert log_in(it, "alice", now=8) == LIFETIME
    assert not it.has_expired(17)
    assert not it.takes(Api.SASL_HANDSHAKE, 8.5)  # not twice within a second
    assert it.takes(Api.SASL_HANDSHAKE, 9.5)


def test_again_as_somebody_else() -> None:
    it = broker(LIFETIME)
    log_in(it, "alice")
    with pytest.raises(ApiException) as refused:
        log_in_refused(it, "bob")
    assert refused.value.code == ErrorCode.sasl_authentication_failed
    assert "Cannot change principals during re-authentication from User.alice: User.bob" in (
        refused.value.message
    )
    assert it.principal == Principal("alice")
    assert it.state is SaslState.FAILED


def log_in_refused(it: SaslServerAuthenticator, user: str) -> None:
    """As `log_in`; the client gets the answer of a refusal."""
    exchange = authentication(Login(SCRAM, user, PASSWORDS[user]), "test")
    request = next(exchange)
    while True:
        try:
            answer = b"".join(it.receive(request[4:], 5))
        except AuthenticationRefused as refused:
            answer = b"".join(refused.answer)
        request = exchange.send(answer[4:])


def test_again_by_another_mechanism() -> None:
    it = broker(LIFETIME)
    log_in(it, "alice")
    with pytest.raises(AuthenticationRefused, match="not supported for re-authentication"):
        it.receive(handshake("PLAIN"), 5)


def test_a_failure_is_the_end() -> None:
    it = broker()
    it.receive(handshake(SCRAM), 0)
    with pytest.raises(AuthenticationRefused) as refused:
        it.receive(token(b"n,,n=nobody,r=x"), 0)
    assert "invalid credentials with SASL mechanism SCRAM-SHA-256" in str(refused.value)
    assert it.state is SaslState.FAILED
    with pytest.raises(Malformed):
        it.receive(handshake(SCRAM), 0)


def test_every_state_but_the_last_can_fail_and_only_a_last_token_completes() -> None:
    assert set(TRANSITIONS) == set(SaslState)
    for state, steps in TRANSITIONS.items():
        assert (SaslStep.REFUSED in steps) == (state is not SaslState.FAILED)
        for step, after in steps.items():
            assert (after is SaslState.COMPLETE) == (step is SaslStep.LAST_TOKEN)


def test_a_login_shows_no_password() -> None:
    assert "of alice" not in repr(Login("PLAIN", "alice", "of alice"))
    assert "of alice" not in str(SimpleNamespace(login=Login("PLAIN", "alice", "of alice")))
