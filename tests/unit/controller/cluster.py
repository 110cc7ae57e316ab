"""A cluster of controllers, a ZooKeeper that is a model, and brokers that do as they are told.

    cluster = Cluster(1, 2, 3)          brokers 1 to 3; 1 is the first, and so the controller
    cluster.create("t", [[1, 2], ...])  what an admin client would write
    cluster.run()                       until nobody has anything left to do

Nothing moves by itself, and everything happens in one order. A controller can be made to die
after its n-th question to ZooKeeper: `cluster.dies(1, after=n)`.
"""

from collections import deque
from functools import cache
from uuid import UUID

from engine.config import BrokerConfig
from engine.controller.controller import Controller
from engine.controller.events import Answered, Began
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.sim.clock import Clock
from engine.sim.zookeeper import Zookeeper
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from engine.wire.messages.stop_replica import (
    EPOCH_DURING_DELETE,
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from engine.wire.messages.update_metadata import LEADER_DURING_DELETE, UpdateMetadataRequest
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Delete, Get, Refused, Set

ID = UUID(int=7)
NEW_ID = UUID(int=8)  # that controllers give to a topic without one


class Died(Exception):
    """The process is gone, in the middle of what it was doing."""


class Machine:
    """What is left of a broker when it is down: its disk."""

    def __init__(self):
        self.logs = set()
        self.storage_errors = set()  # partitions on a disk that has failed
        self.undeletable = set()
        self.start()

    def start(self):
        self.roles, self.metadata, self.live = {}, {}, {}
        self.controller_epoch = 0
        self.heard = []

    def hear(self, message):
        self.heard.append(message)
        if message.controller_epoch < self.controller_epoch:
            return None  # error 11: whoever sent it will learn by other ways
        self.controller_epoch = message.controller_epoch
        match message:
            case LeaderAndIsrRequest():
                return self.leader_and_isr(message)
            case StopReplicaRequest():
                return self.stop_replica(message)
            case UpdateMetadataRequest():
                return self.update_metadata(message)

    def leader_and_isr(self, request):
        topics = []
        for topic in request.topic_states:
            errors = []
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                code = ErrorCode.none
                if partition in self.storage_errors:
                    code = ErrorCode.kafka_storage_error
                elif state.leader_epoch > self.epoch(partition):
                    self.roles[partition] = state
                    self.logs.add(partition)
                elif state.leader_epoch < self.epoch(partition):
                    code = ErrorCode.stale_controller_epoch
                index = state.partition_index
                errors.append(LeaderAndIsrPartitionError(partition_index=index, error_code=code))
            topics.append(
                LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=tuple(errors))
            )
        return LeaderAndIsrResponse(topics=tuple(topics))

    def epoch(self, partition):
        return self.roles[partition].leader_epoch if partition in self.roles else -1

    def stop_replica(self, request):
        errors = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                code = ErrorCode.none
                if EPOCH_DURING_DELETE != state.leader_epoch < self.epoch(partition):
                    code = ErrorCode.fenced_leader_epoch
                elif state.delete_partition and partition in self.undeletable:
                    code = ErrorCode.kafka_storage_error
                else:
                    self.roles.pop(partition, None)
                    if state.delete_partition:
                        self.logs.discard(partition)
                errors.append(
                    StopReplicaPartitionError(
                        topic_name=partition.topic,
                        partition_index=partition.partition,
                        error_code=code,
                    )
                )
        return StopReplicaResponse(partition_errors=tuple(errors))

    def update_metadata(self, request):
        self.live = {broker.id: broker for broker in request.live_brokers}
        for topic in request.topic_states:
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                if state.leader == LEADER_DURING_DELETE:
                    self.metadata.pop(partition, None)
                else:
                    self.metadata[partition] = state


