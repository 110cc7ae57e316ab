"""The keys of a producer, with the names, defaults and ranges of Kafka 2.8's Java client.

    Producer({"bootstrap.servers": "127.0.0.1:9092", "acks": "all", "enable.idempotence": True})

Some values depend on each other. As in Kafka, a contradiction is refused, but defaults are adapted:
idempotence sets acks to all, a short delivery.timeout.ms shortens request.timeout.ms, and a
transactional.id sets enable.idempotence. Left out: serializers (keys and values are bytes), the
metrics and the interceptors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from engine.config.client import ClientConfig
from engine.config.key import Long, at_least, between, invalid, key, one_of

INT_MAX = 2**31 - 1
MOST_IN_FLIGHT = 5  # a log keeps as many batches of a producer

_JAVA = "org.apache.kafka.clients.producer"
PARTITIONERS = {  # by their names, and by those of Kafka's classes
    "default": "default",
    "sticky": "sticky",
    "roundrobin": "roundrobin",
    f"{_JAVA}.internals.DefaultPartitioner": "default",
    f"{_JAVA}.UniformStickyPartitioner": "sticky",
    f"{_JAVA}.RoundRobinPartitioner": "roundrobin",
}


def not_blank(name: str, value: Any) -> None:
    if value == "":
        raise invalid(name, value, "String must be non-empty")


@dataclass(frozen=True, kw_only=True)
class ProducerConfig(ClientConfig):
    """The configuration of one producer."""

    kind: ClassVar[str] = "producer"
    functions: ClassVar[frozenset[str]] = frozenset(
        {"error_cb", "on_delivery", "dr_cb", "partitioner"}
    )

    # -- what counts as delivered

    acks: str = key("1", one_of("all", "0", "1"))
    """The replicas that must have a record: none (0), the leader (1), all in sync (all)."""
    enable_idempotence: bool = key(False)
    """Whether batches are numbered: a batch that is sent twice is stored once, in order."""
    retries: int = key(INT_MAX, between(0, INT_MAX))
    """How often a batch is sent again, within delivery.timeout.ms."""
    delivery_timeout_ms: int = key(120_000, at_least(0))
    """The maximum time from produce() to a record's success or failure."""
    max_in_flight_requests_per_connection: int = key(5, at_least(1))
    """Requests to one broker that have no response yet. With more than 1, a retry can change the
    order of records, unless the producer is idempotent."""

    # -- transactions

    transactional_id: str | None = key(None, not_blank)
    """The name that identifies a producer across restarts. A new producer of this name aborts the
    open transaction of the earlier one, and fences it."""
    transaction_timeout_ms: int = key(60_000)
    """A transaction that is open for longer is aborted by its coordinator."""

    # -- batches

    batch_size: int = key(16_384, at_least(0))
    """The maximum size of a batch, before compression."""
    linger_ms: Long = key(0, at_least(0))
    """How long a batch that is not full waits for more records."""
    compression_type: str = key("none", one_of("none", "gzip", "snappy", "lz4", "zstd"))
    """The compression of batches."""
    max_request_size: int = key(1 << 20, at_least(0))
    """The maximum size of a record, and of a request."""
    buffer_memory: Long = key(32 << 20, at_least(0))
    """The maximum size of all records that wait to be delivered."""
    max_block_ms: Long = key(60_000, at_least(0))
    """How long produce() waits for free buffer memory or metadata."""
    partitioner_class: str = key("default", one_of(*PARTITIONERS))
    """How a partition is chosen. default: by the hash of the key, or for a record without a key
    like sticky. sticky: the partition whose batch is being filled. roundrobin: each in turn."""

    @classmethod
    def parse(cls, values: Mapping[str, str | None], base: Self | None = None) -> Self:
        """The given values; defaults are adapted to them."""
        given = dict(values)
        if given.get("transactional.id") is not None:
            given.setdefault("enable.idempotence", "true")
        if (given.get("enable.idempotence") or "").strip().lower() == "true":
            given.setdefault("acks", "all")
        linger = cls.value("linger.ms", given.get("linger.ms", "0"))
        if "request.timeout.ms" not in given and "delivery.timeout.ms" in given:
            delivery = cls.value("delivery.timeout.ms", given["delivery.timeout.ms"])
            given["request.timeout.ms"] = str(max(min(30_000, delivery - linger), 0))
        elif "delivery.timeout.ms" not in given and "request.timeout.ms" in given:
            request = cls.value("request.timeout.ms", given["request.timeout.ms"])
            given["delivery.timeout.ms"] = str(min(max(120_000, request + linger), INT_MAX))
        return super().parse(given, base)

    def validate_together(self) -> None:
        super().validate_together()
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise invalid(
                "delivery.timeout.ms",
                self.delivery_timeout_ms,
                "should be equal to or larger than linger.ms + request.timeout.ms "
                f"({self.linger_ms} + {self.request_timeout_ms})",
            )
        self.require(
            self.transactional_id is None or self.enable_idempotence,
            "Cannot set a transactional.id without also enabling idempotence.",
        )
        if self.enable_idempotence:
            self._validate_idempotence()

    def _validate_idempotence(self) -> None:
        in_flight = self.max_in_flight_requests_per_connection
        most = f"max.in.flight.requests.per.connection to at most {MOST_IN_FLIGHT}"
        for holds, change in (
            (self.acks == "all", "acks to all"),
            (self.retries != 0, "retries to non-zero"),
            (in_flight <= MOST_IN_FLIGHT, most),
        ):
            self.require(holds, f"Must set {change} in order to use the idempotent producer")
