"""Kafka's part of ZooKeeper: every path, and what stands there, as Kafka 2.8 writes it.

    path                                   E  holds
    /cluster/id                               the cluster's id, for ever
    /brokers/ids/N                         *  a live broker: where it listens (Broker)
    /brokers/topics/T                         a topic's id and each partition's replicas (Topic)
    /brokers/topics/T/partitions/P/state      leader, ISR and their epochs (PartitionState)
    /brokers/seqid                            nothing: its version is the next generated broker id
    /controller                            *  which broker is the controller (Controller)
    /controller_epoch                         how many controllers there have been, as a number
    /feature                                  finalized features (Features)
    /config/{topics,clients,users,brokers,ips}/NAME   what was set for it; "<default>" for all
    /config/changes/config_change_#           "look at this entity again"
    /isr_change_notification/isr_change_#     leader to controller: these ISRs have changed
    /log_dir_event_notification/log_dir_event_#       broker to controller: a disk has failed
    /admin/delete_topics/T                    please delete T
    /admin/reassign_partitions                please move these partitions (the way before 2.4)
    /admin/preferred_replica_election         please let their first replica lead these
    /latest_producer_id_block                 the last block of producer ids given out
    /consumers                                where consumers lived before 0.9; empty

E marks ephemeral nodes, gone with their owner's session; # is a number that ZooKeeper appends.
Most values are JSON, with keys in the order in which Kafka's own maps put them, so that a
value reads the same here and there. Decoding takes every older version that Kafka takes.

Invariant: a value that a newer broker wrote with keys we don't know is still read.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self
from uuid import UUID

from engine.model import TopicPartition, id_text, parse_id

CLUSTER_ID = "/cluster/id"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
BROKER_SEQUENCE = "/brokers/seqid"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
FEATURES = "/feature"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE = "/config/changes/config_change_"  # a prefix, as are the next two
ISR_CHANGES = "/isr_change_notification"
ISR_CHANGE = "/isr_change_notification/isr_change_"
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT = "/log_dir_event_notification/log_dir_event_"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
CONSUMERS = "/consumers"

CONFIG_TYPES = ("topics", "clients", "users", "brokers", "ips")
DEFAULT_ENTITY = "<default>"  # stands for every entity that has no setting of its own

# Every broker makes sure of these when it starts.
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


def sequence_number(path: str) -> int:
    """The number that ZooKeeper appended: always the last ten digits."""
    return int(path[-10:])


class Endpoint(NamedTuple):
    """A listener's name, and where clients reach it."""

    listener: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host  # an IPv6 address
        return f"{self.listener}://{host}:{self.port}"

    @classmethod
    def parse(cls, text: str, protocols: Mapping[str, str] | None) -> Self:
        """Before version 4 there was no map: a listener was called as its protocol."""
        match = re.fullmatch(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)", text)
        if match is None:
            raise ValueError(f"not an endpoint: {text!r}")
        listener = match[1].upper()
        protocol = listener if protocols is None else protocols[listener]
        return cls(listener, match[2], int(match[3]), protocol)


