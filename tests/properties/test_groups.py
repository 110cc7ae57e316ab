"""Groups under everything that can happen to them at random: members that join, crash, leave and
come back under their names, time that passes, writes that fail or are slow, coordinators that go.

Whatever happens:

    - a request is answered once, and not at all only while its answer can still come
    - one member leads a generation; all of its members get the shares that this one gave
    - nobody commits with a membership that is over
    - replaying what is replicated gives the same offsets, and the same stable or empty groups

And when it has stopped happening, all who are there are in one stable generation.
"""

import random
from itertools import count

from hypothesis import example, given
from hypothesis import strategies as st
from kio.schema.delete_groups.v2.request import DeleteGroupsRequest

from engine.coordinator.effects import Append
from engine.coordinator.group import ClassicGroupState
from engine.coordinator.records import GroupKey, decode_key
from engine.errors import ErrorCode
from tests.search import examples
from tests.unit.coordinator.shell import GROUP, NONE, PARTITION, SUBSCRIPTION, T0, T1, Shell

FENCED, ELSEWHERE = ErrorCode.fenced_instance_id, ErrorCode.not_coordinator
WRITE_FAILS = (
    ErrorCode.not_enough_replicas,
    ErrorCode.request_timed_out,
    ErrorCode.kafka_storage_error,
)
SETTINGS = {
    "group_initial_rebalance_delay_ms": 500,
    "offsets_retention_minutes": 1,
    "offsets_retention_check_interval_ms": 15_000,
}
PREFERENCES = (("range", SUBSCRIPTION), ("roundrobin", SUBSCRIPTION))


class Write:
    """One Append, in the order of the log; `error` is None until it is known what came of it."""

    def __init__(self, append):
        self.append = append
        self.error = NONE if append.token is None else None
        self.is_group = any(
            isinstance(decode_key(each.key), GroupKey) and each.value is not None
            for each in append.records
        )


class Broker(Shell):
    """A shell whose writes are finished in order, one way or the other."""

    def __init__(self, log, ids):
        self.log = log
        super().__init__(held=True, partitions=(), ids=ids, **SETTINGS)
        self.coordinator.load(PARTITION, 0)
        self.coordinator.replay(PARTITION, replicated(log), self.now)
        self.do(self.coordinator.loaded(PARTITION, self.now))

    def do(self, effects):
        for each in effects:
            if isinstance(each, Append):
                assert each.partition == PARTITION
                self.log.append(Write(each))
            else:
                self.replies[each.to].append(each.response)
                assert len(self.replies[each.to]) == 1

    def finish_next(self, error):
        write = next((each for each in self.log if each.error is None), None)
        if write is not None:
            write.error = error
            self.do(self.coordinator.written(write.append.token, error, self.now))


def replicated(log):
    return [record for each in log if each.error == NONE for record in each.append.records]


class Client:
    def __init__(self, world, instance):
        self.world = world
        self.instance = instance
        self.version = world.chance.choice((0, 3, 9) if instance is None else (8, 9))
        self.protocols = PREFERENCES[:: world.chance.choice((1, -1))]
        self.id, self.generation = "", -1
        self.begin()

    @property
    def name(self):
        return self.instance or self.id

    def begin(self):
        self.stage, self.waits, self.members = "join", None, ()

    def step(self):
        broker = self.world.broker
        if self.waits is not None:
            answer = broker.answer(self.waits)
            if answer is not None:
                self.waits = None
                self.hear(answer, answer.error_code)
        elif self.stage == "join":
            self.waits = broker.join(
                self.id,
                self.protocols,
                version=self.version,
                group_instance_id=self.instance,
                rebalance_timeout=15_000,
            )
        elif self.stage == "sync":
            self.waits = broker.sync(
                self.id,
                self.generation,
                self.world.share_out(self) if self.members else {},
                version=4,
                group_instance_id=self.instance,
                protocol_name=None,
            )
        else:
            code = broker.heartbeat(self.id, self.generation, self.instance)
            self.hear(None, code)

    def hear(self, answer, code):
        if code == NONE and self.stage == "join":
            self.id, self.generation, self.members = (
                answer.member_id,
                answer.generation_id,
                () if answer.skip_assignment else answer.members,
            )
            if self.members:
                self.world.leads(self)
            self.stage = "sync"
        elif code == NONE and self.stage == "sync":
            expected = self.world.shares[self.generation][self.name]
            assert answer.assignment == expected
            self.stage = "stable"
        elif code == ErrorCode.member_id_required:
            self.id = answer.member_id
        elif code == ErrorCode.unknown_member_id:
            self.id = ""
            self.begin()
        elif code == FENCED:
            self.world.clients.remove(self)
        elif code not in (NONE, ELSEWHERE):
            assert code in (
                ErrorCode.rebalance_in_progress,
                ErrorCode.illegal_generation,
                ErrorCode.coordinator_not_available,
            )
            self.begin()


