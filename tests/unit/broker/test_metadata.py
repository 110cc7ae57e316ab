"""Waiting for the controller's word."""

import asyncio

from engine.broker.metadata import Metadata, TopicInfo
from engine.broker.zookeeper import roles
from engine.model import TopicPartition
from engine.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)


def test_who_waits_looks_again_at_each_change():
    async def story():
        metadata, looks = Metadata(), []

        def is_there():
            looks.append(len(metadata.topics))
            return "orders" in metadata.topics

        loop = asyncio.get_running_loop()
        waiting = asyncio.ensure_future(metadata.until(is_there, loop.time() + 60))
        await asyncio.sleep(0)
        for name in ("payments", "orders"):
            metadata.topics[name] = TopicInfo(name, None)
            metadata.changed()
            await asyncio.sleep(0)
        assert await waiting is True
        assert looks[:3] == [0, 1, 2]

    asyncio.run(story())


def test_brokers_that_listen_nowhere_and_partitions_that_cannot_be_are_no_bug():
    metadata = Metadata()
    state = UpdateMetadataPartitionState(
        partition_index=-1, controller_epoch=1, leader=77, leader_epoch=-5, isr=(), zk_version=0,
        replicas=(),
    )  # fmt: skip
    topics = tuple(
        UpdateMetadataTopicState(topic_name=name, partition_states=states)
        for name, states in (("", (state, state)), ("t", ()))
    )
    nowhere = UpdateMetadataBroker(id=5, endpoints=())
    somewhere = UpdateMetadataBroker(id=6, endpoints=(UpdateMetadataEndpoint(port=1, host="h"),))
    metadata.apply(
        roles.news(
            UpdateMetadataRequest(
                controller_id=9,
                controller_epoch=1,
                topic_states=topics,
                live_brokers=(nowhere, somewhere),
            )
        )
    )
    assert metadata.brokers.keys() == {6}
    assert metadata.partition(TopicPartition("", -1)).leader == 77
    assert "t" not in metadata.topics


def test_what_is_so_already_takes_no_time():
    assert asyncio.run(Metadata().until(lambda: True, 0.0)) is True


def test_what_does_not_come_in_time():
    assert asyncio.run(Metadata().until(lambda: False, 0.0)) is False
