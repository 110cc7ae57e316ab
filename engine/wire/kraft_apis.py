"""The APIs of a broker without ZooKeeper: those of apis.py, but for the rows that differ.

Clients guess the release of a broker from its versions, so these are together those of one: Kafka
3.3, whose level of `metadata.version` is spoken here.

Fetch 13                names topics by their ids; so does a follower, at that level
Metadata 12             topics by their ids; FindCoordinator 4 and OffsetFetch 8: several at once
ListOffsets 7           finds the record with the largest timestamp
JoinGroup 9             tells a leader that is back to assign nothing; a member says why it joins
LeaveGroup 5            a member says why it leaves
DescribeLogDirs 4       the size of each disk, and what is free there
UpdateFeatures 1        DescribeQuorum, UnregisterBroker: a broker passes them on to the controller
DescribeTransactions    and ListTransactions: what hangs
without                 what a ZooKeeper controller and its brokers send each other; credentials for
                        SCRAM and delegation tokens, which are in the metadata from later levels on
"""

from collections.abc import Mapping

from engine.wire.apis import APIS, Api, ApiKey


class KRaftApi(ApiKey):
    """An API of a broker that has other versions there, or none, with ZooKeeper."""

    FETCH = 1, 0, 13, 12
    LIST_OFFSETS = 2, 0, 7, 6
    METADATA = 3, 0, 12, 9
    OFFSET_FETCH = 9, 0, 8, 6
    FIND_COORDINATOR = 10, 0, 4, 3
    JOIN_GROUP = 11, 0, 9, 6
    LEAVE_GROUP = 13, 0, 5, 4
    DESCRIBE_ACLS = 29, 0, 3, 2
    CREATE_ACLS = 30, 0, 3, 2
    DELETE_ACLS = 31, 0, 3, 2
    DESCRIBE_LOG_DIRS = 35, 0, 4, 2
    DESCRIBE_QUORUM = 55, 0, 1, 0
    UPDATE_FEATURES = 57, 0, 1, 0
    UNREGISTER_BROKER = 64, 0, 0, 0
    DESCRIBE_TRANSACTIONS = 65, 0, 0, 0
    LIST_TRANSACTIONS = 66, 0, 0, 0


OF_ZOOKEEPER_MODE = frozenset(
    {
        Api.LEADER_AND_ISR,
        Api.STOP_REPLICA,
        Api.UPDATE_METADATA,
        Api.CONTROLLED_SHUTDOWN,
        Api.CREATE_DELEGATION_TOKEN,
        Api.RENEW_DELEGATION_TOKEN,
        Api.EXPIRE_DELEGATION_TOKEN,
        Api.DESCRIBE_DELEGATION_TOKEN,
        Api.DESCRIBE_USER_SCRAM_CREDENTIALS,
        Api.ALTER_USER_SCRAM_CREDENTIALS,
        Api.ALTER_ISR,
    }
)

KRAFT_APIS: Mapping[int, ApiKey] = {
    **{key: api for key, api in APIS.items() if api not in OF_ZOOKEEPER_MODE},
    **{int(api): api for api in KRaftApi},
}

# The APIs of any broker, and all the versions that there are of each in one mode or the other.
EVERY_API: Mapping[int, ApiKey] = {**APIS, **KRAFT_APIS}
# For the name alone: those of 2.8, where it has them.
BY_NAME: Mapping[str, ApiKey] = {api.name: api for api in (*KRaftApi, *Api)}
