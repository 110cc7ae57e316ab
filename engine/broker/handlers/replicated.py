"""To wait until the replicas in sync have what was appended: acks=all, and a transaction's end."""

from engine.broker.broker import Broker
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition


async def replicated(
    broker: Broker, partition: TopicPartition, last_offset: int, reign: int, until: float
) -> None:
    """A KafkaError if they will not, or not by then; the leader may change meanwhile."""
    while not broker.replicas.is_committed(partition, last_offset, reign):
        if not await broker.purgatory.wait([partition], until):
            raise KafkaError(ErrorCode.request_timed_out, f"{partition} was not replicated")
