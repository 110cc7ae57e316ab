"""The leader's changes of the ISR, sent to the controller: AlterIsr (KIP-497).

    leader ── AlterIsr ──> controller ── compare-and-set ──> /brokers/topics/T/partitions/P/state
           <── the new version, or an error

From `inter.broker.protocol.version` 2.7-IV2 on; below it the leader writes to ZooKeeper itself
(isr_writer.py). One request is in flight at a time, with all changes that wait. It is sent until
it is answered, to the next controller if another one is elected meanwhile.

    error of a partition                        the change
      FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_...      is given up: wait for LeaderAndIsr
      INVALID_UPDATE_VERSION                      the same
      any other, or one of the whole request      is sent again

Invariant: a change that LeaderAndIsr has overtaken is not sent again.
"""

import asyncio
import logging
from collections.abc import Sequence

from engine.broker.metadata import AliveBroker, Metadata
from engine.broker.peer import Connect, Peer, ask_until
from engine.errors import ErrorCode
from engine.replication.partition import Proposal
from engine.replication.replica_manager import ReplicaManager
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition, topics_of
from engine.wire.messages import alter_isr

log = logging.getLogger(__name__)

RESEND_S = 0.5  # until a request is sent again, if there is no other controller by then
FINAL = frozenset(
    {
        ErrorCode.fenced_leader_epoch,
        ErrorCode.invalid_update_version,
        ErrorCode.unknown_topic_or_partition,
    }
)


class AlterIsrManager:
    def __init__(self, replicas: ReplicaManager, metadata: Metadata, connect: Connect) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._connect = connect
        self._node: AliveBroker | None = None  # the controller to which the last request went
        self._peer: Peer | None = None  # the connection to it
        self._proposed = asyncio.Event()
        replicas.work_changed.append(self._proposed.set)

    async def run(self) -> None:
        """Send the proposals until the broker stops."""
        unsent: list[Proposal] = []
        try:
            while True:
                if not unsent:
                    await self._proposed.wait()
                self._proposed.clear()
                unsent += self._replicas.proposals
                self._replicas.proposals = []
                unsent = [each for each in unsent if self._is_open(each)]
                if unsent and (unsent := await self._send(unsent)):
                    until = asyncio.get_running_loop().time() + RESEND_S
                    await self._metadata.until(self._has_moved, until)
        finally:
            self._close()

    def _is_open(self, proposal: Proposal) -> bool:
        partition = self._replicas.partitions.get(proposal.partition)
        return partition is not None and partition.waits_for(proposal)

    async def _send(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Returns those that have to be sent again."""
        peer = self._controller()
        if peer is None:
            return list(proposals)
        request = self._request(proposals)
        moved = self._metadata.until(self._has_moved, float("inf"))
        try:
            response = await ask_until(moved, peer, Api.ALTER_ISR, request)
        except OSError as error:
            log.info("the ISR changes are sent again: %s", error)
            response = None
        if response is None:
            return list(proposals)
        if response.error_code != ErrorCode.none:
            log.info("ISR changes refused by %s: %s", peer, response.error_code.name)
            return list(proposals)
        return self._settle(proposals, response)

    def _settle(
        self, proposals: Sequence[Proposal], response: alter_isr.AlterIsrResponse
    ) -> list[Proposal]:
        results = dict(by_partition(response.topics))
        again = []
        for each in proposals:
            result = results.get(each.partition)
            if result is None or result.error_code not in FINAL | {ErrorCode.none}:
                again.append(each)
            else:
                self._replicas.isr_answered(each, _version(each, result))
        return again

    def _request(self, proposals: Sequence[Proposal]) -> alter_isr.AlterIsrRequest:
        rows = (
            (
                each.partition,
                alter_isr.AlterIsrPartition(
                    partition_index=each.partition.partition,
                    leader_epoch=each.leader_epoch,
                    new_isr=each.isr,
                    current_isr_version=each.version,
                ),
            )
            for each in proposals
        )
        return alter_isr.AlterIsrRequest(
            broker_id=self._replicas.broker_id,
            broker_epoch=self._replicas.broker_epoch,
            topics=topics_of(alter_isr.AlterIsrTopic, rows),
        )

    # -- the controller ------------------------------------------------------------------

    def _has_moved(self) -> bool:
        return self._node != self._metadata.node(self._metadata.controller)

    def _controller(self) -> Peer | None:
        """The connection to the controller; None if none is known."""
        if self._has_moved():
            self._close()
            self._node = self._metadata.node(self._metadata.controller)
        if (node := self._node) is not None and self._peer is None:
            me, config = str(self._replicas.broker_id), self._replicas.config
            timeout_s = config.controller_socket_timeout_ms / 1000
            self._peer = self._connect(node.host, node.port, node.id, me, timeout_s)
        return self._peer

    def _close(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None


def _version(proposal: Proposal, result: alter_isr.AlterIsrPartitionResult) -> int | None:
    """The version of the state that was written. None: not written, or it is not known for sure."""
    known = result.leader_epoch == proposal.leader_epoch
    if result.error_code != ErrorCode.none or not known:
        return None
    return result.current_isr_version if result.current_isr_version >= proposal.version else None
