"""Copies of requests in a broker: which are kept, when they come, and which never do."""

import asyncio

from engine.broker.request_faults import RequestCopy, RequestFaults
from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.errors import Malformed


class Broker:
    """Request faults, what they report, and copies that note that they were handled."""

    def __init__(self):
        self.handled, self.told = [], []
        self.faults = RequestFaults(lambda kind, **facts: self.told.append((kind, facts["error"])))

    def come(self, name, error=None, api=Api.END_TXN):
        async def handle():
            self.handled.append(name)
            if isinstance(error, Exception):
                raise error
            return {error} if error else set()

        self.faults.keep(RequestCopy(api, "client", handle))


async def story_of_copies_that_come_when_asked():
    broker = Broker()
    broker.faults.repeat(Api.END_TXN, None, times=2)
    broker.come("another API", api=Api.PRODUCE)
    broker.come("first")
    broker.come("second", ErrorCode.producer_fenced)
    broker.come("third")
    (row,) = broker.faults.rows()
    assert row == {"fault": "repeat", "api": "END_TXN", "ms": None, "times": 0, "kept": 2}
    assert broker.faults.deliver() == 2
    assert broker.faults.deliver() == 0
    while len(broker.told) < 2:
        await asyncio.sleep(0)
    assert broker.handled == ["first", "second"]
    assert broker.told == [("request.repeated", "NONE"), ("request.repeated", "PRODUCER_FENCED")]
    assert not broker.faults.heal()


async def story_of_copies_that_are_healed():
    """The first ones would come before the last one, which is waited for."""
    broker = Broker()
    broker.faults.repeat(Api.END_TXN, 1, times=2)
    broker.come("healed")
    broker.faults.repeat(Api.PRODUCE, None, times=1)
    broker.come("kept", api=Api.PRODUCE)
    assert broker.faults.heal()
    assert broker.faults.rows() == []
    assert broker.faults.deliver() == 0
    broker.come("not asked for")
    broker.faults.repeat(Api.END_TXN, 20, times=1)
    broker.come("last", Malformed("acks=0, and an error"))
    while not broker.told:
        await asyncio.sleep(0)
    assert broker.handled == ["last"]
    assert broker.told == [("request.repeated", "NONE")]


async def story_of_a_fault_that_is_taken_back():
    broker = Broker()
    broker.faults.repeat(Api.END_TXN, None, times=1)
    broker.faults.repeat(Api.END_TXN, None, times=0)
    broker.come("no copy")
    assert broker.faults.rows() == []


def test_copies_come_when_asked():
    asyncio.run(story_of_copies_that_come_when_asked())


def test_copies_that_are_healed_never_come():
    asyncio.run(story_of_copies_that_are_healed())


def test_a_fault_is_taken_back():
    asyncio.run(story_of_a_fault_that_is_taken_back())
