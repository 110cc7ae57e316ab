"""The APIs of a broker without ZooKeeper: those of apis.py, but for the rows that differ.

Fetch 13           names topics by their ids; so does a follower that speaks metadata.version 7
ListOffsets 7      finds the record with the largest timestamp
UpdateFeatures 1   DescribeQuorum, UnregisterBroker: a broker passes them on to the controller
without            what a ZooKeeper controller and its brokers send each other
"""

from collections.abc import Mapping

from engine.wire.apis import APIS, Api, ApiKey


class KRaftApi(ApiKey):
    """An API of a broker that has other versions there, or none, with ZooKeeper."""

    FETCH = 1, 0, 13, 12
    LIST_OFFSETS = 2, 0, 7, 6
    DESCRIBE_QUORUM = 55, 0, 1, 0
    UPDATE_FEATURES = 57, 0, 1, 0
    UNREGISTER_BROKER = 64, 0, 0, 0


OF_ZOOKEEPER_MODE = frozenset(
    {
        Api.LEADER_AND_ISR,
        Api.STOP_REPLICA,
        Api.UPDATE_METADATA,
        Api.CONTROLLED_SHUTDOWN,
        Api.ALTER_ISR,
    }
)

KRAFT_APIS: Mapping[int, ApiKey] = {
    **{key: api for key, api in APIS.items() if api not in OF_ZOOKEEPER_MODE},
    **{int(api): api for api in KRaftApi},
}

# By its key, the API of any broker: for its name, not for its versions.
EVERY_API: Mapping[int, ApiKey] = {**KRAFT_APIS, **APIS}
