"""A group in memory: members' cores, the brokers' coordinator core, and a clock that we turn.

    App ── cores (view, membership, offsets, coordinator) ── lanes ── Shell, a coordinator
     └── does its callbacks when it polls                       each way takes 1 ms

A lane is a connection: requests are answered in their order, and one that waits holds up those
behind it. `settle` turns the clock until the group is stable. After everything that happens, the
invariants are checked:

Invariant: no partition is owned by two members of one generation.
Invariant: in a stable group every partition of a wanted topic is owned once.
Invariant: nobody is busy for nothing: a core that is due asks something, or is due later.
"""

import re
from collections import defaultdict, deque
from heapq import heappop, heappush
from itertools import combinations, count

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.metadata.v11.request import MetadataRequest

from engine.client.consuming.membership import Membership, MembershipState
from engine.client.consuming.offset_commits import OffsetManager
from engine.client.consuming.rebalance_callbacks import OnAssign, OnLost, OnRevoke
from engine.client.coordinator_lookup import CoordinatorLookup, CoordinatorType
from engine.client.core import ANY
from engine.client.metadata import MetadataView
from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from tests.unit.client import answers
from tests.unit.coordinator.shell import GROUP, PARTITION, START, Shell

WAY = 0.001  # seconds that a message takes
REQUEST_TIMEOUT = 30.0


def partitions(topic, *numbers):
    return tuple(TopicPartition(topic, number) for number in numbers)


class App:
    """A process with a consumer in it."""

    def __init__(self, world, name, topics=("t",), pattern=None, **config):
        self.world, self.name = world, name
        values = {"group_id": GROUP, "bootstrap_servers": ("b:1",), "client_id": name} | config
        self.config = ConsumerConfig(**values)
        self.view = MetadataView(self.config)
        self.coordinator = CoordinatorLookup(
            CoordinatorType.GROUP, GROUP, self.config.retry_backoff_ms / 1000
        )
        self.events = []
        self.membership = Membership(self.config, self.coordinator, self.events.append)
        self.offsets = OffsetManager(self.config, self.coordinator, self.membership)
        self.cores = [self.view, self.membership, self.offsets, self.coordinator]
        self.log = []  # the callbacks, as they were done
        self.errors = []
        self.asked = []  # the names of the APIs
        self.is_alive = True  # a process that was killed sends nothing any more
        self.is_polling = True
        self.is_connected = True
        if topics or pattern:
            self.subscribe(*topics, pattern=pattern)

    def subscribe(self, *topics, pattern=None):
        self.membership.subscribe(topics, pattern and re.compile(pattern), self.world.now)

    @property
    def owned(self):
        return sorted(self.membership.owned)

    @property
    def numbers(self):
        return [each.partition for each in self.owned]

    @property
    def state(self):
        return self.membership.state

    @property
    def generation(self):
        return self.membership.identity.generation_id

    @property
    def instance(self):
        return self.membership.identity.group_instance_id

    def poll(self):
        self.membership.polled(self.world.now)
        while self.membership.callbacks.waiting:
            callback = self.membership.callbacks.take()
            self.log.append(callback)
            self.membership.done(callback, self.world.now)
        if error := self.membership.take_error():
            self.errors.append(error.code)

    def step(self):
        for core in self.cores:
            yield from core.step(self.world.now, self.view)

    def changes(self, kind):
        return [each.partitions for each in self.log if type(each) is kind]

    def close(self):
        self.membership.unsubscribe(self.world.now)

    def commit(self, offsets, epoch=-1, metadata=""):
        """Where the result will be."""
        told = []
        rows = {
            each: OffsetAndMetadata(offset, epoch, metadata) for each, offset in offsets.items()
        }
        self.offsets.commit(rows, told.append, self.world.now)
        return told

    def fetch(self, *partitions):
        told = []
        self.offsets.fetch(partitions, told.append, self.world.now)
        return told


