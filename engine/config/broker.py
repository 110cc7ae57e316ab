"""The keys of a broker, with Kafka's names, defaults and ranges.

    listeners ...    are inherited from `ListenersConfig`, with TLS and SASL
    log.* ...        are inherited from `LogsConfig`: the defaults of topics
    broker.id, zookeeper.connect    have no default

Kafka's keys for threads, buffers and metrics have no effect here: inert.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, ClassVar

from engine.config import inert, protocol
from engine.config.key import (
    Key,
    Long,
    Short,
    at_least,
    between,
    integer,
    invalid,
    key,
    not_empty,
    required,
)
from engine.config.listeners import ListenersConfig
from engine.config.logs import MINUTE_MS
from engine.config.topic import DAY_MS, HOUR_MS, INT_MAX, LONG_MAX
from engine.errors import invalid_config

SHORT_MAX = 2**15 - 1
ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def _selector(name: str, value: Any) -> None:
    if value not in ("", RACK_AWARE):
        raise invalid(name, value, f"there is one selector, {RACK_AWARE}")


def _by_address(name: str, value: Any) -> None:
    try:
        addresses(value)
    except ValueError as error:
        raise invalid(name, value, str(error)) from None


def addresses(text: str) -> dict[str, int]:
    """`192.0.2.7:10,192.0.2.8:20`; names of hosts are not looked up."""
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        address, _, number = part.rpartition(":")
        most = integer(number.strip())
        if most is None or not 0 <= most <= INT_MAX:
            raise ValueError(f"{part!r} is not ADDRESS:NUMBER")
        found[str(ip_address(address.strip()))] = most
    return found


def _authorizer(name: str, value: Any) -> None:
    if value not in ("", ACL_AUTHORIZER):
        raise invalid(name, value, f"there is one authorizer, {ACL_AUTHORIZER}")


def _principals(name: str, value: Any) -> None:
    for each in principals(value):
        if ":" not in each:
            raise invalid(
                name,
                value,
                f"expected a string in format principalType:principalName but got {each}",
            )


def principals(value: str) -> tuple[str, ...]:
    """User:admin;User:CN=broker,O=lab: semicolons, because names of certificates have commas."""
    return tuple(each.strip() for each in value.split(";") if each.strip())


@dataclass(frozen=True, kw_only=True)
class BrokerConfig(ListenersConfig):
    """The configuration of one broker."""

    kind: ClassVar[str] = "broker"

    given: frozenset[str] = field(  # the keys of its file and command line, also at their default
        default=frozenset(), compare=False, repr=False
    )

    broker_id: int = required(between(0, 1000))
    """The number that identifies this broker."""
    broker_rack: str | None = key(None)
    """The rack of the broker: replicas are spread over racks; a consumer may read in its own."""

    # -- network

    socket_request_max_bytes: int = key(100 << 20, at_least(1))
    """The maximum size of a request; a larger one closes the connection."""
    max_connections: int = key(INT_MAX, at_least(0), dynamic=True)
    """The maximum number of connections; one more is closed."""
    max_connections_per_ip: int = key(INT_MAX, at_least(0), dynamic=True)
    """The maximum number of connections from one address."""
    max_connections_per_ip_overrides: str = key("", _by_address, dynamic=True)
    """The maximum number of connections from some addresses: ADDRESS:NUMBER,..."""
    max_connection_creation_rate: int = key(INT_MAX, at_least(0), dynamic=True)
    """New connections a second; what comes faster waits."""
    connections_max_idle_ms: Long = key(10 * MINUTE_MS)
    """A connection without requests for this time is closed."""
    prometheus_port: int | None = key(None, between(0, 65535))
    """The port of a page with metrics for Prometheus; 0: a free one."""
    fetch_max_bytes: int = key(55 << 20, at_least(1024))
    """The maximum size of a fetch response."""
    max_incremental_fetch_session_cache_slots: int = key(1000, at_least(0))
    """The maximum number of fetch sessions; without one, requests are full."""

    # -- ZooKeeper and the controller

    zookeeper_connect: str = required(not_empty)
    """The ZooKeeper servers: HOST:PORT,... and perhaps /path, the cluster's root."""
    zookeeper_session_timeout_ms: int = key(18_000, at_least(1))
    """After this silence ZooKeeper ends a broker's session."""
    zookeeper_connection_timeout_ms: int | None = key(None, at_least(1))
    """How long to wait at the start; by default the session time-out."""
    auto_leader_rebalance_enable: bool = key(True)
    """Whether the controller makes the preferred replicas leaders again."""
    leader_imbalance_per_broker_percentage: int = key(10, at_least(0))
    """It does so for a broker when other brokers lead more than this share."""
    leader_imbalance_check_interval_seconds: Long = key(300, at_least(1))
    """How often the controller computes that share."""
    controlled_shutdown_enable: bool = key(True)
    """Whether a broker that stops hands over its leaderships first."""
    controlled_shutdown_max_retries: int = key(3, at_least(0))
    """How often a stopping broker repeats its request to the controller."""
    controlled_shutdown_retry_backoff_ms: Long = key(5000, at_least(0))
    """How long it waits before it repeats the request."""

    # -- topics

    auto_create_topics_enable: bool = key(True)
    """A topic is created when a client asks for its metadata."""
    delete_topic_enable: bool = key(True)
    """Whether topics can be deleted."""
    num_partitions: int = key(1, at_least(1))
    """The partitions of a topic that is created without a number."""
    default_replication_factor: int = key(1, between(1, SHORT_MAX))
    """The replicas of a topic that is created without a number."""

    # -- replication

    replica_lag_time_max_ms: Long = key(30_000, at_least(1))
    """A follower that has not caught up for so long leaves the ISR."""
    replica_fetch_max_bytes: int = key(1 << 20, at_least(0))
    """The maximum size of one partition in the response to a follower."""
    replica_fetch_response_max_bytes: int = key(10 << 20, at_least(0))
    """The maximum size of the response to a follower."""
    replica_fetch_min_bytes: int = key(1, at_least(0))
    """A follower's fetch waits until there are this many bytes."""
    replica_fetch_wait_max_ms: int = key(500, at_least(0))
    """A follower's fetch waits at most for this time."""
    replica_fetch_backoff_ms: int = key(1000, at_least(0))
    """How long a follower waits after an error."""
    replica_socket_timeout_ms: int = key(30_000, at_least(1))
    """How long a broker waits for the response of another broker."""
    request_timeout_ms: int = key(30_000)
    """How long a transaction coordinator waits for the response to its markers, and a leader until
    they are replicated."""
    controller_socket_timeout_ms: int = key(30_000)
    """How long the controller waits for the response of a broker, and a broker for that of the
    controller."""
    leader_replication_throttled_rate: Long = key(LONG_MAX, at_least(0), dynamic=True)
    """Bytes a second that a leader sends to throttled replicas that are not in sync."""
    follower_replication_throttled_rate: Long = key(LONG_MAX, at_least(0), dynamic=True)
    """Bytes a second that throttled replicas fetch while they are not in sync."""
    replica_selector_class: str | None = key(None, _selector)
    """How a leader chooses a replica for a consumer; by default itself."""
    inter_broker_protocol_version: str = key(protocol.DEFAULT, protocol.check_version)
    """What brokers send each other. Below 2.7 a leader writes its ISR to ZooKeeper; below 0.11 a
    follower truncates to its high watermark."""
    replica_high_watermark_checkpoint_interval_ms: Long = key(5000, at_least(1))
    """How often the high watermarks are written to the disk."""

    # -- groups and their offsets

    group_min_session_timeout_ms: int = key(6000, at_least(0))
    """The shortest session time-out of a member."""
    group_max_session_timeout_ms: int = key(30 * MINUTE_MS, at_least(0))
    """The longest session time-out of a member."""
    group_initial_rebalance_delay_ms: int = key(3000, at_least(0))
    """How long the first rebalance of a group waits for more members."""
    group_max_size: int = key(INT_MAX, at_least(1))
    """The maximum number of members of a group."""
    offset_metadata_max_bytes: int = key(4096, at_least(0))
    """The maximum length of the text that is committed with an offset."""
    offsets_topic_num_partitions: int = key(50, at_least(1))
    """Partitions of __consumer_offsets: the hash of a group's id chooses one."""
    offsets_topic_replication_factor: Short = key(3, at_least(1))
    """Replicas of __consumer_offsets."""
    offsets_topic_segment_bytes: int = key(100 << 20, at_least(1))
    """segment.bytes of __consumer_offsets: small, so it loads fast."""
    offsets_retention_minutes: int = key(7 * 24 * 60, at_least(1))
    """How long the offsets of an empty group are kept."""
    offsets_retention_check_interval_ms: Long = key(10 * MINUTE_MS, at_least(1))
    """How often expired offsets are looked for."""
    offsets_load_buffer_size: int = key(5 << 20, at_least(1))
    """How much of __consumer_offsets is read at once."""
    offsets_commit_timeout_ms: int = key(5000, at_least(1))
    """How long a commit waits for the replicas."""
    offsets_commit_required_acks: Short = key(-1, at_least(-1))
    """The acks of the write for a commit; -1 for all."""

    # -- transactions

    transactional_id_expiration_ms: int = key(7 * DAY_MS, at_least(1))
    """A transactional id that is not used for this time is removed."""
    transaction_max_timeout_ms: int = key(15 * MINUTE_MS, at_least(1))
    """The longest transaction time-out of a producer."""
    transaction_state_log_num_partitions: int = key(50, at_least(1))
    """Partitions of __transaction_state."""
    transaction_state_log_replication_factor: Short = key(3, at_least(1))
    """Replicas of __transaction_state."""
    transaction_state_log_min_isr: int = key(2, at_least(1))
    """min.insync.replicas of __transaction_state."""
    transaction_state_log_segment_bytes: int = key(100 << 20, at_least(1))
    """segment.bytes of __transaction_state."""
    transaction_state_log_load_buffer_size: int = key(5 << 20, at_least(1))
    """How much of __transaction_state is read at once."""
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = key(10_000, at_least(1))
    """How often transactions that take too long are aborted."""
    transaction_remove_expired_transaction_cleanup_interval_ms: int = key(HOUR_MS, at_least(1))
    """How often unused transactional ids are removed."""

    # -- what clients may do, and how much; quotas are set while the broker runs (engine/quotas)

    authorizer_class_name: str = key("", _authorizer)
    """The class that checks ACLs; without one everything is allowed."""
    super_users: str = key("", _principals)
    """Who may do everything, separated by semicolons: User:admin;User:ops."""
    allow_everyone_if_no_acl_found: bool = key(False)
    """Whether everyone may use a resource that no ACL is about."""
    quota_window_num: int = key(11, at_least(1))
    """The windows over which a client's rate is computed, with the current one."""
    quota_window_size_seconds: int = key(1, at_least(1))
    """The time of one window."""
    quota_producer_default: Long = key(LONG_MAX, at_least(1))
    """Deprecated: bytes a second that a client id may produce if no other quota is set."""
    quota_consumer_default: Long = key(LONG_MAX, at_least(1))
    """Deprecated: bytes a second that a client id may fetch if no other quota is set."""
    controller_quota_window_num: int = key(11, at_least(1))
    """The windows whose tokens a client may save to create and delete topics."""
    controller_quota_window_size_seconds: int = key(1, at_least(1))
    """The time of one such window."""

    @classmethod
    def known(cls) -> Mapping[str, Key]:
        """All keys of Kafka's brokers: also those that have no effect here."""
        return {**inert.table(), **super().known()}

    @classmethod
    def find(cls, name: str) -> Key:
        if name in inert.table():
            raise invalid_config(f"The broker config {name} has no effect here")
        return super().find(name)

    @classmethod
    def parsed(cls, values: Mapping[str, str | None]) -> dict[str, Any]:
        return super().parsed(values) | {"given": frozenset(values)}

    def most_connections(self, address: str) -> int:
        """How many connections an address may have."""
        own = addresses(self.max_connections_per_ip_overrides)
        return own.get(address, self.max_connections_per_ip)

    def speaks(self, feature: protocol.Feature) -> bool:
        return protocol.has(self.inter_broker_protocol_version, feature)

    def validate_together(self) -> None:
        wait = self.replica_fetch_wait_max_ms
        self.require(
            wait <= self.replica_socket_timeout_ms,
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to "
            "prevent unnecessary socket timeouts",
        )
        self.require(
            wait <= self.replica_lag_time_max_ms,
            "replica.fetch.wait.max.ms should always be less than or equal to "
            "replica.lag.time.max.ms to prevent frequent changes in ISR",
        )
        self.require(
            self.offsets_commit_required_acks <= self.offsets_topic_replication_factor,
            "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
            "offsets.topic.replication.factor",
        )
        self.require(
            self.max_connections_per_ip > 0 or bool(self.max_connections_per_ip_overrides.strip()),
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
            "property is set.",
        )
        super().validate_together()
