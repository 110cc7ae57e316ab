"""What can be set for a broker, with Kafka's names, defaults and ranges.

    listeners    PLAINTEXT://HOST:PORT, on loopback unless told otherwise; port 0: a free one
    log.* ...    are inherited from `LogsConfig`: the defaults of topics
    broker.id, zookeeper.connect    have no default: a broker must be told

Kafka's keys for threads, buffers, TLS, SASL, quotas and metrics have no counterpart here, and
are not accepted: to take a setting and not heed it would be a lie.
"""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from engine.config.key import Type, at_least, between, invalid, key, not_empty, required
from engine.config.logs import MINUTE_MS, LogsConfig
from engine.config.topic import DAY_MS, HOUR_MS, INT_MAX, LONG_MAX
from engine.errors import ErrorCode, KafkaError

SHORT_MAX = 2**15 - 1
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

_ENDPOINT = re.compile(r"([A-Z]+)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,5})")


class Endpoint(NamedTuple):
    """Where a broker listens, or where it says that it does."""

    host: str  # empty: every interface
    port: int  # 0: any free one


def _endpoint(name: str, value: Any) -> None:
    for text in value:
        match = _ENDPOINT.fullmatch(text)
        if match is None:
            raise invalid(name, text, f"Unable to parse {text} to a broker endpoint")
        if match[1] != "PLAINTEXT":
            raise invalid(name, text, f"this broker speaks PLAINTEXT only, not {match[1]}")
        if int(match[3]) > 65535:
            raise invalid(name, text, f"there is no port {match[3]}")
    if len(value) != 1:
        raise invalid(name, value, "this broker has one listener")
    if name.startswith("advertised") and "0.0.0.0" in value[0]:
        raise invalid(name, value, "cannot use the nonroutable meta-address 0.0.0.0")


def _selector(name: str, value: Any) -> None:
    if value not in ("", RACK_AWARE):
        raise invalid(name, value, f"there is one selector, {RACK_AWARE}")


def _protocol(name: str, value: Any) -> None:
    if value not in ("2.8", "0.10.2"):
        raise invalid(
            name,
            value,
            "brokers speak 2.8 with each other, or 0.10.2 to show how replicas were truncated then",
        )


