"""What a broker asks of the quorum, and what it says when nobody leads."""

import asyncio

import pytest

from engine.broker.kraft.gateway import KRaftGateway
from engine.errors import ApiException, ErrorCode
from tests.unit.broker.kraft.quorum import FakeQuorum


def test_without_a_controller_a_topic_is_not_waited_for():
    """A client that asks for a topic's metadata has other requests behind this one."""

    async def story():
        gateway = KRaftGateway(
            config=None, node=FakeQuorum(leader=None), channel=None, lifecycle=None
        )
        with pytest.raises(ApiException) as error:
            await gateway.create_topic("orders", {0: [1]}, {})
        assert error.value.code is ErrorCode.leader_not_available

    asyncio.run(story())
