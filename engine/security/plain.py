"""SASL/PLAIN (RFC 4616): the name and the password, as they are. Only TLS makes that a secret.

    [authorization id] NUL name NUL password

One token, and an empty answer. The broker has the passwords in its sasl.jaas.config:

    PlainLoginModule required user_alice="..." user_bob="...";

Invariant: a name that does not exist and a wrong password have the same answer, after the same
work.
"""

import hmac
from collections.abc import Mapping

from engine.security.mechanism import AuthenticationFailed

PLAIN = "PLAIN"


class PlainServer:
    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.name: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        parts = token.decode(errors="replace").split("\0", 3)
        if len(parts) != 3:
            raise AuthenticationFailed(
                f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            )
        authorization_id, name, password = parts
        if not name:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        expected = self._users.get(name)
        matches = hmac.compare_digest((expected or "").encode(), password.encode())
        if expected is None or not matches:
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        self.name = name
        return b""


class PlainClient:
    mechanism = PLAIN

    def __init__(self, name: str, password: str) -> None:
        self._token = f"\0{name}\0{password}".encode()

    def first(self) -> bytes:
        return self._token

    def evaluate(self, token: bytes) -> bytes | None:
        return None
