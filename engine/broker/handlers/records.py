"""DeleteRecords (API 21), versions 0 to 2: move the start of a log forward.

    offset     the first one to keep; -1 for the high watermark: delete all that consumers can read
    response   the low watermark: the first offset that any live replica still has

Records below the new start cannot be read from then on. A segment is deleted when all its records
are below it. A follower gets the new start with a fetch, and reports its own with the next one; the
response waits for the followers, or is REQUEST_TIMED_OUT. A topic that is only compacted refuses.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from kio.schema.delete_records.v2 import response as delete_v2

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, code_of, deadline
from engine.broker.metadata import Metadata
from engine.broker.purgatory import Purgatory
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.topics import INTERNAL
from engine.wire.by_topic import by_partition, topics_of
from engine.wire.primitives import NO_THROTTLE

NO_LOW_WATERMARK = -1


def _answer(number: int, outcome: int | ApiException) -> delete_v2.DeleteRecordsPartitionResult:
    return delete_v2.DeleteRecordsPartitionResult(
        partition_index=number,
        low_watermark=NO_LOW_WATERMARK if isinstance(outcome, ApiException) else outcome,
        error_code=code_of(outcome),
    )


@dataclass(frozen=True)
class DeleteRecordsHandler:
    metadata: Metadata
    replicas: ReplicaManager
    purgatory: Purgatory

    async def handle(self, call: Call, request: Any) -> delete_v2.DeleteRecordsResponse:
        offsets = {partition: each.offset for partition, each in by_partition(request.topics)}
        until = deadline(request.timeout)
        deletions = (
            attempt(self._delete(partition, offset, until)) for partition, offset in offsets.items()
        )
        outcomes = zip(offsets, await asyncio.gather(*deletions), strict=True)
        rows = (
            (partition, _answer(partition.partition, outcome)) for partition, outcome in outcomes
        )
        return delete_v2.DeleteRecordsResponse(
            throttle_time=NO_THROTTLE, topics=topics_of(delete_v2.DeleteRecordsTopicResult, rows)
        )

    async def _delete(self, partition: TopicPartition, before: int, until: float) -> int:
        """The low watermark, once no live replica has anything below the new start."""
        if partition.topic in INTERNAL:
            raise ApiException(
                ErrorCode.invalid_topic_exception,
                f"Cannot delete records of internal topic {partition.topic}",
            )
        _, log = self.replicas.find(partition)
        if "delete" not in log.config.cleanup_policy:
            raise ApiException(
                ErrorCode.policy_violation,
                f"Records of partition {partition} can not be deleted due to the configured policy",
            )
        start = self.replicas.delete_records(partition, before)
        while (low := self.replicas.low_watermark(partition, self.metadata.brokers)) < start:
            if not await self.purgatory.wait(partition, until):
                raise ApiException(
                    ErrorCode.request_timed_out, f"a follower of {partition} has not deleted yet"
                )
        return low