class World:
    def __init__(self, topics=None, **broker):
        self.now = 0.0
        self.topics = {"t": 4} if topics is None else topics
        self.brokers = {1: Shell(**broker)}
        self.broker_config = broker
        self.coordinator = 1  # the broker that leads the group's partition
        self.apps = []
        self.lanes = defaultdict(deque)  # (app, broker, lane): asks that wait for their turn
        self.denied = ErrorCode.none  # what FindCoordinator is answered
        self.frozen = set()  # brokers that have been stopped: they take what comes, and are silent
        self.waiting = {}  # (broker, number): (lane, ask), handed in and not answered
        self.on_their_way = []  # (when, order, what to do)
        self.order = count()
        self.generations = {}  # generation -> what its members owned together, once stable

    def app(self, name, *topics, **config):
        app = App(self, name, topics or ("t",) * ("pattern" not in config), **config)
        self.apps.append(app)
        return app

    def apps_of(self, count, *topics, **config):
        return [self.app(f"m{number}", *topics, **config) for number in range(count)]

    def later(self, what, *arguments, after=WAY):
        heappush(self.on_their_way, (self.now + after, next(self.order), what, arguments))

    # -- what happens to the group ---------------------------------------------------------

    def kill(self, app):
        app.is_alive = False

    def fail_over(self, to):
        """The coordinator dies; another broker has its log, and leads the partition."""
        dead = self.coordinator
        for key in [each for each in self.waiting if each[0] == dead]:
            del self.waiting[key]
        for lane in [each for each in self.lanes if each[1] == dead]:
            self.fail_all(lane)
        self.move(to)
        del self.brokers[dead]

    def move(self, to, is_loaded=True):
        """Another broker leads the partition, and the one before knows."""
        old = self.brokers[self.coordinator]
        self.brokers[to] = old.successor(group_initial_rebalance_delay_ms=0)
        if not is_loaded:
            self.brokers[to].coordinator.unload(PARTITION, self.milliseconds)
            self.brokers[to].coordinator.load(PARTITION, 0)
        old.do(old.coordinator.unload(PARTITION, self.milliseconds))
        self.collect()
        self.coordinator = to

    def load(self):
        """What `move` has left out."""
        shell = self.brokers[self.coordinator]
        records = [record for where, record in shell.accepted if where == PARTITION]
        shell.coordinator.replay(PARTITION, records, self.milliseconds)
        shell.do(shell.coordinator.loaded(PARTITION, self.milliseconds))

    # -- the network -----------------------------------------------------------------------

    def send(self, app, ask):
        app.asked.append(ask.api.name)
        lane = app, self.coordinator if ask.to == ANY else ask.to, ask.lane or ask.api.name
        self.lanes[lane].append(ask)
        self.later(self.time_out, lane, ask, after=ask.timeout or REQUEST_TIMEOUT)
        if len(self.lanes[lane]) == 1:
            self.later(self.arrive, lane)

    def arrive(self, lane):
        app, broker, _ = lane
        if not self.lanes[lane] or not app.is_connected:
            self.fail_all(lane)
            return
        ask = self.lanes[lane][0]
        match ask.request:
            case _ if broker in self.frozen:
                return
            case _ if broker not in self.brokers:
                self.fail_all(lane)
            case MetadataRequest():
                self.later(self.answer, lane, ask, self.metadata(ask.request))
            case FindCoordinatorRequest():
                self.later(self.answer, lane, ask, answers.found(self.coordinator, self.denied))
            case _:
                shell = self.brokers[broker]
                shell.now = self.milliseconds
                number = shell.ask(ask.request, client_id=app.name)
                self.waiting[broker, number] = lane, ask
        self.collect()

    def time_out(self, lane, ask):
        """A connection on which an answer is overdue is given up, and all that waits on it."""
        if any(each is ask for each in self.lanes.get(lane, ())):
            self.fail_all(lane)

    def fail_all(self, lane):
        for ask in self.lanes.pop(lane, ()):
            self.later(self.broke, lane, ask)

    def collect(self):
        """What coordinators have answered by now."""
        for key, (lane, ask) in list(self.waiting.items()):
            broker, number = key
            response = self.brokers[broker].answer(number)
            if response is not None:
                del self.waiting[key]
                self.later(self.answer, lane, ask, response)

    def answer(self, lane, ask, response):
        app, waiting = lane[0], self.lanes[lane]
        if not waiting or waiting[0] is not ask:
            return  # the connection was given up
        waiting.popleft()
        if waiting:
            self.later(self.arrive, lane)
        if not app.is_connected:
            self.broke(lane, ask)
        elif app.is_alive:
            self.core(app, ask).answered(ask, response, self.now)

    def broke(self, lane, ask):
        app = lane[0]
        if app.is_alive:
            error = ApiException(ErrorCode.network_exception, "the connection broke")
            self.core(app, ask).failed(ask, error, self.now)

    def core(self, app, ask):
        match ask.api.name:
            case "METADATA":
                return app.view
            case "FIND_COORDINATOR":
                return app.coordinator
            case "OFFSET_COMMIT" | "OFFSET_FETCH":
                return app.offsets
        return app.membership

    def metadata(self, request):
        wanted = self.topics if request.topics is None else [it.name for it in request.topics]
        rows = {name: self.topics.get(name, 0) for name in wanted}
        return answers.metadata(self.brokers, rows, self.coordinator)

    # -- time ------------------------------------------------------------------------------

    @property
    def milliseconds(self):
        return START + round(self.now * 1000)

    def turn(self):
        """The clock goes on to what happens next, and everyone acts."""
        self.act()
        dues = [core.due() for app in self.apps if app.is_alive for core in app.cores]
        dues += [(each.coordinator.due() - START) / 1000 for each in self.brokers.values()]
        dues += [self.on_their_way[0][0]] if self.on_their_way else []
        # A core that is due has just been asked to act: it has nothing to do now.
        self.now = max(self.now + WAY, min(each for each in dues if each is not None))
        for shell in self.brokers.values():
            shell.advance(max(self.milliseconds - shell.now, 0))
        self.collect()
        while self.on_their_way and self.on_their_way[0][0] <= self.now:
            _, _, what, arguments = heappop(self.on_their_way)
            what(*arguments)
        self.act()
        self.check()

    def act(self):
        """As long as anybody has something to do."""
        for app in [each for each in self.apps if each.is_alive]:
            for _ in range(20):
                if app.is_polling:
                    app.poll()
                asks = list(app.step())
                for ask in asks:
                    self.send(app, ask)
                if not (asks or (app.is_polling and app.membership.callbacks.waiting)):
                    break
            else:
                raise AssertionError(f"{app.name} does not come to rest: {app.log[-9:]}")

    def run(self, seconds):
        end = self.now + seconds
        self.later(lambda: None, after=seconds)  # or the clock would go on to what happens next
        while self.now < end:
            self.turn()

    def until(self, condition, limit=120.0):
        end = self.now + limit
        while not condition():
            assert self.now < end, f"in vain: {[(it.name, it.state, it.owned) for it in self.apps]}"
            self.turn()

    def settle(self, limit=120.0):
        self.until(lambda: self.is_stable, limit)

    @property
    def members(self):
        return [
            each for each in self.apps if each.is_alive and each.membership._subscribed is not None
        ]

    @property
    def group(self):
        return self.brokers[self.coordinator].group

    @property
    def is_stable(self):
        shell = self.brokers.get(self.coordinator)
        if shell is None or PARTITION not in shell.coordinator.groups.owned:
            return False
        members = self.members
        return (
            all(each.state is MembershipState.STABLE for each in members)
            and len({each.generation for each in members}) == 1
            and self.group.state.value == "Stable"
            and set(self.group.members) == {it.membership.identity.member_id for it in members}
            and self.group.generation == members[0].generation
            and not any(each.membership._rejoin_reason for each in members)
        )

    # -- invariants ------------------------------------------------------------------------

    def check(self):
        for one, other in combinations([each for each in self.apps if each.is_alive], 2):
            # Of one instance id, the older is not a member any more, and has yet to hear that.
            is_one = one.instance is not None and one.instance == other.instance
            if one.generation == other.generation != -1 and not is_one:
                both = one.membership.owned & other.membership.owned
                assert not both, f"{one.name} and {other.name} own {both}"
        if self.members and self.is_stable:
            owned = sorted(each for app in self.members for each in app.owned)
            known = self.generations.setdefault(self.group.generation, owned)
            assert known == owned, "one generation, one assignment"
            for app in self.members:
                if app.membership._leader is not None:
                    counts = app.membership._leader._counts.items()
                    every = [
                        TopicPartition(each, n) for each, count in counts for n in range(count)
                    ]
                    assert owned == sorted(every), "each partition once, and none left out"


__all__ = [
    "GROUP",
    "App",
    "MembershipState",
    "OnAssign",
    "OnLost",
    "OnRevoke",
    "World",
    "partitions",
]
