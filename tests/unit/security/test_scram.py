"""SCRAM: the example of RFC 7677, and messages that are none."""

import pytest

from engine.security.mechanism import AuthenticationFailed, InvalidCredentials
from engine.security.scram import (
    HASHES,
    MAX_COMPUTED,
    ScramClient,
    ScramCredential,
    ScramServer,
    salted,
)

SHA_256 = "SCRAM-SHA-256"
# RFC 7677, section 3: user "user", password "pencil".
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT, ITERATIONS = "W22ZaJ0SNY7soEsUEjb6gQ==", 4096
FIRST = f"n,,n=user,r={CLIENT_NONCE}"
SECOND = f"r={CLIENT_NONCE}{SERVER_NONCE},s={SALT},i={ITERATIONS}"
THIRD = f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
LAST = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def pencil() -> ScramCredential:
    salt = b"[m\x99h\x9d\x125\x8e\xec\xa0K\x14\x126\xfa\x81"
    return ScramCredential.of(SHA_256, salt, salted(SHA_256, "pencil", salt, 4096), 4096)


def server(credential: ScramCredential | None = None) -> ScramServer:
    known = {"user": credential or pencil()}
    return ScramServer(SHA_256, known.get, lambda: SERVER_NONCE)


def test_the_example_of_the_rfc_from_both_ends() -> None:
    broker, client = server(), ScramClient(SHA_256, "user", "pencil", lambda: CLIENT_NONCE)
    assert client.first().decode() == FIRST
    assert broker.evaluate(FIRST.encode()).decode() == SECOND
    assert client.evaluate(SECOND.encode()) == THIRD.encode()
    assert broker.name is None
    assert broker.evaluate(THIRD.encode()).decode() == LAST
    assert broker.name == "user"
    assert client.evaluate(LAST.encode()) is None


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("name", ["alice", "a,b=c", "=2C"])
def test_any_name_and_any_password(mechanism: str, name: str) -> None:
    stored = ScramCredential.make(mechanism, "pässword")
    assert ScramCredential.parse(stored.text()) == stored
    broker = ScramServer(mechanism, {name: stored}.get)
    client = ScramClient(mechanism, name, "pässword")
    answer = client.evaluate(broker.evaluate(client.first()))
    assert answer is not None
    assert client.evaluate(broker.evaluate(answer)) is None
    assert broker.name == name


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff\xfe",
        b"y,,n=user,r=abc",  # a channel that is bound
        b"p=tls-unique,,n=user,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=user",
        b"n,,r=abc,n=user",
        b"n,,n=us=er,r=abc",
        b"n,,n=user,r=abc,tokenauth=true",
        b"n,,n=nobody,r=abc",
    ],
)
def test_a_first_message_that_is_refused_without_a_reason_for_the_client(message: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        server().evaluate(message)


def test_somebody_else_s_authorization() -> None:
    with pytest.raises(AuthenticationFailed, match="authorization id that is different"):
        server().evaluate(b"n,a=admin,n=user,r=abc")


@pytest.mark.parametrize(
    "message",
    [
        THIRD.replace("p=dHzb", "p=dHzc"),
        THIRD.replace(SERVER_NONCE, "another"),  # of another exchange
        THIRD.replace("p=", "p=AAAA"),  # too long
        THIRD.rpartition(",")[0],
        THIRD.replace("biws", "eSws"),
        "",
    ],
)
def test_a_proof_that_proves_nothing(message: str) -> None:
    broker = server()
    broker.evaluate(FIRST.encode())
    with pytest.raises(InvalidCredentials):
        broker.evaluate(message.encode())
    assert broker.name is None


def test_a_message_that_is_sent_again() -> None:
    first, again = server(), ScramServer(SHA_256, {"user": pencil()}.get)
    first.evaluate(FIRST.encode())
    first.evaluate(THIRD.encode())
    with pytest.raises(InvalidCredentials):
        first.evaluate(THIRD.encode())
    again.evaluate(FIRST.encode())
    with pytest.raises(InvalidCredentials):
        again.evaluate(THIRD.encode())  # the nonce of the broker is another one


def test_a_credential_of_ten_iterations_is_not_used() -> None:
    weak = pencil()._replace(iterations=10)
    with pytest.raises(InvalidCredentials, match="less than the minimum 4096"):
        server(weak).evaluate(FIRST.encode())


@pytest.mark.parametrize("iterations", [0, 10, MAX_COMPUTED + 1, 999_999_999])
def test_a_client_computes_neither_too_little_nor_for_hours(iterations: int) -> None:
    client = ScramClient(SHA_256, "user", "pencil", lambda: CLIENT_NONCE)
    client.first()
    with pytest.raises(AuthenticationFailed):
        client.evaluate(SECOND.replace("i=4096", f"i={iterations}").encode())


@pytest.mark.parametrize("answer", [LAST.replace("v=6r", "v=7r"), "e=other-error", "v=", "x"])
def test_a_broker_that_does_not_know_the_password(answer: str) -> None:
    client = ScramClient(SHA_256, "user", "pencil", lambda: CLIENT_NONCE)
    client.first()
    client.evaluate(SECOND.encode())
    with pytest.raises(AuthenticationFailed):
        client.evaluate(answer.encode())


@pytest.mark.parametrize(
    "text", ["", "salt=AA==", "salt=!,stored_key=,server_key=,iterations=1", "x" * 100]
)
def test_a_credential_that_cannot_be_read_is_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"^Credentials not valid$"):
        ScramCredential.parse(text)


def test_no_key_in_a_repr() -> None:
    assert "salt" not in repr(pencil())
    assert repr(pencil().stored_key)[3:10] not in repr(pencil())
