"""The changes of the image, as a broker applies them: in order, and with pauses."""

import asyncio
from types import SimpleNamespace

import pytest

from engine.broker.kraft import image_publisher
from engine.broker.kraft.image_publisher import ImagePublisher, slices
from engine.errors import ErrorCode
from engine.metadata.delta import MetadataDelta, ReplicaStop
from engine.metadata.image import MetadataImage
from engine.metadata.records import topics
from engine.model import TopicPartition
from tests.limits import ANSWER_S
from tests.unit.metadata.test_image import ORDERS, partition

MANY = 45  # partitions


class Broker:
    """Broker 1, with the logs of some partitions."""

    def __init__(self, *logs):
        directory = SimpleNamespace(logs={})
        self.replicas = SimpleNamespace(
            logs=SimpleNamespace(directory_of=dict.fromkeys(logs, directory))
        )
        self.applied = []
        self.publisher = SimpleNamespace(apply=self._apply)

    def _apply(self, delta):
        self.applied.append(delta)
        return [ErrorCode.none] * (len(delta.roles) + len(delta.stops))


def image_of(count, offset):
    image = MetadataImage()
    image.replay(topics.TopicRecord(name="orders", topic_id=ORDERS))
    for number in range(count):
        image.replay(partition(number))
    image.offset = offset
    return image


def test_a_large_delta_comes_in_slices_and_the_rest_with_the_last_one():
    stops = [ReplicaStop(TopicPartition("old", number), None, True) for number in range(25)]
    delta = MetadataDelta(roles=[None] * MANY, stops=stops, controller=3)
    found = list(slices(delta))
    assert [(len(each.roles), len(each.stops)) for each in found] == [
        *((20, 0), (20, 0), (5, 0), (0, 20), (0, 5)),
    ]
    assert [each.controller for each in found] == [None, None, None, None, 3]


def test_configurations_come_before_the_replicas_that_have_them():
    """Between two slices clients are served: a new partition must not lead with the defaults."""
    configs = {("topics", "orders"): {"max.message.bytes": "5"}}
    found = list(slices(MetadataDelta(roles=[None] * MANY, configs=configs, controller=3)))
    assert [(each.configs, len(each.roles)) for each in found] == [
        *((configs, 0), ({}, 20), ({}, 20), ({}, 5)),
    ]
    assert [each.controller for each in found] == [None, None, None, 3]


def test_the_offset_moves_when_all_of_it_is_applied(monkeypatch):
    """A new broker applies everything first, and then each change; what was deleted is removed."""
    monkeypatch.setattr(image_publisher, "BUSY_S", -1.0)  # a pause after each slice

    async def story():
        stray = TopicPartition("gone", 7)
        broker, image, offsets = Broker(stray), image_of(MANY, 80), []
        publisher = ImagePublisher(1, lambda: offsets.append(publisher.applied_offset))
        publisher.changed(image, image.take_changes())  # nothing has been applied: it is ignored
        first = asyncio.create_task(publisher.apply_first(broker, image))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert broker.applied and publisher.applied_offset == -1
        image.replay(partition(MANY))  # meanwhile
        image.offset = 81
        publisher.changed(image, image.take_changes())
        await first
        assert [stop.partition for stop in broker.applied[0].stops] == [stray]
        assert sum(len(delta.roles) for delta in broker.applied) == MANY
        running = asyncio.create_task(publisher.run(broker))
        async with asyncio.timeout(ANSWER_S):
            while publisher.applied_offset < 81:
                await asyncio.sleep(0)
        running.cancel()
        assert offsets == [80, 81]
        assert [each.partition.partition for each in broker.applied[-1].roles] == [MANY]

    asyncio.run(story())


@pytest.mark.parametrize("count", [0, 20])
def test_a_small_delta_is_one_slice(count):
    delta = MetadataDelta(roles=[None] * count, stops=[], brokers=[])
    assert list(slices(delta)) == [delta]
