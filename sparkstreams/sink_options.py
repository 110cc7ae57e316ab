"""The options of a sink: those of Spark's own Kafka sink, and five of ours.

.option("topic", "orders")        for all rows; without it, each row needs a column "topic"
.option("exactlyOnce", "true")    streams only: stagingTopic and ledgerTopic are made on demand
.option("kafka.linger.ms", "5")   kafka.*: the producer's own settings
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engine.config.client import ClientConfig
from engine.config.key import Type, at_least, not_empty
from engine.config.producer import ProducerConfig
from sparkstreams.offsets import bad
from sparkstreams.option import Options, option

ALWAYS = {"enable.idempotence": "true", "acks": "all"}  # a sink stores every row, in its order
STAGING, STAGING_OF = "spark-staging", "{}-staging"
LEDGER = "spark-epochs"
HOUR_MS = 3_600_000


@dataclass(frozen=True, kw_only=True)
class WriteOptions(Options):
    """The options of one sink."""

    client: ClassVar[type[ClientConfig]] = ProducerConfig
    refused: ClassVar[Mapping[str, str]] = {
        "enable.idempotence": "it is always on: else a row might be stored twice",
        "key.serializer": "keys are stored as they are; encode them in the DataFrame",
        "value.serializer": "values are stored as they are; encode them in the DataFrame",
        "transactional.id": "Spark may run a task twice; exactlyOnce=true counts it once",
        "interceptor.classes": "there are none here; transform the DataFrame",
    }

    # For all rows, whatever their column says.
    topic: str | None = option("topic", None, Type.STRING, not_empty)
    # Store each epoch's rows once, whatever is killed.
    exactly_once: bool = option("exactlyOnce", False, Type.BOOLEAN)
    # Where rows wait for their epoch.
    staging_topic: str | None = option("stagingTopic", None, Type.STRING, not_empty)
    # Retention of a new staging topic: longer than a query may ever be stopped.
    staging_hours: int = option("stagingHours", 72, Type.INT, at_least(1))
    # The topic for the sink's decisions about epochs.
    ledger_topic: str = option("ledgerTopic", LEDGER, Type.STRING, not_empty)

    def validate_together(self) -> None:
        if self.kafka.get("acks", "all") not in ("all", "-1"):
            raise bad("kafka.acks", "a sink's rows are stored by all replicas in sync: acks=all")
        if self.exactly_once and self.topic in (self.staging, self.ledger_topic):
            raise bad("topic", f"{self.topic} is where the sink keeps its own records")

    @property
    def producer(self) -> dict[str, str]:
        """Settings of a producer."""
        return dict(self.kafka) | ALWAYS

    @property
    def config(self) -> ProducerConfig:
        return ProducerConfig.parse(dict(self.producer))

    @property
    def staging(self) -> str:
        """The staging topic's name."""
        if self.staging_topic:
            return self.staging_topic
        return STAGING_OF.format(self.topic) if self.topic else STAGING
