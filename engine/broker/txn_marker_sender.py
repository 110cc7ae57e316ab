"""Sends the markers that end a transaction to the leaders of the partitions it wrote to.

    TxnMarkers ──> orders-0, orders-2  led by 1 ──WriteTxnMarkers──> broker 1 ──> marked
                   __consumer_offsets-7 led by 3 ─WriteTxnMarkers──> broker 3 ──> error: try again

The transaction is decided, so each marker is sent until it is written: to the new leader if the
leader changes, and no more if the partition is deleted. It ends early only if a broker knows a
later epoch of the coordinator or of the producer. Then another coordinator sends the markers.

Invariant: a partition is reported as marked once its in-sync replicas have the marker, or once it
is deleted.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.broker.metadata import AliveBroker, Metadata
from engine.broker.peer import Connect, Peer, ask_until
from engine.coordinator.effects import TxnMarkers
from engine.errors import ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition, numbered
from engine.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

RETRY_S = 0.1  # until a marker that was not written is sent again
# Another coordinator has taken over.
SUPERSEDED = frozenset({ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced})

log = logging.getLogger(__name__)

Codes = dict[TopicPartition, ErrorCode]


@dataclass(eq=False)
class TxnMarkerSender:
    _broker_id: int
    _timeout_s: float  # for a response: request.timeout.ms
    _metadata: Metadata
    _connect: Connect
    _leads: Callable[[TxnMarkers], bool]  # whether this broker is still the coordinator
    _marked: Callable[[TxnMarkers, tuple[TopicPartition, ...]], None]
    _peers: dict[AliveBroker, Peer] = field(default_factory=dict)

    async def send(self, markers: TxnMarkers) -> None:
        """Until each partition has its marker, or another coordinator has taken over."""
        left = set(markers.partitions)
        while left and self._leads(markers):
            codes = {each: ErrorCode.none for each in left if self._is_deleted(each)}
            for written in await asyncio.gather(
                *(self._send_to(node, markers, some) for node, some in self._by_leader(left))
            ):
                codes |= written
            if not SUPERSEDED.isdisjoint(codes.values()):
                log.info("another coordinator ends %s's transaction", markers.transactional_id)
                return
            done = [each for each in markers.partitions if codes.get(each) == ErrorCode.none]
            if done and self._leads(markers):
                self._marked(markers, tuple(done))
            left -= set(done)
            if left:
                await asyncio.sleep(RETRY_S)

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()

    # -- one broker ------------------------------------------------------------------------

    async def _send_to(
        self, node: AliveBroker, markers: TxnMarkers, partitions: Iterable[TopicPartition]
    ) -> Codes:
        """The results at one broker; none if it fails, or if it loses all of these partitions
        before it responds."""
        partitions = list(partitions)
        request = _request(markers, partitions)
        moved = self._metadata.until(lambda: self._have_moved(node, partitions), float("inf"))
        try:
            response = await ask_until(moved, self._peer(node), Api.WRITE_TXN_MARKERS, request)
        except OSError as error:
            log.info("%s: the markers are sent again", error)
            return {}
        return {} if response is None else _codes(response)

    def _peer(self, node: AliveBroker) -> Peer:
        if node not in self._peers:
            me = f"broker-{self._broker_id}-txn-marker-sender"
            self._peers[node] = self._connect(node.host, node.port, node.id, me, self._timeout_s)
        return self._peers[node]

    # -- leaders -------------------------------------------------------------------------

    def _is_deleted(self, partition: TopicPartition) -> bool:
        """Deleted. A broker that knows the controller knows all partitions."""
        known = self._metadata.controller != NO_BROKER
        return known and self._metadata.partition(partition) is None

    def _by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> Iterable[tuple[AliveBroker, list[TopicPartition]]]:
        found: dict[AliveBroker, list[TopicPartition]] = {}
        for partition in sorted(partitions):
            if (node := self._metadata.leader(partition)) is not None:
                found.setdefault(node, []).append(partition)
        return found.items()

    def _have_moved(self, node: AliveBroker, partitions: Iterable[TopicPartition]) -> bool:
        return all(self._metadata.leader(each) != node for each in partitions)


def _request(markers: TxnMarkers, partitions: Iterable[TopicPartition]) -> WriteTxnMarkersRequest:
    marker = WritableTxnMarker(
        producer_id=markers.producer.producer_id,
        producer_epoch=markers.producer.epoch,
        transaction_result=markers.committed,
        topics=numbered(WritableTxnMarkerTopic, partitions),
        coordinator_epoch=markers.coordinator_epoch,
    )
    return WriteTxnMarkersRequest(markers=(marker,))


def _codes(response: Any) -> Codes:
    return {
        partition: each.error_code
        for marker in response.markers
        for partition, each in by_partition(marker.topics)
    }
