"""What can be set for a producer, with the names, defaults and ranges of Kafka 2.8's Java client.

    Producer({"bootstrap.servers": "127.0.0.1:9092", "acks": "all", "enable.idempotence": True})

Some values only make sense together. As in Kafka, a contradiction is refused; but what was not
given gives way: idempotence sets acks to all, and a short delivery.timeout.ms shortens
request.timeout.ms, and a transactional.id sets enable.idempotence. Not here are serializers (keys
and values are bytes), the security keys, the metrics and the interceptors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from engine.config.client import ClientConfig
from engine.config.key import Type, at_least, between, invalid, key, one_of
from engine.errors import ErrorCode, KafkaError

INT_MAX = 2**31 - 1
MOST_IN_FLIGHT = 5  # batches of a producer that a log remembers, hence tells apart

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

    acks: str = key(
        Type.STRING,
        "1",
        "Who has to have a record: nobody (0), its leader (1), or every replica in sync (all).",
        one_of("all", "0", "1"),
    )
    enable_idempotence: bool = key(
        Type.BOOLEAN,
        False,
        "Whether records are numbered, so that one sent twice is stored once, and in order.",
    )
    retries: int = key(
        Type.INT,
        INT_MAX,
        "How often a batch is sent again after an error that passes; time ends it earlier.",
        between(0, INT_MAX),
    )
    delivery_timeout_ms: int = key(
        Type.INT,
        120_000,
        "When a record that is still not delivered is given up, whatever was tried.",
        at_least(0),
    )
    max_in_flight_requests_per_connection: int = key(
        Type.INT,
        5,
        "Requests that wait for their answers at one broker. More than 1, retries and no "
        "idempotence: records may change their order.",
        at_least(1),
    )

    # -- transactions

    transactional_id: str | None = key(
        Type.STRING,
        None,
        "The name under which this producer writes in transactions. Who takes it over ends what "
        "was left open, and fences off whoever had it before.",
        not_blank,
    )
    transaction_timeout_ms: int = key(
        Type.INT,
        60_000,
        "A transaction that is open for longer is aborted by its coordinator.",
    )

    # -- batches

    batch_size: int = key(
        Type.INT, 16_384, "Bytes of records that are sent as one batch.", at_least(0)
    )
    linger_ms: int = key(
        Type.LONG, 0, "How long a batch that is not full waits for more records.", at_least(0)
    )
    compression_type: str = key(
        Type.STRING,
        "none",
        "How a batch is compressed, as a whole.",
        one_of("none", "gzip", "snappy", "lz4", "zstd"),
    )
    max_request_size: int = key(
        Type.INT, 1 << 20, "The largest record, and the largest request.", at_least(0)
    )
    buffer_memory: int = key(
        Type.LONG, 32 << 20, "Bytes of records that may wait to be delivered.", at_least(0)
    )
    max_block_ms: int = key(
        Type.LONG,
        60_000,
        "How long produce() waits for room in that buffer, or to learn about a topic.",
        at_least(0),
    )
    partitioner_class: str = key(
        Type.STRING,
        "default",
        "Where a record goes: by the hash of its key, and without one to the partition of the "
        "batch being filled (default); always the latter (sticky); to each in turn (roundrobin).",
        one_of(*PARTITIONERS),
    )

    @classmethod
    def parse(cls, values: Mapping[str, str | None], base: Self | None = None) -> Self:
        """What was given; what was not gives way to it."""
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
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise invalid(
                "delivery.timeout.ms",
                self.delivery_timeout_ms,
                "should be equal to or larger than linger.ms + request.timeout.ms "
                f"({self.linger_ms} + {self.request_timeout_ms})",
            )
        if self.transactional_id is not None and not self.enable_idempotence:
            raise KafkaError(
                ErrorCode.invalid_config,
                "Cannot set a transactional.id without also enabling idempotence.",
            )
        if self.enable_idempotence:
            self._validate_idempotence()

    def _validate_idempotence(self) -> None:
        limit = f"at most {MOST_IN_FLIGHT}"
        for right, name, what in (
            (self.acks == "all", "acks", "all"),
            (self.retries > 0, "retries", "non-zero"),
            (
                self.max_in_flight_requests_per_connection <= MOST_IN_FLIGHT,
                "max.in.flight.requests.per.connection",
                limit,
            ),
        ):
            if not right:
                raise KafkaError(
                    ErrorCode.invalid_config,
                    f"Must set {name} to {what} in order to use the idempotent producer",
                )
