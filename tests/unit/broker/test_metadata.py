"""Waiting for the controller's word."""

import asyncio

from engine.broker.metadata import Metadata, TopicInfo


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


def test_what_is_so_already_takes_no_time():
    assert asyncio.run(Metadata().until(lambda: True, 0.0)) is True


def test_what_does_not_come_in_time():
    assert asyncio.run(Metadata().until(lambda: False, 0.0)) is False