class Broker(NamedTuple):
    """/brokers/ids/N. The znode's creation zxid is the broker's epoch: each life has its own."""

    endpoints: tuple[Endpoint, ...]
    timestamp: int  # ms since 1970, when the broker registered
    rack: str | None = None
    jmx_port: int = -1
    features: Mapping[str, Mapping[str, int]] = {}  # never changed
    version: int = 5

    def encode(self) -> bytes:
        """Host and port are said again at the top, for clients that know PLAINTEXT only."""
        plain = next((e for e in self.endpoints if e.protocol == "PLAINTEXT"), None)
        return _json(
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
        """Version 1 had one host and port, 2 endpoints, 3 a rack, 4 named listeners, 5 features."""
        value = _object(data)
        version = value.get("version", 0)
        if version < 1:
            raise ValueError(f"not a broker's registration: {data!r}")
        protocols = value.get("listener_security_protocol_map")
        if version == 1:
            endpoints = [Endpoint("PLAINTEXT", value["host"], value["port"])]
        else:
            endpoints = [Endpoint.parse(text, protocols) for text in value["endpoints"]]
        return cls(
            tuple(endpoints),
            int(value.get("timestamp", -1)),
            value.get("rack"),
            value["jmx_port"],
            value.get("features", {}),
            version,
        )


class Replicas(NamedTuple):
    """Where a partition lives. The first replica is the preferred leader."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()  # on their way in, during a reassignment
    removing: tuple[int, ...] = ()  # on their way out


class Topic(NamedTuple):
    """/brokers/topics/T."""

    topic_id: UUID | None  # None before Kafka 2.8
    partitions: Mapping[int, Replicas]

    def encode(self) -> bytes:
        partitions = sorted(self.partitions.items())
        return _json(
            {
                "removing_replicas": {str(p): r.removing for p, r in partitions if r.removing},
                "partitions": {str(p): r.replicas for p, r in partitions},
                **({} if self.topic_id is None else {"topic_id": id_text(self.topic_id)}),
                "adding_replicas": {str(p): r.adding for p, r in partitions if r.adding},
                "version": 3,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Version 1 had only the partitions, 2 adding and removing replicas, 3 the topic's id."""
        value = _object(data)
        adding, removing = value.get("adding_replicas", {}), value.get("removing_replicas", {})
        return cls(
            parse_id(value["topic_id"]) if "topic_id" in value else None,
            {
                int(p): Replicas(tuple(ids), tuple(adding.get(p, ())), tuple(removing.get(p, ())))
                for p, ids in value.get("partitions", {}).items()
            },
        )


class PartitionState(NamedTuple):
    """.../partitions/P/state. Written with the version that was read, so nobody overwrites."""

    leader: int  # a broker, or -1 while there is none
    leader_epoch: int  # grows with each change of leader, and of ISR by the controller
    isr: tuple[int, ...]
    controller_epoch: int  # of the controller that wrote this last

    def encode(self) -> bytes:
        return _json(
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
        value = _object(data)
        isr = tuple(value["isr"])
        return cls(value["leader"], value["leader_epoch"], isr, value["controller_epoch"])


class Controller(NamedTuple):
    """/controller: whoever creates it is it."""

    broker_id: int
    timestamp: int

    def encode(self) -> bytes:
        return _json({"version": 1, "brokerid": self.broker_id, "timestamp": str(self.timestamp)})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        value = _object(data)
        return cls(value["brokerid"], int(value.get("timestamp", -1)))


class ProducerIdBlock(NamedTuple):
    """/latest_producer_id_block: a broker takes a thousand ids at a time; both ends are its own."""

    broker_id: int
    first: int
    last: int

    def encode(self) -> bytes:
        ids = {"block_start": str(self.first), "block_end": str(self.last)}
        return _json({"version": 1, "broker": self.broker_id, **ids})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        value = _object(data)
        return cls(value["broker"], int(value["block_start"]), int(value["block_end"]))


class Features(NamedTuple):
    """/feature: what every broker of the cluster supports. Kafka 2.8 itself has no feature yet."""

    enabled: bool = True
    features: Mapping[str, Mapping[str, int]] = {}  # never changed

    def encode(self) -> bytes:
        return _json({"features": self.features, "version": 1, "status": int(self.enabled)})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        value = _object(data)
        return cls(value["status"] == 1, value["features"])


def encode_cluster_id(cluster_id: str) -> bytes:
    return _json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    cluster_id: str = _object(data)["id"]
    return cluster_id


def encode_epoch(epoch: int) -> bytes:
    """/controller_epoch; the first controller's is 1."""
    return b"%d" % epoch


def decode_epoch(data: bytes) -> int:
    return int(data)


def encode_config(config: Mapping[str, str]) -> bytes:
    return _json({"version": 1, "config": config})


def decode_config(data: bytes) -> dict[str, str]:
    """Nothing was set where there is nothing."""
    return dict(_object(data or b"{}").get("config", {}))


def encode_config_change(kind: str, entity: str) -> bytes:
    return _json({"version": 2, "entity_path": f"{kind}/{entity}"})


def decode_config_change(data: bytes) -> tuple[str, str]:
    """The kind and name of the entity that has changed; version 1 had them apart."""
    value = _object(data)
    if value["version"] == 1:
        return value["entity_type"], value["entity_name"]
    kind, _, entity = value["entity_path"].partition("/")
    return kind, entity


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """An ISR change notification, or a request for preferred leaders."""
    return _json({"version": 1, "partitions": [tp._asdict() for tp in sorted(partitions)]})


def decode_partitions(data: bytes) -> set[TopicPartition]:
    listed = _object(data)["partitions"]
    return {TopicPartition(each["topic"], each["partition"]) for each in listed}


def encode_log_dir_failure(broker_id: int) -> bytes:
    return _json({"version": 1, "broker": broker_id, "event": 1})


def decode_log_dir_failure(data: bytes) -> int:
    broker_id: int = _object(data)["broker"]
    return broker_id


def encode_reassignment(moves: Mapping[TopicPartition, Iterable[int]]) -> bytes:
    listed = [{**tp._asdict(), "replicas": list(to)} for tp, to in sorted(moves.items())]
    return _json({"version": 1, "partitions": listed})


def decode_reassignment(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    listed = _object(data)["partitions"]
    return {TopicPartition(m["topic"], m["partition"]): tuple(m["replicas"]) for m in listed}


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:  # neither JSON nor, perhaps, UTF-8
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object: {data!r}")
    return value
