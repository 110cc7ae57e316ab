"""The ids of producers: what a client is told while no block of them can be reserved."""

import asyncio

import pytest

from engine.broker.producer_ids import ProducerIds
from engine.errors import ApiException, ErrorCode, MetadataUnavailable


@pytest.mark.parametrize(
    "failure",
    [
        MetadataUnavailable("ZooKeeper did not answer"),
        ApiException(ErrorCode.request_timed_out, "no controller has answered in time"),
    ],
)
def test_who_asks_while_none_can_be_reserved_asks_again(failure):
    """REQUEST_TIMED_OUT would be the end of an older Java client's producer."""
    reserved = [failure, range(1000, 1002)]

    async def allocate() -> range:
        if isinstance(found := reserved.pop(0), Exception):
            raise found
        return found

    async def ask() -> list[int]:
        ids = ProducerIds(allocate)
        with pytest.raises(ApiException, match="no producer ids now: ") as refused:
            await ids.next()
        assert refused.value.code is ErrorCode.coordinator_load_in_progress
        return [await ids.next(), await ids.next()]

    assert asyncio.run(ask()) == [1000, 1001]
