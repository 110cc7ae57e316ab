"""The znodes of Kafka 2.8: every path and its value.

    path                                   E  value
    /cluster/id                               the cluster's id
    /brokers/ids/N                         *  a live broker and its endpoints (BrokerInfo)
    /brokers/topics/T                         a topic's id and each partition's replicas (Topic)
    /brokers/topics/T/partitions/P/state      leader, ISR and their epochs (LeaderAndIsr)
    /brokers/seqid                            nothing: its version is the next generated broker id
    /controller                            *  the broker that is the controller (ControllerInfo)
    /controller_epoch                         how many controllers there have been, as a number
    /feature                                  finalized features (Features)
    /config/{topics,clients,users,brokers,ips}/NAME   what was set for it; "<default>" for all
    /config/changes/config_change_#           the configuration of this entity has changed
    /isr_change_notification/isr_change_#     leader to controller: these ISRs have changed
    /log_dir_event_notification/log_dir_event_#       broker to controller: a disk has failed
    /admin/delete_topics/T                    a request to delete T
    /admin/reassign_partitions                a request to move partitions (before Kafka 2.4)
    /admin/preferred_replica_election         a request to elect the preferred leaders
    /latest_producer_id_block                 the last block of producer ids that was reserved
    /consumers                                for consumers before 0.9; empty

E marks ephemeral znodes, which are deleted with their owner's session; # is a number that ZooKeeper
appends. A znode's czxid is the number of the transaction that created it.

Most values are JSON, with the keys in the order of Kafka's own maps, so that the bytes are
the same. Decoding accepts every older version that Kafka accepts.

Invariant: a value with unknown keys, from a newer broker, is still read.
Invariant: for any bytes, decoding returns a valid value or raises a ValueError with the reason: a
number larger than Kafka's type for it, a partition without replicas, a broker named twice.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self
from uuid import UUID

from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition, id_text
from engine.zookeeper.json_fields import (
    NOTHING,
    as_brokers,
    as_epoch,
    as_int32,
    as_int64,
    as_list,
    as_natural,
    as_object,
    as_text,
    as_uuid,
    encoded_json,
    field,
    json_object,
)

CLUSTER_ID = "/cluster/id"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
BROKER_SEQUENCE = "/brokers/seqid"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
FEATURES = "/feature"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE = "/config/changes/config_change_"  # ZooKeeper appends a number
ISR_CHANGES = "/isr_change_notification"
ISR_CHANGE = "/isr_change_notification/isr_change_"  # ZooKeeper appends a number
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT = "/log_dir_event_notification/log_dir_event_"  # ZooKeeper appends a number
LOG_DIR_FAILURE = 1  # the only event in such a note
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
CONSUMERS = "/consumers"

PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

CONFIG_TYPES = ("topics", "clients", "users", "brokers", "ips")
DEFAULT_ENTITY = "<default>"  # for every entity that has no setting of its own

# Every broker creates these when it starts.
PERSISTENT_PATHS = (
    CONSUMERS,
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    *(f"{CONFIG}/{kind}" for kind in CONFIG_TYPES),
)


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(partition: TopicPartition) -> str:
    return f"{TOPICS}/{partition.topic}/partitions/{partition.partition}"


def state_path(partition: TopicPartition) -> str:
    return f"{partition_path(partition)}/state"


def config_path(kind: str, entity: str) -> str:
    return f"{CONFIG}/{kind}/{entity}"


def deleted_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


class BrokerEndPoint(NamedTuple):
    """A listener's name, and its address for clients."""

    listener: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host  # an IPv6 address
        return f"{self.listener}://{host}:{self.port}"

    @classmethod
    def parse(cls, text: str, protocols: Mapping[str, str] | None) -> Self:
        """`protocols`: of each listener; None before version 4 of BrokerInfo, where a listener had
        the name of its protocol."""
        match = re.fullmatch(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)", text)
        if match is None:
            raise ValueError(f"not an endpoint: {text!r}")
        listener = match[1].upper()
        protocol = listener if protocols is None else field(protocols, listener, as_text)
        if protocol not in PROTOCOLS:
            raise ValueError(f"the security protocol of {text!r} is {protocol!r}")
        return cls(listener, match[2], as_natural(int(match[3])), protocol)


