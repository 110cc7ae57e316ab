"""Errors in bytes from the network.

None of these is an `ApiException`: a peer that does not speak the protocol would not understand a
response, so the connection is closed, as by Kafka. The exception is ApiVersions in an unknown
version, which gets a response.
"""

from typing import NamedTuple

LARGEST_ID = 2**31 - 1  # the largest correlation id, which 0 follows


class RequestHeader(NamedTuple):
    """The beginning of every request, whatever the version of the header."""

    api_key: int
    api_version: int
    correlation_id: int  # the client's number for the request; the response carries it back
    client_id: str | None


class Malformed(Exception):
    """The bytes do not follow the protocol: close the connection."""


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
