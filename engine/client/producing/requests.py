"""The requests of a transaction, from what is to be said to the shape that the protocol has for it.

Each is made for ANY broker; whoever asks puts in the coordinator. `about` comes back with the
answer.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from kio.schema.add_offsets_to_txn.v3.request import AddOffsetsToTxnRequest
from kio.schema.add_partitions_to_txn.v3 import request as partitions_v3
from kio.schema.end_txn.v3.request import EndTxnRequest
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.txn_offset_commit.v3 import request as offsets_v3

from engine.client.asking import ANY, Ask
from engine.client.producing.batch import Identity
from engine.client.values import ConsumerGroupMetadata
from engine.model import TopicPartition
from engine.wire.apis import Api

LANE = "transactions"  # nothing of it waits for batches


class Place(NamedTuple):
    """Where a group is to go on reading."""

    offset: int
    epoch: int = -1  # of the last record that was read
    metadata: str = ""


Places = Mapping[TopicPartition, Place]


def init(transactional_id: str, timeout: timedelta, identity: Identity) -> Ask:
    """`identity`: the one that we have, if it only needs a new epoch."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout=timeout,
        producer_id=identity.id,
        producer_epoch=identity.epoch,
    )
    return Ask(ANY, Api.INIT_PRODUCER_ID, request, lane=LANE)


def add_partitions(
    transactional_id: str, identity: Identity, partitions: frozenset[TopicPartition]
) -> Ask:
    numbers: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        numbers.setdefault(topic, []).append(number)
    request = partitions_v3.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=identity.id,
        v3_and_below_producer_epoch=identity.epoch,
        v3_and_below_topics=tuple(
            partitions_v3.AddPartitionsToTxnTopic(name=topic, partitions=tuple(these))
            for topic, these in numbers.items()
        ),
    )
    return Ask(ANY, Api.ADD_PARTITIONS_TO_TXN, request, partitions, lane=LANE)


def add_group(transactional_id: str, identity: Identity, group: str, about: Any) -> Ask:
    request = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.id,
        producer_epoch=identity.epoch,
        group_id=group,
    )
    return Ask(ANY, Api.ADD_OFFSETS_TO_TXN, request, about, lane=LANE)


def commit_offsets(
    transactional_id: str,
    identity: Identity,
    group: ConsumerGroupMetadata,
    places: Places,
    about: Any,
) -> Ask:
    request = offsets_v3.TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=identity.id,
        producer_epoch=identity.epoch,
        generation_id=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=tuple(_topics(places)),
    )
    return Ask(ANY, Api.TXN_OFFSET_COMMIT, request, about, lane=LANE)


def _topics(places: Places) -> Iterable[Any]:
    rows: dict[str, list[Any]] = {}
    for (topic, number), place in sorted(places.items()):
        row = offsets_v3.TxnOffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=place.offset,
            committed_leader_epoch=place.epoch,
            committed_metadata=place.metadata,
        )
        rows.setdefault(topic, []).append(row)
    for topic, these in rows.items():
        yield offsets_v3.TxnOffsetCommitRequestTopic(name=topic, partitions=tuple(these))


def end(transactional_id: str, identity: Identity, committed: bool) -> Ask:
    request = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.id,
        producer_epoch=identity.epoch,
        committed=committed,
    )
    return Ask(ANY, Api.END_TXN, request, lane=LANE)
