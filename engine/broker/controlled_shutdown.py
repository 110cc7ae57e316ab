"""Controlled shutdown: before a broker stops, other brokers take over its leaderships.

    stopping broker ── ControlledShutdown ──> controller ── LeaderAndIsr ──> the new leaders
                    <── what it still leads ──

So clients wait for an election, and not for a session time-out. The request is repeated up to
`controlled.shutdown.max.retries` times, while another replica could become leader. A partition
whose other replicas are down or not in sync stays here, and is offline until one of them returns.

Without ZooKeeper there is no election. So a broker that has no connection to it does not ask, and
one that loses it meanwhile does not wait for the answer. (Kafka waits until ZooKeeper is back.)
"""

import asyncio
import logging
from functools import partial

from engine.broker.broker import Broker
from engine.broker.peer import Connect
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.messages.controlled_shutdown import ControlledShutdownRequest

NEW_CONTROLLER_WAIT_S = 1.0  # for the election of a new controller after an orderly stop

log = logging.getLogger(__name__)


async def hand_over(broker: Broker, connect: Connect, disconnected: asyncio.Event) -> None:
    """`disconnected`: from ZooKeeper."""
    if not broker.config.controlled_shutdown_enable:
        return
    asking = asyncio.create_task(_ask_until_done(broker, connect))
    lost = asyncio.create_task(disconnected.wait())
    try:
        await asyncio.wait({asking, lost}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            asking.result()
        else:
            log.warning("stopping without a new leader: there is no connection to ZooKeeper")
    finally:
        asking.cancel()
        lost.cancel()


async def _ask_until_done(broker: Broker, connect: Connect) -> None:
    config, metadata = broker.config, broker.metadata
    loop = asyncio.get_running_loop()
    for _ in range(config.controlled_shutdown_max_retries):
        controller, left = metadata.controller, await _ask(broker, connect)
        if _is_done(broker, left):
            log.info(
                "controlled shutdown done; %d partitions have no other leader", len(left or ())
            )
            return
        patience = config.controlled_shutdown_retry_backoff_ms / 1000
        until = loop.time() + (min(patience, NEW_CONTROLLER_WAIT_S) if left is None else patience)
        await metadata.until(partial(_is_news, broker, controller, left), until)
    log.warning("stopping, although this broker still leads partitions")


async def _ask(broker: Broker, connect: Connect) -> list[TopicPartition] | None:
    """The partitions that this broker still leads; None if the controller did not answer."""
    node = broker.metadata.node(broker.metadata.controller)
    if node is None:
        return None
    timeout = broker.config.controller_socket_timeout_ms / 1000
    peer = connect(node.host, node.port, node.id, str(broker.id), timeout)
    request = ControlledShutdownRequest(
        broker_id=broker.id, broker_epoch=broker.replicas.broker_epoch
    )
    try:
        response = await peer.ask(Api.CONTROLLED_SHUTDOWN, request)
    except OSError as error:
        log.info("the controller does not answer: %s", error)
        return None
    finally:
        peer.close()
    if response.error_code != ErrorCode.none:
        log.info("the controller refused: %s", response.error_code.name)
        return None
    return [
        TopicPartition(each.topic_name, each.partition_index)
        for each in response.remaining_partitions
    ]


def _is_done(broker: Broker, left: list[TopicPartition] | None) -> bool:
    return left is not None and not any(_can_move(broker, partition) for partition in left)


def _is_news(broker: Broker, controller: int, left: list[TopicPartition] | None) -> bool:
    return broker.metadata.controller != controller or _is_done(broker, left)


def _can_move(broker: Broker, partition: TopicPartition) -> bool:
    """Whether another broker could lead it."""
    info = broker.metadata.partition(partition)
    return info is not None and any(
        replica != broker.id and replica in broker.metadata.brokers for replica in info.isr
    )
