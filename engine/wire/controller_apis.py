"""The APIs on the listener of a controller, and the versions of each.

Controllers have a listener of their own, which clients do not use. These are the versions of
`metadata.version` 7 (3.3-IV3), which each later release speaks, too. Fetch is that of the metadata
log: it names the topic by its id, which began with version 13. DescribeCluster is that of Kafka
3.7, by which a tool with --bootstrap-controller finds the other controllers.

The brokers' table (apis.py) is that of Kafka 2.8, and has none of the requests of a quorum.
"""

from collections.abc import Mapping

from engine.wire.apis import ApiKey


class ControllerApi(ApiKey):
    """An API of a controller."""

    FETCH = 1, 13, 13, 12
    API_VERSIONS = 18, 0, 3, 3
    CREATE_TOPICS = 19, 7, 7, 5
    VOTE = 52, 0, 0, 0
    BEGIN_QUORUM_EPOCH = 53, 0, 0
    END_QUORUM_EPOCH = 54, 0, 0
    DESCRIBE_QUORUM = 55, 0, 1, 0
    ALTER_PARTITION = 56, 2, 2, 0
    ENVELOPE = 58, 0, 0, 0
    FETCH_SNAPSHOT = 59, 0, 0, 0
    DESCRIBE_CLUSTER = 60, 0, 1, 0
    BROKER_REGISTRATION = 62, 0, 0, 0
    BROKER_HEARTBEAT = 63, 0, 0, 0
    ALLOCATE_PRODUCER_IDS = 67, 0, 0, 0


CONTROLLER_APIS: Mapping[int, ControllerApi] = {int(api): api for api in ControllerApi}