class Cluster:
    def __init__(self, *brokers, **settings):
        self.settings = settings
        self.clock = Clock()
        self.zookeeper = Zookeeper(self.clock)
        self.admin = self.zookeeper.connect(10**9, lambda changed: None)
        for path in (*znodes.PERSISTENT_PATHS, znodes.TOPICS):
            self.zookeeper.answer(self.admin, Create(path, parents=True))
        self.events = []  # of all, in order
        self.asked = []  # all questions of all controllers
        self.rounds = []  # how many of them at once
        self.results = []  # of the events that tests have put in
        self.sent = []  # every request, in order
        self.machines, self.sessions, self.controllers = {}, {}, {}
        self.queues, self.epochs, self.lives = {}, {}, {}
        self.deaths = {}  # broker -> how many questions it may still ask
        self.losing = set()  # brokers to which requests are not delivered (yet)
        self.undelivered = []
        self.mute = set()  # brokers whose requests get lost
        self.before = lambda broker, ask: None  # a hook, for what happens in between
        for broker in brokers:
            self.start(broker)
        self.run()

    # -- brokers -------------------------------------------------------------------------

    def start(self, broker, port=None):
        settings = {"broker_id": broker, **self.settings}
        self.machines.setdefault(broker, Machine()).start()
        queue = self.queues[broker] = deque()
        session = self.zookeeper.connect(10**9, queue.append)
        self.sessions[broker] = session
        created = self.zookeeper.answer(
            session, Create(znodes.broker_path(broker), registration(broker, port), ephemeral=True)
        )
        self.epochs[broker] = created.czxid
        self.controllers[broker] = Controller(
            broker, configured(**settings), self.clock, self.events.append, lambda: NEW_ID
        )
        queue.append(Began())

    def kill(self, *brokers):
        for broker in brokers:
            del self.controllers[broker], self.queues[broker], self.epochs[broker]
            self.sessions.pop(broker).close()
            self.deaths.pop(broker, None)

    def bounce(self, broker):
        """Dead and alive again before anybody looks."""
        queues = self.queues
        self.kill(broker)
        self.start(broker)
        assert queues is self.queues

    def dies(self, broker, *, after):
        self.deaths[broker] = after

    @property
    def controller(self):
        (active,) = [each for each in self.controllers.values() if each.active]
        return active

    # -- what happens --------------------------------------------------------------------

    def run(self):
        while busy := [broker for broker, queue in sorted(self.queues.items()) if queue]:
            broker = busy[0]
            try:
                self.handle(broker, self.queues[broker].popleft())
            except Died:
                self.kill(broker)

    def ask(self, event, broker=None):
        """Put an event to the controller, and see it through to its result."""
        broker, result = broker or self.controller.broker_id, None
        try:
            result = self.handle(broker, event)
        except Died:
            self.kill(broker)
        self.run()
        return result

    def handle(self, broker, event):
        controller, answers = self.controllers[broker], None
        work = controller.handle(event)
        try:
            while True:
                asks = work.send(answers)
                assert asks, "nothing to ask is no question"
                self.deliver(broker)
                self.rounds.append(len(asks))
                answers = [self.answer(broker, ask) for ask in asks]
        except StopIteration as end:
            self.deliver(broker)
            return end.value

    def answer(self, broker, ask):
        if broker in self.deaths:
            if not self.deaths[broker]:
                raise Died
            self.deaths[broker] -= 1
        self.asked.append((broker, ask))
        self.before(broker, ask)
        return self.zookeeper.answer(self.sessions[broker], ask)

    def deliver(self, sender):
        outbox = self.controllers[sender].outbox
        requests = [*outbox]
        outbox.clear()
        for request in requests:
            self.sent.append(request)
            self.deliver_one(sender, request)

    def deliver_one(self, sender, request):
        if sender in self.mute:
            return
        to, life, message = request
        if self.epochs.get(to) != life:
            return
        assert message.broker_epoch == life
        if to in self.losing or any(late.broker_epoch == life for _, late in self.undelivered):
            self.undelivered.append((sender, request))
            return
        response = self.machines[to].hear(message)
        if response is not None and sender in self.queues:
            self.queues[sender].append(Answered(to, life, message, response))

    def deliver_late(self):
        late, self.undelivered = self.undelivered, []
        self.losing.clear()
        for sender, request in late:
            self.deliver_one(sender, request)
        self.run()

    # -- what others write ---------------------------------------------------------------

    def put(self, *writes):
        for write in writes:
            answer = self.zookeeper.answer(self.admin, write)
            assert not isinstance(answer, Refused), answer

    def get(self, path):
        node = self.zookeeper.answer(self.admin, Get(path))
        return node and node.data

    def create(self, topic, assignment, **config):
        overrides = {key.replace("_", "."): value for key, value in config.items()}
        replicas = {n: znodes.ReplicaAssignment(tuple(ids)) for n, ids in enumerate(assignment)}
        self.put(
            Create(znodes.config_path("topics", topic), znodes.encode_config(overrides)),
            Create(znodes.topic_path(topic), znodes.Topic(ID, replicas).encode()),
        )
        self.run()

    def delete(self, topic):
        self.put(Create(znodes.deleted_topic_path(topic)))
        self.run()

    def change_isr(self, partition, *isr):
        """As its leader would."""
        path = znodes.state_path(partition)
        self.put(Set(path, self.state(partition)._replace(isr=isr).encode()))
        note = znodes.encode_partitions([partition])
        self.put(Create(znodes.ISR_CHANGE, note, sequence=True))
        self.run()

    def catch_up(self):
        """Every live replica that follows joins its ISR."""
        for partition in self.partitions():
            if self.get(znodes.state_path(partition)) is None:
                continue  # no leader yet, or its topic waited only for this to be deleted
            state, assigned = self.state(partition), self.assigned(partition)
            following = [
                broker
                for broker in assigned.replicas
                if broker in self.epochs
                and self.machines[broker].epoch(partition) == state.leader_epoch
            ]
            joined = (*state.isr, *(each for each in following if each not in state.isr))
            if state.leader in self.epochs and joined != state.isr:
                self.change_isr(partition, *joined)

    def forget_tree(self, path):
        below = [each for each in self.zookeeper.tree if each.startswith(f"{path}/")]
        self.put(*map(Delete, sorted([path, *below], reverse=True)))

    # -- what is there -------------------------------------------------------------------

    def state(self, partition):
        data = self.get(znodes.state_path(partition))
        return data and znodes.LeaderAndIsr.decode(data)

    def assigned(self, partition):
        topic = znodes.Topic.decode(self.get(znodes.topic_path(partition.topic)))
        return topic.partitions[partition.partition]

    def partitions(self):
        found = []
        for path in sorted(self.zookeeper.tree):
            above, _, name = path.rpartition("/")
            if above == znodes.TOPICS:
                topic = znodes.Topic.decode(self.get(path))
                found += [TopicPartition(name, number) for number in topic.partitions]
        return found

    def lead(self):
        """Who leads what, and who is in sync: (leader, isr) by partition."""
        states = {each: self.state(each) for each in self.partitions()}
        return {each: state and (state.leader, state.isr) for each, state in states.items()}

    def told(self, kind=None, to=None):
        return [
            request.message
            for request in self.sent
            if (kind is None or isinstance(request.message, kind)) and to in (None, request.broker)
        ]

    def happened(self, kind):
        return [event.data for event in self.events if event.kind == kind]

    def check(self):
        """Everybody who is alive believes what ZooKeeper says, and does it."""
        for partition in self.partitions():
            state, assigned = self.state(partition), self.assigned(partition)
            assert state.isr and set(state.isr) <= set(assigned.replicas)
            for broker in self.epochs:
                machine = self.machines[broker]
                assert machine.live.keys() == self.epochs.keys()
                told = machine.metadata[partition]
                assert (told.leader, told.isr) == (state.leader, state.isr), (broker, partition)
                assert told.replicas == assigned.replicas
                assert (partition in machine.roles) == (broker in assigned.replicas)
                if broker in assigned.replicas:
                    role = machine.roles[partition]
                    assert (role.leader, role.leader_epoch) == (state.leader, state.leader_epoch)
                    assert role.replicas == assigned.replicas
        known = set(self.partitions())
        for broker in self.epochs:
            assert self.machines[broker].metadata.keys() == known
            assert self.machines[broker].logs <= known


@cache
def configured(**settings):
    given = {key.replace("_", "."): str(value) for key, value in settings.items()}
    return BrokerConfig.parse({"zookeeper.connect": "nowhere:1"} | given)


def registration(broker, port=None):
    endpoint = znodes.BrokerEndPoint("PLAINTEXT", "127.0.0.1", port or 9000 + broker)
    return znodes.BrokerInfo((endpoint,), 0).encode()
