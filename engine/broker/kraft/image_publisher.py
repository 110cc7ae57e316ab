"""Applies the changes of the image to a broker, in order, a slice at a time.

    image changed ──> ImageDelta ──> deltas that wait ──> slices ──> MetadataPublisher
                                     | offset 80 | 81 |

A new log is several files, and a thousand new replicas take seconds. So now and then,
between two slices, the event loop does what else is due: a heartbeat above all, or the controller
would fence the broker because it is busy with what the controller has decided.

Invariant: the broker has applied all of the metadata up to `applied_offset`, and tells the
controller no other offset.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from engine.broker.broker import Broker
from engine.errors import ErrorCode
from engine.metadata.delta import MetadataDelta, ReplicaStop
from engine.metadata.image import ImageChanges, MetadataImage
from engine.metadata.image_delta import ImageDelta
from engine.model import TopicPartition

SLICE = 20  # replicas that get a role, or are deleted, at once
BUSY_S = 0.5  # for so long the loop does nothing else

log = logging.getLogger(__name__)


class ImagePublisher:
    def __init__(self, node_id: int, applied: Callable[[], None]) -> None:
        """`applied` is called when the offset has moved."""
        self.applied_offset = -1
        self._node_id, self._applied = node_id, applied
        self._deltas = ImageDelta(node_id)
        self._waiting: asyncio.Queue[tuple[list[MetadataDelta], int]] = asyncio.Queue()
        self._has_begun = False

    def changed(self, image: MetadataImage, changes: ImageChanges) -> None:
        """Before the first delta, which has everything, changes are nothing."""
        if self._has_begun:
            deltas = list(self._deltas.next(image, changes))
            self._waiting.put_nowait((deltas, image.offset))

    async def apply_first(self, broker: Broker, image: MetadataImage) -> None:
        """All that there is. Replicas that were deleted or moved meanwhile are removed."""
        delta, offset = self._deltas.first(image), image.offset
        self._has_begun = True
        if strays := self._strays(broker, image):
            log.warning("deleting replicas that this broker has no more: %s", strays)
        stops = [ReplicaStop(partition, None, delete=True) for partition in strays]
        await self._apply(broker, MetadataDelta(configs=delta.configs, stops=stops))
        await self._apply(broker, replace(delta, configs={}))
        self._advance(offset)

    async def run(self, broker: Broker) -> None:
        """Apply what comes, until the broker stops."""
        while True:
            deltas, offset = await self._waiting.get()
            for delta in deltas:
                await self._apply(broker, delta)
            self._advance(offset)

    def _advance(self, offset: int) -> None:
        self.applied_offset = offset
        self._applied()

    def _strays(self, broker: Broker, image: MetadataImage) -> list[TopicPartition]:
        """Logs of replicas that are not this broker's any more, or of a topic with another id."""
        found = []
        for partition, directory in broker.replicas.logs.directory_of.items():
            topic, stored = image.topics.get(partition.topic), directory.logs.get(partition)
            known = None if topic is None else topic.partitions.get(partition.partition)
            is_other = topic and stored and stored.topic_id not in (None, topic.id)
            if known is None or is_other or self._node_id not in known.replicas:
                found.append(partition)
        return sorted(found)

    async def _apply(self, broker: Broker, delta: MetadataDelta) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for piece in slices(delta):
            if loop.time() - began > BUSY_S:
                await asyncio.sleep(0)
                began = loop.time()
            codes = broker.publisher.apply(piece)
            told = [each.partition for each in piece.roles]
            told += [each.partition for each in piece.stops]
            _report(zip(told, codes, strict=False))


def slices(delta: MetadataDelta) -> Iterator[MetadataDelta]:
    """First the configurations, which new replicas have from the start; then some roles or stops
    each, and the rest of the delta with the last ones."""
    if delta.configs:
        yield MetadataDelta(configs=delta.configs)
        delta = replace(delta, configs={})
    roles, stops = list(delta.roles), list(delta.stops)
    while len(roles) + len(stops) > SLICE:
        if roles:
            yield MetadataDelta(roles=roles[:SLICE])
            del roles[:SLICE]
        else:
            yield MetadataDelta(stops=stops[:SLICE])
            del stops[:SLICE]
    yield replace(delta, roles=roles, stops=stops)


def _report(outcomes: Iterable[tuple[TopicPartition, ErrorCode]]) -> None:
    for partition, code in outcomes:
        if code is not ErrorCode.none:
            log.error("%s: %s", partition, code.name)
