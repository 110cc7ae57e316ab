"""What can be wrong with bytes from the network.

None of these is a `KafkaError`: no answer can be trusted to reach a peer that speaks something
else, so Kafka closes the connection, and so does whoever catches one of these here. The one
exception is ApiVersions in a version from the future, which the broker answers.
"""

from typing import NamedTuple


class RequestHeader(NamedTuple):
    """What stands before every request, whatever the version of the header."""

    api_key: int
    api_version: int
    correlation_id: int  # the client's number for the request; the response carries it back
    client_id: str | None


class Malformed(Exception):
    """The bytes are not what the protocol says they should be: close the connection."""


class BadFrameSize(Malformed):
    """A frame announces a negative size, or more than we accept; its bytes were not read."""


class UnservedVersion(Malformed):
    """A known API in a version that is not served. Invariant: only the header was read.

    If the API is ApiVersions, the client is newer than this broker and asks what it may use:
    Kafka answers error 35 in the shape of version 0, which every client can read.
    """

    def __init__(self, header: RequestHeader) -> None:
        super().__init__(f"version {header.api_version} of API {header.api_key} is not served")
        self.header = header
