"""SCRAM (RFC 5802): both ends prove that they know a password, and neither sends it.

    client                                       broker, with the credential of alice
      n,,n=alice,r=CLIENT                  ─>
                                           <─    r=CLIENT SERVER,s=salt,i=4096
      c=biws,r=CLIENT SERVER,p=proof       ─>    H(proof xor signature) == stored key?
                                           <─    v=signature by the server key

    salted password = PBKDF2(password, salt, iterations)
    client key      = HMAC(salted password, "Client Key"),   stored key = H(client key)
    server key      = HMAC(salted password, "Server Key")
    signatures      = HMAC(stored key or server key, all three messages)
    proof           = client key xor signature of the stored key

The broker stores no password. Who reads a credential can pretend to be the broker, but cannot log
in without trying passwords. Each end adds a nonce of its own, so that no message can be replayed.

In ZooKeeper, below /config/users/NAME, a credential is one text for each mechanism:

    SCRAM-SHA-256   salt=...,stored_key=...,server_key=...,iterations=4096

As in Kafka the broker checks neither the channel binding nor the nonce of the last message by
themselves: both are part of what the proof signs.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from typing import NamedTuple, Self

from engine.security.mechanism import AuthenticationFailed, InvalidCredentials

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NUMBERS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}  # of the mechanisms, in requests
MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16384  # of a credential that a client stores
MAX_COMPUTED = 1_000_000  # a server that asks for more keeps the client busy for seconds

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST = re.compile(
    rf"n,(?:a=({_NAME}))?,(?:m={_VALUE},)?n=({_NAME}),r=({_PRINTABLE})({_EXTENSIONS})"
)
_SERVER_FIRST = re.compile(
    rf"(?:m={_VALUE},)?r=({_PRINTABLE}),s=({_BASE64}),i=([0-9]{{1,9}}){_EXTENSIONS}"
)
_CLIENT_FINAL = re.compile(rf"(c=({_BASE64}),r=({_PRINTABLE}){_EXTENSIONS}),p=({_BASE64})")
_SERVER_FINAL = re.compile(rf"(?:e=([^=,]+))|(?:v=({_BASE64})){_EXTENSIONS}")


class ScramCredential(NamedTuple):
    """What a broker stores of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential([hidden], iterations={self.iterations})"

    @classmethod
    def of(cls, mechanism: str, salt: bytes, salted_password: bytes, iterations: int) -> Self:
        client_key = _hmac(mechanism, salted_password, b"Client Key")
        server_key = _hmac(mechanism, salted_password, b"Server Key")
        return cls(salt, _hash(mechanism, client_key), server_key, iterations)

    @classmethod
    def make(cls, mechanism: str, password: str, iterations: int = MIN_ITERATIONS) -> Self:
        """With a random salt."""
        salt = secrets.token_bytes(24)
        return cls.of(mechanism, salt, salted(mechanism, password, salt, iterations), iterations)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises a ValueError without the text: it may hold keys."""
        values = dict(part.partition("=")[::2] for part in text.split(","))
        try:
            if values.keys() != {"salt", "stored_key", "server_key", "iterations"}:
                raise ValueError
            salt, stored, server = (
                _decoded(values[name]) for name in ("salt", "stored_key", "server_key")
            )
            return cls(salt, stored, server, int(values["iterations"]))
        except ValueError:
            raise ValueError("Credentials not valid") from None

    def text(self) -> str:
        return (
            f"salt={_encoded(self.salt)},stored_key={_encoded(self.stored_key)},"
            f"server_key={_encoded(self.server_key)},iterations={self.iterations}"
        )


def salted(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


def nonce() -> str:
    return secrets.token_urlsafe(24)


class ScramServer:
    """The broker's end."""

    def __init__(
        self,
        mechanism: str,
        credential: Callable[[str], ScramCredential | None],
        make_nonce: Callable[[], str] = nonce,
    ) -> None:
        self.name: str | None = None
        self._mechanism = mechanism
        self._find = credential
        self._nonce = make_nonce()
        self._began: tuple[str, ScramCredential, str, str] | None = None  # after the first message

    def evaluate(self, token: bytes) -> bytes:
        if self.name is not None:
            raise InvalidCredentials("a message after the last one")
        text = token.decode(errors="replace")
        return self._first(text) if self._began is None else self._final(text)

    def _first(self, text: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(text)
        if match is None:
            raise InvalidCredentials("Invalid SCRAM client first message format")
        authorization_id, sasl_name, client_nonce, extensions = match.groups()
        name = sasl_name.replace("=2C", ",").replace("=3D", "=")
        credential = self._find(name)
        if "tokenauth=true" in extensions.split(","):  # there are no delegation tokens here
            raise InvalidCredentials("Token Authentication failed: Invalid tokenId")
        if credential is None:
            raise InvalidCredentials("Authentication failed: Invalid user credentials")
        if authorization_id not in (None, name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        if credential.iterations < MIN_ITERATIONS:
            raise InvalidCredentials(
                f"Iterations {credential.iterations} is less than the minimum {MIN_ITERATIONS} "
                f"for {self._mechanism}"
            )
        answer = (
            f"r={client_nonce}{self._nonce},s={_encoded(credential.salt)},i={credential.iterations}"
        )
        bare = f"n={sasl_name},r={client_nonce}{extensions}"
        self._began = name, credential, client_nonce, f"{bare},{answer}"
        return answer.encode()

    def _final(self, text: str) -> bytes:
        assert self._began is not None
        name, credential, client_nonce, before = self._began
        match = _CLIENT_FINAL.fullmatch(text)
        if match is None:
            raise InvalidCredentials("Invalid SCRAM client final message format")
        without_proof, _, given_nonce, proof = match.groups()
        signed = f"{before},{without_proof}".encode()
        signature = _hmac(self._mechanism, credential.stored_key, signed)
        client_key = _xor(signature, _decoded(proof))
        matches = hmac.compare_digest(_hash(self._mechanism, client_key), credential.stored_key)
        if not matches or given_nonce != client_nonce + self._nonce:
            raise InvalidCredentials("Invalid client credentials")
        self.name = name
        return f"v={_encoded(_hmac(self._mechanism, credential.server_key, signed))}".encode()


class ScramClient:
    """The client's end. It checks that the broker has the credential of the same password."""

    def __init__(
        self, mechanism: str, name: str, password: str, make_nonce: Callable[[], str] = nonce
    ) -> None:
        self.mechanism = mechanism
        self._password = password
        self._nonce = make_nonce()
        self._bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={self._nonce}"
        self._expected: str | None = None  # the last message of the broker, once that is known

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def evaluate(self, token: bytes) -> bytes | None:
        text = token.decode(errors="replace")
        if self._expected is None:
            return self._final(text)
        match = _SERVER_FINAL.fullmatch(text)
        if match is None:
            raise AuthenticationFailed("Invalid SCRAM server final message format")
        if match[1] or not hmac.compare_digest(match[2], self._expected):
            raise AuthenticationFailed("Invalid server signature in server final message")
        return None

    def _final(self, text: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(text)
        if match is None:
            raise AuthenticationFailed("Invalid SCRAM server first message format")
        server_nonce, salt, iterations = match[1], _decoded(match[2]), int(match[3])
        if not server_nonce.startswith(self._nonce):
            raise AuthenticationFailed("Invalid server nonce: does not start with client nonce")
        if not MIN_ITERATIONS <= iterations <= MAX_COMPUTED:
            raise AuthenticationFailed(
                f"Requested iterations {iterations} is less than the minimum {MIN_ITERATIONS} "
                f"for {self.mechanism}, or more than {MAX_COMPUTED}"
            )
        password = salted(self.mechanism, self._password, salt, iterations)
        client_key = _hmac(self.mechanism, password, b"Client Key")
        stored_key = _hash(self.mechanism, client_key)
        without_proof = f"c={_encoded(b'n,,')},r={server_nonce}"
        signed = f"{self._bare},{text},{without_proof}".encode()
        proof = _xor(client_key, _hmac(self.mechanism, stored_key, signed))
        server_key = _hmac(self.mechanism, password, b"Server Key")
        self._expected = _encoded(_hmac(self.mechanism, server_key, signed))
        return f"{without_proof},p={_encoded(proof)}".encode()


def _hmac(mechanism: str, key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, HASHES[mechanism])


def _hash(mechanism: str, data: bytes) -> bytes:
    return hashlib.new(HASHES[mechanism], data).digest()


def _xor(one: bytes, other: bytes) -> bytes:
    """As long as the longer one: a proof of another length is no proof."""
    width = max(len(one), len(other))
    number = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return number.to_bytes(width, "big")


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
