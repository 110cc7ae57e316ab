"""How the end of a transaction gets into every partition that it wrote to.

    Mark ──> orders-0, orders-2  led by 1 ──WriteTxnMarkers──> broker 1 ──> marked
             __consumer_offsets-7 led by 3 ─WriteTxnMarkers──> broker 3 ──> not now ─> again

The decision has been written by now, so this only has to be done, sooner or later: a partition
that moves is followed to its new leader, one that is deleted is done with. One thing alone ends it
early: a broker that knows of a later coordinator, or of a later epoch of the producer. Then others
see to it, or have done so.

Invariant: a partition is reported as marked once its replicas in sync have the marker, or once it
is gone for good.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from kio.schema.write_txn_markers.v1.request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

from engine.broker.metadata import NO_BROKER, Metadata, Node
from engine.broker.peer import Peer
from engine.coordinator.effects import Mark
from engine.errors import ErrorCode
from engine.links import Links
from engine.model import TopicPartition
from engine.wire.apis import Api

PAUSE = 0.1  # seconds until what was not done is tried again
TIMEOUT = 30.0  # seconds for an answer
# Others decide by now.
SUPERSEDED = frozenset({ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced})

log = logging.getLogger(__name__)

Codes = dict[TopicPartition, ErrorCode]


class Marking:
    def __init__(
        self,
        broker_id: int,
        metadata: Metadata,
        links: Links,
        lasts: Callable[[Mark], bool],  # whether we are still the coordinator that decided it
        marked: Callable[[Mark, tuple[TopicPartition, ...]], None],
    ) -> None:
        self._me = f"broker-{broker_id}-txn-marker-sender"  # by which others know who it is
        self._metadata = metadata
        self._links = links
        self._lasts = lasts
        self._marked = marked
        self._peers: dict[Node, Peer] = {}

    async def carry_out(self, mark: Mark) -> None:
        """Until each partition has the marker, or it is not for us to say any more."""
        left = set(mark.partitions)
        while left and self._lasts(mark):
            codes = {each: ErrorCode.none for each in left if self._is_gone(each)}
            for answers in await asyncio.gather(
                *(self._tell(node, mark, some) for node, some in self._by_leader(left))
            ):
                codes |= answers
            if not SUPERSEDED.isdisjoint(codes.values()):
                log.info("the end of %s's transaction is told by others", mark.transactional_id)
                return
            done = [each for each in mark.partitions if codes.get(each) == ErrorCode.none]
            if done and self._lasts(mark):
                self._marked(mark, tuple(done))
            left -= set(done)
            if left:
                await asyncio.sleep(PAUSE)

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()

    # -- one broker ------------------------------------------------------------------------

    async def _tell(self, node: Node, mark: Mark, partitions: Iterable[TopicPartition]) -> Codes:
        """What came of it at one broker; nothing, if it does not answer while it leads them."""
        partitions = list(partitions)
        asking = asyncio.create_task(
            self._peer(node).ask(Api.WRITE_TXN_MARKERS, _request(mark, partitions))
        )
        moving = asyncio.create_task(
            self._metadata.until(lambda: self._have_moved(node, partitions), float("inf"))
        )
        try:
            await asyncio.wait({asking, moving}, return_when=asyncio.FIRST_COMPLETED)
            return _codes(asking.result()) if asking.done() else {}
        except OSError as error:
            log.info("%s: telling it again", error)
            return {}
        finally:
            asking.cancel()
            moving.cancel()

    def _peer(self, node: Node) -> Peer:
        if node not in self._peers:
            self._peers[node] = Peer(node.host, node.port, node.id, self._links, self._me, TIMEOUT)
        return self._peers[node]

    # -- where they are --------------------------------------------------------------------

    def _is_gone(self, partition: TopicPartition) -> bool:
        """Deleted: whoever knows that there is a controller knows all partitions."""
        known = self._metadata.controller != NO_BROKER
        return known and self._metadata.partition(partition) is None

    def _leader(self, partition: TopicPartition) -> Node | None:
        info = self._metadata.partition(partition)
        return self._metadata.node(info.leader) if info else None

    def _by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> Iterable[tuple[Node, list[TopicPartition]]]:
        found: dict[Node, list[TopicPartition]] = {}
        for partition in sorted(partitions):
            if (node := self._leader(partition)) is not None:
                found.setdefault(node, []).append(partition)
        return found.items()

    def _have_moved(self, node: Node, partitions: Iterable[TopicPartition]) -> bool:
        return all(self._leader(each) != node for each in partitions)


def _request(mark: Mark, partitions: Iterable[TopicPartition]) -> WriteTxnMarkersRequest:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    marker = WritableTxnMarker(
        producer_id=mark.writer.producer_id,
        producer_epoch=mark.writer.epoch,
        transaction_result=mark.committed,
        topics=tuple(
            WritableTxnMarkerTopic(name=name, partition_indexes=tuple(numbers))
            for name, numbers in topics.items()
        ),
        coordinator_epoch=mark.coordinator_epoch,
    )
    return WriteTxnMarkersRequest(markers=(marker,))


def _codes(response: Any) -> Codes:
    return {
        TopicPartition(topic.name, each.partition_index): each.error_code
        for marker in response.markers
        for topic in marker.topics
        for each in topic.partitions
    }
