"""Records of __transaction_state as text, as Kafka 2.8's `--transaction-log-decoder` prints them.

    transaction_metadata::transactionalId=billing
                producerId:4000,producerEpoch:3,state=Ongoing,partitions=[orders-0,orders-1],
                txnLastUpdateTimestamp=1700000000000,txnTimeoutMs=60000
    forgotten   <DELETE>

Kafka has the partitions in no particular order; here they are sorted.
"""

from engine.cli.dump.offsets import TOMBSTONE
from engine.coordinator.transactions.records import (
    TRANSACTION_STATE_TOPIC,
    decode_key,
    decode_value,
)
from engine.errors import ApiException, ErrorCode


def texts(key: bytes | None, value: bytes | None) -> tuple[str, str]:
    """Key and value of a record. One that is not of this topic is an ApiException."""
    if key is None:
        raise ApiException(
            ErrorCode.invalid_record,
            f"a record without a key belongs in no {TRANSACTION_STATE_TOPIC}",
        )
    name = f"transaction_metadata::transactionalId={decode_key(key)}"
    return name, TOMBSTONE if value is None else _value(value)


def _value(data: bytes) -> str:
    image = decode_value(data)
    return (
        f"producerId:{image.producer.producer_id},producerEpoch:{image.producer.epoch},"
        f"state={image.state.value},"
        f"partitions=[{','.join(str(each) for each in sorted(image.partitions))}],"
        f"txnLastUpdateTimestamp={image.updated},txnTimeoutMs={image.timeout}"
    )
