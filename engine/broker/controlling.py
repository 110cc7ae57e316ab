"""The controller's hands: ZooKeeper's watches in, leaders and metadata out.

    /controller             created by whoever is first; gone with its session
    /brokers/topics         a new topic: choose leaders, write their state, tell the replicas
    /brokers/topics/T       more partitions
    /admin/delete_topics    take the replicas away, then the topic's nodes
    /config/changes         read an entity's configuration again

Watches say only that something changed, once; what changed is read. So each is turned into a
note of what to look at, and one task works the notes off, one after the other.

So far this broker is alone: it elects itself and leads everything that it has a replica of.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError

from engine.broker.admin import Admin
from engine.broker.broker import Broker, clock
from engine.broker.metadata import NO_BROKER, Node, PartitionInfo, TopicInfo
from engine.broker.zookeeper import ZookeeperClient
from engine.controller import znodes
from engine.controller.election import elect
from engine.controller.writes import Create, Set
from engine.model import TopicPartition

log = logging.getLogger(__name__)

Step = Callable[[], Coroutine[Any, Any, None]]


class Controlling:
    def __init__(self, broker: Broker, zookeeper: ZookeeperClient) -> None:
        self._broker = broker
        self._zookeeper = zookeeper
        self._epoch = 0
        self._steps: asyncio.Queue[Step] = asyncio.Queue()
        self._seen_changes: set[str] = set()

    async def start(self) -> None:
        """Become controller if nobody is, and bring this broker up to date."""
        await self._campaign()
        await self._look_at_brokers()
        await self._look_at_configs()
        await self._look_at_topics()
        await self._look_at_deletions()

    async def run(self) -> None:
        """Work off what was noted, for as long as the broker lives.

        A step that ZooKeeper did not answer is dropped: the next connection starts all over.
        """
        while True:
            step = await self._steps.get()
            try:
                await step()
            except KazooException as error:
                log.warning("ZooKeeper did not answer (%r): waiting for it", error)

    def note(self, step: Step) -> None:
        """Something to be done after what was noted before."""
        self._steps.put_nowait(step)

    def _watch(self, step: Step) -> Callable[[object], None]:
        return lambda event: self.note(step)

    # -- who is controller ---------------------------------------------------------------

    async def _campaign(self) -> None:
        """The node and the epoch are written together, so no epoch is ever used twice."""
        zookeeper, broker = self._zookeeper, self._broker
        data, stat = await zookeeper.get(znodes.CONTROLLER_EPOCH)
        epoch = znodes.decode_epoch(data) + 1
        node = znodes.Controller(broker.id, clock())
        try:
            await zookeeper.multi(
                Create(znodes.CONTROLLER, node.encode(), ephemeral=True),
                Set(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(epoch), stat.version),
            )
            self._epoch = epoch
        except NodeExistsError:
            log.info("there is a controller already")
        await self._look_at_controller()

    async def _look_at_controller(self) -> None:
        watch = self._watch(self._controller_changed)
        metadata = self._broker.metadata
        if await self._zookeeper.exists(znodes.CONTROLLER, watch) is None:
            metadata.controller = NO_BROKER
            return
        data, _ = await self._zookeeper.get(znodes.CONTROLLER)
        metadata.controller = znodes.Controller.decode(data).broker_id

    async def _controller_changed(self) -> None:
        await self._look_at_controller()
        if self._broker.metadata.controller == NO_BROKER:
            await self._campaign()

    async def _look_at_brokers(self) -> None:
        found = {}
        for name in await self._zookeeper.children(
            znodes.BROKER_IDS, self._watch(self._look_at_brokers)
        ):
            data, _ = await self._zookeeper.get(znodes.broker_path(int(name)))
            registered = znodes.Broker.decode(data)
            endpoint = registered.endpoints[0]
            found[int(name)] = Node(int(name), endpoint.host, endpoint.port, registered.rack)
        self._broker.metadata.brokers = found

    # -- topics --------------------------------------------------------------------------

    async def _look_at_topics(self) -> None:
        names = await self._zookeeper.children(znodes.TOPICS, self._watch(self._look_at_topics))
        for name in sorted(set(names) - set(self._broker.metadata.topics)):
            await self._look_at_topic(name)

    async def _look_at_topic(self, name: str) -> None:
        async def again() -> None:
            await self._look_at_topic(name)

        try:
            data, _ = await self._zookeeper.get(znodes.topic_path(name), self._watch(again))
        except NoNodeError:
            return  # deleted meanwhile, which is another watch's business
        topic = znodes.Topic.decode(data)
        await self._broker.admin.reload("topics", name)
        known = self._broker.metadata.topics.get(name) or TopicInfo(name, topic.topic_id)
        elected = [
            (partition, await self._elect(partition, assigned.replicas), assigned.replicas)
            for number, assigned in topic.partitions.items()
            if number not in known.partitions
            for partition in [TopicPartition(name, number)]
        ]
        for partition, state, replicas in elected:  # in one go: no client sees half of a topic
            self._lead(partition, state, known, replicas)
        self._broker.metadata.topics[name] = known
        self._broker.metadata.changed()

    async def _elect(
        self, partition: TopicPartition, replicas: tuple[int, ...]
    ) -> znodes.PartitionState:
        """The state that ZooKeeper has, with a live leader if there can be one."""
        path, live = znodes.state_path(partition), self._broker.metadata.brokers
        try:
            data, stat = await self._zookeeper.get(path)
        except NoNodeError:
            alive = tuple(replica for replica in replicas if replica in live)
            state = znodes.PartitionState(alive[0], 0, alive, self._epoch)
            await self._zookeeper.create(path, state.encode(), parents=True)
            return state
        state = znodes.PartitionState.decode(data)
        if state.leader in live:
            return state
        unclean = self._broker.admin.topic_config(partition.topic).unclean_leader_election_enable
        chosen = elect(replicas, state.isr, live, unclean=unclean)
        state = state._replace(
            leader=chosen.leader,
            isr=chosen.isr,
            leader_epoch=state.leader_epoch + 1,
            controller_epoch=self._epoch,
        )
        await self._zookeeper.set(path, state.encode(), stat.version)
        return state

    def _lead(
        self,
        partition: TopicPartition,
        state: znodes.PartitionState,
        topic: TopicInfo,
        replicas: tuple[int, ...],
    ) -> None:
        if state.leader == self._broker.id:
            config = self._broker.admin.topic_config(partition.topic)
            self._broker.replicas.lead(
                partition, state.leader_epoch, replicas, state.isr, config, topic.id
            )
        topic.partitions[partition.partition] = PartitionInfo(
            state.leader, state.leader_epoch, replicas, state.isr
        )

    async def _look_at_deletions(self) -> None:
        for name in await self._zookeeper.children(
            znodes.DELETE_TOPICS, self._watch(self._look_at_deletions)
        ):
            await self._delete(name)

    async def _delete(self, name: str) -> None:
        """Files first, then the nodes, the request last: whoever takes over can begin again.

        Only then is the topic gone for clients, too: they may create it again at once.
        """
        topic = self._broker.metadata.topics.get(name)
        for number in topic.partitions if topic else ():
            self._broker.replicas.delete(TopicPartition(name, number))
        for path in (znodes.topic_path(name), znodes.config_path("topics", name)):
            await self._zookeeper.delete_tree(path)
        await self._broker.admin.reload("topics", name)
        await self._zookeeper.delete_tree(znodes.deleted_topic_path(name))
        self._broker.metadata.topics.pop(name, None)
        self._broker.metadata.changed()

    # -- configuration -------------------------------------------------------------------

    async def _look_at_configs(self) -> None:
        admin = self._broker.admin
        names = await self._zookeeper.children(
            znodes.CONFIG_CHANGES, self._watch(self._look_at_configs)
        )
        if not self._seen_changes:
            for entity in (znodes.DEFAULT_ENTITY, str(self._broker.id)):
                await admin.reload("brokers", entity)
        for name in sorted(set(names) - self._seen_changes, key=znodes.sequence_number):
            try:
                data, _ = await self._zookeeper.get(f"{znodes.CONFIG_CHANGES}/{name}")
            except NoNodeError:
                continue  # old notes are cleared away
            await self._apply(admin, *znodes.decode_config_change(data))
        self._seen_changes = set(names)

    async def _apply(self, admin: Admin, kind: str, entity: str) -> None:
        await admin.reload(kind, entity)
        self._broker.replicas.reconfigure(admin.topic_config)