class World:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.log, self.ids = [], count(1)
        self.broker = Broker(self.log, self.ids)
        self.clients, self.zombies = [], []
        self.leaders, self.shares = {}, {}  # by generation
        self.counter = 0
        self.was_there = False  # the group, when it was looked at last

    @property
    def group(self):
        return self.broker.group

    def leads(self, client):
        assert self.leaders.setdefault(client.generation, client.id) == client.id

    def share_out(self, leader):
        self.counter += 1
        by_name = {
            each.group_instance_id or each.member_id: each.member_id for each in leader.members
        }
        shares = {name: f"{self.counter} {name}".encode() for name in by_name}
        group = self.group
        if group and (group.state, group.generation) == (
            ClassicGroupState.COMPLETING_REBALANCE,
            leader.generation,
        ):
            self.shares.setdefault(leader.generation, shares)
        return {id: shares[name] for name, id in by_name.items()}

    # -- what happens ----------------------------------------------------------------------

    def step(self):
        match self.chance.randrange(60):
            case 0 | 1:
                self.start()
            case 2 if self.clients:
                self.crash(self.chance.choice(self.clients))
            case 3 if self.clients and self.chance.random() < 0.5:
                self.leave(self.chance.choice(self.clients))
            case 4 | 5 | 6:
                self.commit()
            case 7 | 8 | 9 | 10:
                self.broker.advance(self.chance.choice((10, 100, 600, 6000, 20_000)))
            case n if 11 <= n <= 20:
                fails = self.chance.random() < 0.1
                self.broker.finish_next(self.chance.choice(WRITE_FAILS) if fails else NONE)
            case 21 if self.chance.random() < 0.3:
                self.fail_over()
            case 22:
                self.broker.ask(DeleteGroupsRequest(groups_names=(GROUP,)))
            case _ if self.clients:
                self.chance.choice(self.clients).step()
        self.notice_end()
        self.check()

    def notice_end(self):
        """If the group has just ended, deleted or expired, its members join anew, and generations
        are counted from 1 again. Only once: what they ask while there is no group is answered."""
        if self.was_there and self.group is None:
            self.leaders, self.shares = {}, {}
            for client in self.clients:
                client.begin()
        self.was_there = self.group is not None

    def start(self):
        if len(self.clients) < 5:
            taken = {each.instance for each in self.clients}
            instance = self.chance.choice((None, None, "i", "j"))
            self.clients.append(Client(self, None if instance in taken else instance))

    def crash(self, client):
        """A static one is back at once, and its former self does not know that it is over."""
        self.clients.remove(client)
        if client.instance is not None:
            self.clients.append(Client(self, client.instance))
        self.zombies.append(client)

    def leave(self, client):
        self.clients.remove(client)
        if client.id:
            self.broker.leave((client.id, client.instance))
        self.zombies.append(client)

    def commit(self):
        if not self.clients + self.zombies:
            return
        client = self.chance.choice(self.clients + self.zombies)
        self.counter += 1
        group, broker = self.group, self.broker
        partition = self.chance.choice((T0, T1))
        member = group and group.members.get(client.id)
        may = (
            member is not None
            and member.instance_id == client.instance
            and group.generation == client.generation
            and group.state is not ClassicGroupState.COMPLETING_REBALANCE
        )
        number = broker.commit(
            {partition: self.counter}, client.id, client.generation, instance=client.instance
        )
        code = broker.committed(number) and broker.committed(number)[partition]
        if may:
            assert code is None  # it is on its way
        elif client.generation >= 0:
            assert code not in (None, NONE)

    def fail_over(self):
        old = self.broker
        old.do(old.coordinator.unload(PARTITION, old.now))
        assert all(len(old.replies[each]) == 1 for each in range(1, old.asked + 1))
        for write in self.log:
            if write.error is None:  # nobody has heard of it: it may be there, or not
                write.error = self.chance.choice((NONE, ErrorCode.not_leader_or_follower))
        self.broker = Broker(self.log, self.ids)
        stable = self.group.generation if self.group else 0
        self.broker.advance(old.now - self.broker.now)
        self.leaders = {g: id for g, id in self.leaders.items() if g < stable}
        self.shares = {g: it for g, it in self.shares.items() if g <= stable}
        for client in self.clients:
            if client.waits is not None:
                answer = old.answer(client.waits)
                client.waits = None
                if answer.error_code != ELSEWHERE:
                    client.begin()

    # -- what must hold --------------------------------------------------------------------

    def check(self):
        successor = Broker([*self.log], self.ids).group
        group = self.group
        offsets = group.offsets.stored if group else {}
        assert offsets == (successor.offsets.stored if successor else {})
        if group is None or group.generation == 0:
            assert successor is None or successor.generation == 0
            return
        last = [each for each in self.log if each.is_group][-1:]
        if group.state in (ClassicGroupState.STABLE, ClassicGroupState.EMPTY) and all(
            w.error == NONE for w in last
        ):
            assert picture(group) == picture(successor)
        elif successor is not None:
            assert successor.generation <= group.generation

    def settle(self):
        """Nothing else happens: who is there goes on."""
        for _ in range(200):
            for client in list(self.clients):
                client.step()
            while any(each.error is None for each in self.log):
                self.broker.finish_next(NONE)
            self.broker.advance(500)
            self.notice_end()
        self.check()
        names = {each.name for each in self.clients}
        if not self.clients:
            assert self.group is None or self.group.state is ClassicGroupState.EMPTY
            return
        assert self.group.state is ClassicGroupState.STABLE
        assert {each.instance_id or each.id for each in self.group.members.values()} == names
        assert {(each.stage, each.generation) for each in self.clients} == {
            ("stable", self.group.generation)
        }


def picture(group):
    """What of a group is written down."""
    return group and (
        group.state,
        group.generation,
        group.members.protocol_type,
        group.members.protocol,
        group.members.leader,
        group.topics,
        group.since if group.state is ClassicGroupState.EMPTY else None,
        {
            each.id: (
                each.instance_id,
                each.client_id,
                each.host,
                each.session_timeout,
                each.rebalance_timeout,
                each.metadata(group.members.protocol),
                each.assignment,
            )
            for each in group.members.values()
        },
    )


@examples(40)
@given(st.integers(0, 2**32))
@example(4526173)  # at the end there is no group, and all who are there have been members
def test_whatever_happens(seed):
    world = World(seed)
    for _ in range(300):
        world.step()
    world.settle()
