"""What can go wrong, in Kafka's own numbers.

Every failure that a client may hear of is an `ApiException` that carries one of Kafka's error
codes. It is raised where the trouble is found and translated into a response once, at the
edge (broker/ for requests, cli/ for commands). Our own bugs are never an `ApiException`: they
are asserted, and loud.
"""

import sys
from importlib import import_module

# kio has strategies for Hypothesis where that is installed. To load Hypothesis takes a quarter of a
# broker's start and of its memory, so it is out of sight while kio looks for it.
if "hypothesis" not in sys.modules:
    sys.modules["hypothesis"] = None  # type: ignore[assignment]
    import_module("kio.static.primitive")
    del sys.modules["hypothesis"]

from kio.schema.errors import ErrorCode

__all__ = [
    "ApiException", "ErrorCode", "MetadataError", "MetadataUnavailable",
    "invalid_config", "invalid_request",
]  # fmt: skip


class ApiException(Exception):
    """A failure with a Kafka error code, and a sentence for people."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.name.replace("_", " "))
        self.code = code
        self.message = str(self)
        self.records: dict[int, str] = {}  # the bad records of a refused batch: number -> reason

    def __reduce__(self) -> tuple[object, ...]:
        """For pickle, which would call the class with the message alone."""
        return type(self), (self.code, self.message), {"records": self.records}


def invalid_request(message: str) -> ApiException:
    """A request that no broker can carry out, because it contradicts itself."""
    return ApiException(ErrorCode.invalid_request, message)


def invalid_config(message: str) -> ApiException:
    """A configuration has an unknown key, a bad value, or a contradiction."""
    return ApiException(ErrorCode.invalid_config, message)


class MetadataError(Exception):
    """The store of the cluster's metadata (ZooKeeper, for instance) has failed."""


class MetadataUnavailable(MetadataError):
    """The store of the metadata is out of reach, and may have carried out the request or not."""
