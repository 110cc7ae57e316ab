"""The leader's changes of the ISR, sent to the controller: AlterPartition 2.

    leader ── AlterPartition: the new ISR, if the partition still has this epoch ──> controller
           <── the new partition epoch, or an error

One request is in flight at a time, with all changes that wait. The new ISR is in the metadata log,
too; whichever comes first counts. A smaller ISR begins a new leader epoch at level 7, which comes
by the log only. (AlterPartitionManager)

    error of a partition                                  the change
      INELIGIBLE_REPLICA                                    is withdrawn, and proposed anew a little
                                                            later: the replica is fenced
      OPERATION_NOT_ATTEMPTED, and any other that is known  is given up: wait for the log
      one of the whole request                              is sent again

Invariant: a change that the metadata log has overtaken is not sent again.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from kio.schema.alter_partition.v2.request import (
    AlterPartitionRequest,
    PartitionData,
    TopicData,
)

from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.metadata import Metadata
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.partition import Proposal
from engine.replication.replica_manager import ReplicaManager
from engine.wire.by_topic import by_topic
from engine.wire.controller_apis import ControllerApi

RESEND_S = 0.5  # until a change that was refused for now is sent again, or withdrawn

log = logging.getLogger(__name__)


class AlterPartitionManager:
    def __init__(
        self, replicas: ReplicaManager, metadata: Metadata, channel: ControllerChannel
    ) -> None:
        self._replicas, self._metadata, self._channel = replicas, metadata, channel
        self._proposed = asyncio.Event()
        replicas.work_changed.append(self._proposed.set)

    async def run(self) -> None:
        """Send the proposals until the broker stops."""
        unsent: list[Proposal] = []
        while True:
            if not unsent:
                await self._proposed.wait()
            self._proposed.clear()
            unsent += self._replicas.proposals
            self._replicas.proposals = []
            unsent = [each for each in unsent if self._is_open(each)]
            if unsent:
                request = self._request(unsent)
                answer = await self._channel.ask(ControllerApi.ALTER_PARTITION, request)
                if unsent := self._settle(unsent, answer):
                    await asyncio.sleep(RESEND_S)

    def _is_open(self, proposal: Proposal) -> bool:
        partition = self._replicas.partitions.get(proposal.partition)
        known = proposal.partition.topic in self._metadata.topics
        return known and partition is not None and partition.waits_for(proposal)

    def _request(self, proposals: Sequence[Proposal]) -> AlterPartitionRequest:
        rows = [
            (
                each.partition,
                PartitionData(
                    partition_index=each.partition.partition,
                    leader_epoch=each.leader_epoch,
                    new_isr=each.isr,
                    partition_epoch=each.version,
                ),
            )
            for each in proposals
        ]
        topics = self._metadata.topics
        return AlterPartitionRequest(
            broker_id=self._replicas.broker_id,
            broker_epoch=self._replicas.broker_epoch,
            topics=tuple(
                TopicData(topic_id=topics[name].id, partitions=each)
                for name, each in by_topic(rows)
            ),
        )

    def _settle(self, proposals: Sequence[Proposal], answer: Any) -> list[Proposal]:
        """Returns those that have to be sent again."""
        if answer.error_code is not ErrorCode.none:
            log.info("the controller refuses ISR changes: %s", answer.error_code.name)
            return list(proposals)
        names, results = self._metadata.topic_names, dict[TopicPartition, Any]()
        for topic in answer.topics:
            for row in topic.partitions:
                name = names.get(topic.topic_id, "")
                results[TopicPartition(name, row.partition_index)] = row
        again = []
        for each in proposals:
            row = results.get(each.partition)
            if row is None:
                again.append(each)
            else:
                self._settle_one(each, row)
        return again

    def _settle_one(self, proposal: Proposal, row: Any) -> None:
        if row.error_code is ErrorCode.ineligible_replica:
            loop = asyncio.get_running_loop()
            loop.call_later(RESEND_S, self._replicas.isr_withdrawn, proposal)
        elif row.error_code is not ErrorCode.none:
            self._replicas.isr_answered(proposal, None)
        elif row.leader_epoch == proposal.leader_epoch and row.partition_epoch >= proposal.version:
            self._replicas.isr_answered(proposal, row.partition_epoch)
