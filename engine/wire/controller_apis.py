"""The APIs on the listener of a controller, and the versions of each.

Controllers have a listener of their own, which clients do not use. These are the versions of
`metadata.version` 7 (3.3-IV3), which each later release speaks, too. Fetch is that of the metadata
log: it names the topic by its id, which began with version 13. DescribeCluster is that of Kafka
3.7, by which a tool with --bootstrap-controller finds the other controllers.

Administrators' requests have the versions of a broker's table (kraft_apis.py): it passes them on as
they came, in an Envelope. AlterPartition names topics by their ids, which began with version 2.
"""

from collections.abc import Mapping

from engine.wire.apis import ApiKey


class ControllerApi(ApiKey):
    """An API of a controller."""

    FETCH = 1, 13, 13, 12
    SASL_HANDSHAKE = 17, 0, 1
    API_VERSIONS = 18, 0, 3, 3
    CREATE_TOPICS = 19, 0, 7, 5
    DELETE_TOPICS = 20, 0, 6, 4
    DESCRIBE_ACLS = 29, 0, 3, 2
    CREATE_ACLS = 30, 0, 3, 2
    DELETE_ACLS = 31, 0, 3, 2
    DESCRIBE_CONFIGS = 32, 0, 4, 4
    ALTER_CONFIGS = 33, 0, 2, 2
    SASL_AUTHENTICATE = 36, 0, 2, 2
    CREATE_PARTITIONS = 37, 0, 3, 2
    ELECT_LEADERS = 43, 0, 2, 2
    INCREMENTAL_ALTER_CONFIGS = 44, 0, 1, 1
    ALTER_PARTITION_REASSIGNMENTS = 45, 0, 0, 0
    LIST_PARTITION_REASSIGNMENTS = 46, 0, 0, 0
    ALTER_CLIENT_QUOTAS = 49, 0, 1, 1
    ALTER_USER_SCRAM_CREDENTIALS = 51, 0, 0, 0
    VOTE = 52, 0, 0, 0
    BEGIN_QUORUM_EPOCH = 53, 0, 0
    END_QUORUM_EPOCH = 54, 0, 0
    DESCRIBE_QUORUM = 55, 0, 1, 0
    ALTER_PARTITION = 56, 2, 2, 0
    UPDATE_FEATURES = 57, 0, 1, 0
    ENVELOPE = 58, 0, 0, 0
    FETCH_SNAPSHOT = 59, 0, 0, 0
    DESCRIBE_CLUSTER = 60, 0, 1, 0
    BROKER_REGISTRATION = 62, 0, 1, 0
    BROKER_HEARTBEAT = 63, 0, 0, 0
    UNREGISTER_BROKER = 64, 0, 0, 0
    ALLOCATE_PRODUCER_IDS = 67, 0, 0, 0


class AskedControllerApi(ApiKey):
    """An API for which a node asks a controller in another version than the newest."""

    BROKER_REGISTRATION = 62, 0, 0, 0  # what Kafka 3.3 knows; 1 has only a flag of migrations


CONTROLLER_APIS: Mapping[int, ControllerApi] = {int(api): api for api in ControllerApi}
ASKED_CONTROLLER_APIS: Mapping[int, ApiKey] = {  # the newest version of each is asked for
    **CONTROLLER_APIS,
    **{int(api): api for api in AskedControllerApi},
}
