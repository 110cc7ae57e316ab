"""What all SASL mechanisms have in common: tokens in, tokens out, until a name is known.

Two kinds of failure. `AuthenticationFailed` has a text that the other end may read. The text of
`InvalidCredentials` is for our own log: told to a client, it would show which user names exist.
"""

from typing import Protocol


class AuthenticationFailed(Exception):
    """An authentication has failed, and the other end is told why."""


class InvalidCredentials(Exception):
    """An authentication has failed, and the other end is not told why."""


class SaslServer(Protocol):
    """The broker's end of one authentication."""

    @property
    def name(self) -> str | None:
        """The name of the user, once it is proved."""
        ...

    def evaluate(self, token: bytes) -> bytes:
        """The answer to a token of the client."""
        ...


class SaslClient(Protocol):
    """The client's end of one authentication."""

    @property
    def mechanism(self) -> str: ...

    def first(self) -> bytes:
        """The token that begins."""
        ...

    def evaluate(self, token: bytes) -> bytes | None:
        """The next token; None if the server has said enough."""
        ...