class BrokerInfo(NamedTuple):
    """/brokers/ids/N. The czxid of the znode is the broker epoch."""

    endpoints: tuple[BrokerEndPoint, ...]
    timestamp: int  # ms since 1970, when the broker registered
    rack: str | None = None
    jmx_port: int = -1
    features: Mapping[str, Mapping[str, int]] = {}  # never changed
    version: int = 5

    def encode(self) -> bytes:
        """Host and port are repeated at the top, for clients that know only PLAINTEXT."""
        plain = next((e for e in self.endpoints if e.protocol == "PLAINTEXT"), None)
        return encoded_json(
            {
                "listener_security_protocol_map": {e.listener: e.protocol for e in self.endpoints},
                "endpoints": [str(e) for e in self.endpoints],
                **({} if self.rack is None else {"rack": self.rack}),
                "jmx_port": self.jmx_port,
                "features": self.features,
                "host": plain.host if plain else None,
                "timestamp": str(self.timestamp),
                "port": plain.port if plain else -1,
                "version": self.version,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Version 1 has one host and port, 2 endpoints, 3 a rack, 4 named listeners, 5 features."""
        value = json_object(data)
        version = field(value, "version", as_int32)
        if version < 1:
            raise ValueError(f"version {version} of a broker's registration is not known")
        protocols = field(value, "listener_security_protocol_map", as_object, None)
        if version == 1:
            host, port = field(value, "host", as_text), field(value, "port", as_natural)
            endpoints = [BrokerEndPoint("PLAINTEXT", host, port)]
        else:
            listed = field(value, "endpoints", as_list)
            endpoints = [BrokerEndPoint.parse(as_text(text), protocols) for text in listed]
        if not endpoints:
            raise ValueError("it has no endpoints")
        return cls(
            tuple(endpoints),
            field(value, "timestamp", as_int64, -1),
            field(value, "rack", as_text, None),
            field(value, "jmx_port", as_int32, -1),
            field(value, "features", as_object, NOTHING),
            version,
        )


class Topic(NamedTuple):
    """/brokers/topics/T."""

    topic_id: UUID | None  # None before Kafka 2.8
    partitions: Mapping[int, ReplicaAssignment]

    def encode(self) -> bytes:
        partitions = sorted(self.partitions.items())
        placed = {"partitions": {str(p): r.replicas for p, r in partitions}}
        adding = {"adding_replicas": {str(p): r.adding for p, r in partitions if r.adding}}
        removing = {"removing_replicas": {str(p): r.removing for p, r in partitions if r.removing}}
        if self.topic_id is None:
            return encoded_json({**placed, **adding, **removing, "version": 3})
        with_id = {"topic_id": id_text(self.topic_id)}
        return encoded_json({**removing, **placed, **with_id, **adding, "version": 3})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Version 1 had only the partitions, 2 adding and removing replicas, 3 the topic's id."""
        value = json_object(data)
        names = "partitions", "adding_replicas", "removing_replicas"
        placed, adding, removing = (field(value, name, as_object, NOTHING) for name in names)
        partitions = {}
        for p in placed:
            lists = placed, adding, removing
            ids, added, removed = (field(each, p, as_brokers, ()) for each in lists)
            if not (set(ids) - set(added) and set(ids) - set(removed)):
                raise ValueError(f"partition {p} has no replicas before a move, or none after it")
            partitions[as_natural(as_int64(p))] = ReplicaAssignment(ids, added, removed)
        return cls(field(value, "topic_id", as_uuid, None), partitions)


class LeaderAndIsr(NamedTuple):
    """.../partitions/P/state. A write names the version that was read, so no change is lost.

    The request that brings it to the brokers has the same name: LeaderAndIsrRequest.
    """

    leader: int  # a broker, or -1
    leader_epoch: int  # incremented with each change by the controller
    isr: tuple[int, ...]
    controller_epoch: int  # of the controller that wrote this last

    def encode(self) -> bytes:
        return encoded_json(
            {
                "controller_epoch": self.controller_epoch,
                "leader": self.leader,
                "version": 1,
                "leader_epoch": self.leader_epoch,
                "isr": self.isr,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        value = json_object(data)
        leader, epoch = field(value, "leader", as_int32), field(value, "leader_epoch", as_epoch)
        if leader < -1:
            raise ValueError(f"leader: {leader} is not a broker")
        return cls(
            leader,
            epoch,
            field(value, "isr", as_brokers),
            field(value, "controller_epoch", as_natural),
        )


class ControllerInfo(NamedTuple):
    """/controller: the broker that has created it is the controller."""

    broker_id: int
    timestamp: int

    def encode(self) -> bytes:
        return encoded_json(
            {"version": 1, "brokerid": self.broker_id, "timestamp": str(self.timestamp)}
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        value = json_object(data)
        return cls(field(value, "brokerid", as_natural), field(value, "timestamp", as_int64, -1))


class ProducerIdBlock(NamedTuple):
    """/latest_producer_id_block: a broker reserves a thousand ids, `first` and `last` included."""

    broker_id: int
    first: int
    last: int

    def encode(self) -> bytes:
        ids = {"block_start": str(self.first), "block_end": str(self.last)}
        return encoded_json({"version": 1, "broker": self.broker_id, **ids})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        value = json_object(data)
        first, last = field(value, "block_start", as_int64), field(value, "block_end", as_int64)
        if not 0 <= first <= last:
            raise ValueError(f"{first} to {last} is not a block of ids")
        return cls(field(value, "broker", as_int32), first, last)


class Features(NamedTuple):
    """/feature: supported by every broker of the cluster. Kafka 2.8 itself has no feature yet."""

    enabled: bool = True
    features: Mapping[str, Mapping[str, int]] = {}  # never changed

    def encode(self) -> bytes:
        return encoded_json({"features": self.features, "version": 1, "status": int(self.enabled)})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        value = json_object(data)
        return cls(field(value, "status", as_int32) == 1, field(value, "features", as_object))


def encode_cluster_id(cluster_id: str) -> bytes:
    return encoded_json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    return field(json_object(data), "id", as_text)


def encode_epoch(epoch: int) -> bytes:
    """/controller_epoch; the first controller's is 1."""
    return b"%d" % epoch


def decode_epoch(data: bytes) -> int:
    return as_epoch(as_int64(data.decode()))


def encode_config(config: Mapping[str, str]) -> bytes:
    return encoded_json({"version": 1, "config": config})


def decode_config(data: bytes) -> dict[str, str]:
    """Without data there are no settings. A value that is not a string is shown as JSON."""
    config = field(json_object(data or b"{}"), "config", as_object, NOTHING)
    return {key: it if isinstance(it, str) else json.dumps(it) for key, it in config.items()}


def encode_config_change(kind: str, entity: str) -> bytes:
    return encoded_json({"version": 2, "entity_path": f"{kind}/{entity}"})


def decode_config_change(data: bytes) -> tuple[str, str]:
    """The kind and name of the entity that has changed; version 1 had them apart."""
    value = json_object(data)
    if field(value, "version", as_int32) == 1:
        names = field(value, "entity_type", as_text), field(value, "entity_name", as_text)
    else:
        kind, _, entity = field(value, "entity_path", as_text).partition("/")
        names = kind, entity
    path, odd = "/".join(names), {"", ".", ".."}
    if names[0] not in CONFIG_TYPES or odd & {*path.split("/")} or not path.isprintable():
        raise ValueError(f"{path!r:.60} has no configuration")
    return names


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """An ISR change notification, or a request for preferred leaders."""
    return encoded_json({"version": 1, "partitions": [tp._asdict() for tp in sorted(partitions)]})


def decode_partitions(data: bytes) -> set[TopicPartition]:
    return {_partition(each) for each in field(json_object(data), "partitions", as_list)}


def encode_log_dir_failure(broker: int) -> bytes:
    return encoded_json({"version": 1, "broker": broker, "event": LOG_DIR_FAILURE})


def decode_log_dir_failure(data: bytes) -> int:
    return field(json_object(data), "broker", as_natural)


def encode_reassignment(moves: Mapping[TopicPartition, Iterable[int]]) -> bytes:
    listed = [{**tp._asdict(), "replicas": list(to)} for tp, to in sorted(moves.items())]
    return encoded_json({"version": 1, "partitions": listed})


def decode_reassignment(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    listed = field(json_object(data), "partitions", as_list)
    return {_partition(each): field(each, "replicas", as_brokers) for each in listed}


def _partition(value: Any) -> TopicPartition:
    return TopicPartition(field(value, "topic", as_text), field(value, "partition", as_natural))