@dataclass(frozen=True, kw_only=True)
class BrokerConfig(LogsConfig):
    """The configuration of one broker."""

    kind: ClassVar[str] = "broker"

    broker_id: int = required(
        Type.INT, "The number that is this broker's name for ever.", between(0, 1000)
    )
    broker_rack: str | None = key(
        Type.STRING, None, "Where the broker stands: replicas of a partition are spread over racks."
    )

    # -- network

    listeners: tuple[str, ...] = key(
        Type.LIST, ("PLAINTEXT://127.0.0.1:9092",), "Where the broker listens.", _endpoint
    )
    advertised_listeners: tuple[str, ...] | None = key(
        Type.LIST,
        None,
        "Where clients are told to connect, if that is not where the broker listens.",
        _endpoint,
    )
    socket_request_max_bytes: int = key(
        Type.INT,
        100 << 20,
        "A connection that announces a larger request is closed before it is read.",
        at_least(1),
    )
    max_connections: int = key(
        Type.INT,
        INT_MAX,
        "Connections at a time; one more is closed again.",
        at_least(0),
        dynamic=True,
    )
    connections_max_idle_ms: int = key(
        Type.LONG, 10 * MINUTE_MS, "A connection that was silent for so long is closed."
    )
    fetch_max_bytes: int = key(
        Type.INT, 55 << 20, "The most that a fetch gets, whatever it asks for.", at_least(1024)
    )
    max_incremental_fetch_session_cache_slots: int = key(
        Type.INT,
        1000,
        "Fetch sessions remembered; a client without one sends all its partitions each time.",
        at_least(0),
    )

    # -- ZooKeeper and the controller

    zookeeper_connect: str = required(
        Type.STRING,
        "HOST:PORT,... of the ZooKeeper servers, and /path to stand below one.",
        not_empty,
    )
    zookeeper_session_timeout_ms: int = key(
        Type.INT,
        18_000,
        "ZooKeeper takes a broker for dead when it was silent for so long: failover begins.",
        at_least(1),
    )
    zookeeper_connection_timeout_ms: int | None = key(
        Type.INT, None, "How long to try at start; the session timeout if not set.", at_least(1)
    )
    auto_leader_rebalance_enable: bool = key(
        Type.BOOLEAN, True, "Leadership goes back to the preferred replica by itself."
    )
    leader_imbalance_per_broker_percentage: int = key(
        Type.INT,
        10,
        "The share of a broker's partitions led elsewhere at which it does.",
        at_least(0),
    )
    leader_imbalance_check_interval_seconds: int = key(
        Type.LONG, 300, "How often the controller looks at that share.", at_least(1)
    )
    controlled_shutdown_enable: bool = key(
        Type.BOOLEAN, True, "A broker that stops hands its leaderships over first."
    )
    controlled_shutdown_max_retries: int = key(
        Type.INT, 3, "How often a stopping broker asks the controller again.", at_least(0)
    )
    controlled_shutdown_retry_backoff_ms: int = key(
        Type.LONG, 5000, "How long it waits in between.", at_least(0)
    )

    # -- topics

    auto_create_topics_enable: bool = key(
        Type.BOOLEAN, True, "A topic is created when a client asks for its metadata."
    )
    delete_topic_enable: bool = key(Type.BOOLEAN, True, "Whether topics can be deleted.")
    num_partitions: int = key(
        Type.INT, 1, "Partitions of a topic whose creator did not say.", at_least(1)
    )
    default_replication_factor: int = key(
        Type.INT, 1, "Replicas of a topic whose creator did not say.", between(1, SHORT_MAX)
    )

    # -- replication

    replica_lag_time_max_ms: int = key(
        Type.LONG,
        30_000,
        "A follower that has not caught up with the leader for so long is out of sync.",
        at_least(1),
    )
    replica_fetch_max_bytes: int = key(
        Type.INT, 1 << 20, "The most that a follower asks of one partition.", at_least(0)
    )
    replica_fetch_response_max_bytes: int = key(
        Type.INT, 10 << 20, "The most that a follower asks of all partitions.", at_least(0)
    )
    replica_fetch_min_bytes: int = key(
        Type.INT, 1, "A follower's fetch waits until there is this much.", at_least(0)
    )
    replica_fetch_wait_max_ms: int = key(
        Type.INT, 500, "A follower's fetch waits no longer than this.", at_least(0)
    )
    replica_fetch_backoff_ms: int = key(
        Type.INT, 1000, "How long a follower rests after an error.", at_least(0)
    )
    replica_socket_timeout_ms: int = key(
        Type.INT, 30_000, "How long a follower waits for the leader's answer.", at_least(1)
    )
    leader_replication_throttled_rate: int = key(
        Type.LONG,
        LONG_MAX,
        "Bytes a second that are sent to replicas out of sync, of those that topics list.",
        at_least(0),
        dynamic=True,
    )
    follower_replication_throttled_rate: int = key(
        Type.LONG,
        LONG_MAX,
        "Bytes a second that replicas out of sync fetch, of those that topics list.",
        at_least(0),
        dynamic=True,
    )
    replica_selector_class: str | None = key(
        Type.STRING,
        None,
        "How a leader chooses a replica for a consumer to read from; if not set, itself.",
        _selector,
    )
    inter_broker_protocol_version: str = key(
        Type.STRING,
        "2.8",
        "0.10.2 for a follower that truncates to its high watermark, as before leader epochs.",
        _protocol,
    )
    replica_high_watermark_checkpoint_interval_ms: int = key(
        Type.LONG, 5000, "How often high watermarks are written to the disk.", at_least(1)
    )

    # -- groups and their offsets

    group_min_session_timeout_ms: int = key(
        Type.INT, 6000, "The shortest session that a consumer may ask for.", at_least(0)
    )
    group_max_session_timeout_ms: int = key(
        Type.INT, 30 * MINUTE_MS, "The longest session that a consumer may ask for.", at_least(0)
    )
    group_initial_rebalance_delay_ms: int = key(
        Type.INT, 3000, "A new group waits so long for more members to join.", at_least(0)
    )
    group_max_size: int = key(Type.INT, INT_MAX, "Members of a group.", at_least(1))
    offset_metadata_max_bytes: int = key(
        Type.INT, 4096, "The longest note that may go with a committed offset.", at_least(0)
    )
    offsets_topic_num_partitions: int = key(
        Type.INT,
        50,
        "Partitions of __consumer_offsets: the hash of its id gives a group its coordinator.",
        at_least(1),
    )
    offsets_topic_replication_factor: int = key(
        Type.SHORT, 3, "Replicas of __consumer_offsets.", at_least(1)
    )
    offsets_topic_segment_bytes: int = key(
        Type.INT,
        100 << 20,
        "segment.bytes of __consumer_offsets: small, so it loads fast.",
        at_least(1),
    )
    offsets_retention_minutes: int = key(
        Type.INT, 7 * 24 * 60, "How long the offsets of an empty group are kept.", at_least(1)
    )
    offsets_retention_check_interval_ms: int = key(
        Type.LONG, 10 * MINUTE_MS, "How often it is asked which offsets may go.", at_least(1)
    )
    offsets_load_buffer_size: int = key(
        Type.INT, 5 << 20, "How much of __consumer_offsets is read at once.", at_least(1)
    )
    offsets_commit_timeout_ms: int = key(
        Type.INT, 5000, "How long a commit waits for the replicas.", at_least(1)
    )
    offsets_commit_required_acks: int = key(
        Type.SHORT, -1, "acks of the write behind a commit; -1 for all.", at_least(-1)
    )

    # -- transactions

    transactional_id_expiration_ms: int = key(
        Type.INT, 7 * DAY_MS, "A transactional id that is not used is forgotten.", at_least(1)
    )
    transaction_max_timeout_ms: int = key(
        Type.INT, 15 * MINUTE_MS, "The longest timeout that a producer may ask for.", at_least(1)
    )
    transaction_state_log_num_partitions: int = key(
        Type.INT, 50, "Partitions of __transaction_state.", at_least(1)
    )
    transaction_state_log_replication_factor: int = key(
        Type.SHORT, 3, "Replicas of __transaction_state.", at_least(1)
    )
    transaction_state_log_min_isr: int = key(
        Type.INT, 2, "min.insync.replicas of __transaction_state.", at_least(1)
    )
    transaction_state_log_segment_bytes: int = key(
        Type.INT, 100 << 20, "segment.bytes of __transaction_state.", at_least(1)
    )
    transaction_state_log_load_buffer_size: int = key(
        Type.INT, 5 << 20, "How much of __transaction_state is read at once.", at_least(1)
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = key(
        Type.INT, 10_000, "How often transactions that took too long are aborted.", at_least(1)
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = key(
        Type.INT, HOUR_MS, "How often expired transactional ids are forgotten.", at_least(1)
    )

    @property
    def listener(self) -> Endpoint:
        return _parsed(self.listeners)

    @property
    def advertised(self) -> Endpoint | None:
        """None: wherever the listener turns out to be."""
        return _parsed(self.advertised_listeners) if self.advertised_listeners else None

    def validate_together(self) -> None:
        wait = self.replica_fetch_wait_max_ms
        _require(
            wait <= self.replica_socket_timeout_ms,
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to "
            "prevent unnecessary socket timeouts",
        )
        _require(
            wait <= self.replica_lag_time_max_ms,
            "replica.fetch.wait.max.ms should always be less than or equal to "
            "replica.lag.time.max.ms to prevent frequent changes in ISR",
        )
        _require(
            self.offsets_commit_required_acks <= self.offsets_topic_replication_factor,
            "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
            "offsets.topic.replication.factor",
        )
        super().validate_together()


def _parsed(listeners: tuple[str, ...]) -> Endpoint:
    match = _ENDPOINT.fullmatch(listeners[0])
    assert match is not None
    return Endpoint(match[2], int(match[3]))


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise KafkaError(ErrorCode.invalid_config, message)
