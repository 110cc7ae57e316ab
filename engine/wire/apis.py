"""The APIs of Kafka 2.8 in ZooKeeper mode, and the versions of each.

ApiVersions tells a client which versions it may use, and the client guesses the broker's release
from them: Fetch up to 12 and Produce up to 9 mean "2.8". So the versions are those of that release.
The published schemas (kio) have dropped the oldest of them: `old_versions` derives these. Of the
requests between brokers, six are no longer in kio, or not in the versions of 2.8: `messages`
declares them, without the oldest versions, which no broker at protocol 2.6 or later sends.

A broker advertises those of them that it has handlers for. Without ZooKeeper it serves other
versions of a few, Fetch 13 for instance (kraft_apis.py); controllers have a table of their own.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Self

_NEVER = 2**15  # larger than any version
API_VERSIONS = 18  # the key of the request that every listener serves


class ApiKey(IntEnum):
    """An API that a broker or a controller serves, by the key at the beginning of its requests.

    NAME = key, oldest version, newest version, first flexible version
    """

    oldest: int  # versions served, both ends included
    newest: int
    flexible: int  # the first version with compact lengths and tagged fields (KIP-482)

    def __new__(cls, key: int, oldest: int, newest: int, flexible: int = _NEVER) -> Self:
        api = int.__new__(cls, key)
        api._value_ = key
        api.oldest, api.newest, api.flexible = oldest, newest, flexible
        return api

    def serves(self, version: int) -> bool:
        return self.oldest <= version <= self.newest

    def request_header(self, version: int) -> int:
        """The version of the header in front of a request."""
        return 2 if version >= self.flexible else 1

    def response_header(self, version: int) -> int:
        """The version of the header in front of a response.

        A client that sends ApiVersions does not know the broker's release yet, so the header of
        that response never changes.
        """
        return 1 if version >= self.flexible and self != API_VERSIONS else 0

    @property
    def between_brokers(self) -> bool:
        """Whether only brokers send it, to each other; engine/wire/messages declares these."""
        return False

    def schema(self, version: int, kind: str) -> str:
        """The module with its request or response, for example `kio.schema.fetch.v12.request`."""
        if self.between_brokers:
            return f"engine.wire.messages.{self.name.lower()}"
        return f"kio.schema.{self.name.lower()}.v{version}.{kind}"


class Api(ApiKey):
    """An API of a broker of Kafka 2.8."""

    PRODUCE = 0, 0, 9, 9
    FETCH = 1, 0, 12, 12
    LIST_OFFSETS = 2, 0, 6, 6
    METADATA = 3, 0, 11, 9
    LEADER_AND_ISR = 4, 2, 5, 4
    STOP_REPLICA = 5, 3, 3, 2
    UPDATE_METADATA = 6, 5, 7, 6
    CONTROLLED_SHUTDOWN = 7, 1, 3, 3
    OFFSET_COMMIT = 8, 0, 8, 8
    OFFSET_FETCH = 9, 0, 7, 6
    FIND_COORDINATOR = 10, 0, 3, 3
    JOIN_GROUP = 11, 0, 7, 6
    HEARTBEAT = 12, 0, 4, 4
    LEAVE_GROUP = 13, 0, 4, 4
    SYNC_GROUP = 14, 0, 5, 4
    DESCRIBE_GROUPS = 15, 0, 5, 5
    LIST_GROUPS = 16, 0, 4, 3
    SASL_HANDSHAKE = 17, 0, 1
    API_VERSIONS = 18, 0, 3, 3
    CREATE_TOPICS = 19, 0, 7, 5
    DELETE_TOPICS = 20, 0, 6, 4
    DELETE_RECORDS = 21, 0, 2, 2
    INIT_PRODUCER_ID = 22, 0, 4, 2
    OFFSET_FOR_LEADER_EPOCH = 23, 0, 4, 4
    ADD_PARTITIONS_TO_TXN = 24, 0, 3, 3
    ADD_OFFSETS_TO_TXN = 25, 0, 3, 3
    END_TXN = 26, 0, 3, 3
    WRITE_TXN_MARKERS = 27, 0, 1, 1
    TXN_OFFSET_COMMIT = 28, 0, 3, 3
    DESCRIBE_ACLS = 29, 0, 2, 2
    CREATE_ACLS = 30, 0, 2, 2
    DELETE_ACLS = 31, 0, 2, 2
    DESCRIBE_CONFIGS = 32, 0, 4, 4
    ALTER_CONFIGS = 33, 0, 2, 2
    ALTER_REPLICA_LOG_DIRS = 34, 0, 2, 2
    DESCRIBE_LOG_DIRS = 35, 0, 2, 2
    SASL_AUTHENTICATE = 36, 0, 2, 2
    CREATE_PARTITIONS = 37, 0, 3, 2
    CREATE_DELEGATION_TOKEN = 38, 0, 2, 2
    RENEW_DELEGATION_TOKEN = 39, 0, 2, 2
    EXPIRE_DELEGATION_TOKEN = 40, 0, 2, 2
    DESCRIBE_DELEGATION_TOKEN = 41, 0, 2, 2
    DELETE_GROUPS = 42, 0, 2, 2
    ELECT_LEADERS = 43, 0, 2, 2
    INCREMENTAL_ALTER_CONFIGS = 44, 0, 1, 1
    ALTER_PARTITION_REASSIGNMENTS = 45, 0, 0, 0
    LIST_PARTITION_REASSIGNMENTS = 46, 0, 0, 0
    OFFSET_DELETE = 47, 0, 0
    DESCRIBE_CLIENT_QUOTAS = 48, 0, 1, 1
    ALTER_CLIENT_QUOTAS = 49, 0, 1, 1
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, 0, 0, 0
    ALTER_USER_SCRAM_CREDENTIALS = 51, 0, 0, 0
    ALTER_ISR = 56, 0, 0, 0
    UPDATE_FEATURES = 57, 0, 0, 0
    DESCRIBE_CLUSTER = 60, 0, 0, 0
    DESCRIBE_PRODUCERS = 61, 0, 0, 0

    @property
    def between_brokers(self) -> bool:
        """Whether only brokers send it, to each other; engine/wire/messages declares these."""
        return 4 <= self <= 7 or self in (Api.WRITE_TXN_MARKERS, Api.ALTER_ISR)


APIS: Mapping[int, Api] = {int(api): api for api in Api}
