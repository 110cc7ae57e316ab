"""Transactions under everything that can happen to them at random: producers that crash and come
back, and zombies that go on; time that passes; writes that fail, or of which nobody knows whether
they have; markers that come late or never; coordinators that go.

Whatever happens:

    - a request is answered once, and not at all only while its answer can still come
    - a transaction goes from state to state as the table says, and its epochs never go back
    - it ends one way: no partition is told to commit it, and another one to abort it
    - what was acknowledged as committed is committed; it is complete when every partition that
      was acknowledged as a part of it has been told, and not before
    - once there is a successor, a producer never again succeeds in anything
    - replaying what is replicated gives the same transaction

And when it has stopped happening, a new producer can write, and commit.
"""

import random
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from engine.coordinator.effects import Append, TransactionalProducer, TxnMarkers
from engine.coordinator.transactions.metadata import AT_REST, BEFORE, NO_PRODUCER, TxnState
from engine.coordinator.transactions.records import decode_value
from engine.errors import ErrorCode
from tests.search import examples
from tests.unit.coordinator.transactions.shell import (
    FENCED,
    MAPPING,
    NONE,
    OFFSETS,
    PARTITION,
    T0,
    T1,
    U0,
    Shell,
)

REFUSED = ErrorCode.not_enough_replicas  # it is not in the log
UNCERTAIN = ErrorCode.request_timed_out  # it is there, and may stay or not
SETTINGS = {
    "transaction_abort_timed_out_transaction_cleanup_interval_ms": 2_000,
    "transactional_id_expiration_ms": 30_000,
    "transaction_remove_expired_transaction_cleanup_interval_ms": 7_000,
}
TIMEOUT = 5_000
PARTITIONS = (T0, T1, U0)


class Write:
    """One Append, in the order of the log; `error` is None until it is known what came of it."""

    def __init__(self, append):
        self.append = append
        self.error = None


class Errand:
    """One TxnMarkers, and who does not have it yet: each partition is reported once."""

    def __init__(self, mark, key):
        self.mark, self.key = mark, key
        self.left = list(mark.partitions)


class Broker(Shell):
    """A shell that tells the world all that it does."""

    def __init__(self, world, epoch):
        self.world = world
        super().__init__(held=True, partitions=(), ids=world.ids, **SETTINGS)
        self.now = world.now
        world.broker = self
        self.lead(PARTITION, epoch, [each.append.records[0] for each in world.log])

    def do(self, effects):
        for each in effects:
            match each:
                case Append():
                    assert (each.partition, len(each.records)) == (PARTITION, 1)
                    self.world.log.append(Write(each))
                case TxnMarkers():
                    self.world.must_be_the_only_end(each)
                    self.marks.append(Errand(each, self.world.key))
                case _:
                    self.replies[each.to].append(each.response)
                    assert len(self.replies[each.to]) == 1
                    self.world.hear(each.to, each.response)
        self.world.watch(self)

    def finish_next(self, error):
        write = next((each for each in self.world.log if each.error is None), None)
        if write is not None:
            write.error = error
            if error == REFUSED:
                self.world.log.remove(write)
            self.do(self.coordinator.written(write.append.token, error, self.now))


class Client:
    """A producer, by what it believes of itself."""

    def __init__(self):
        self.writer = NO_PRODUCER
        self.waits = False


class World:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.now, self.log, self.ids = 1_000_000, [], count(1)
        self.requests = {}  # by number: who asked what
        self.clients = [Client()]
        self.epochs = {}  # by producer id, the highest that was seen
        self.heard_of = set()  # producer ids that a client was told
        self.current = NO_PRODUCER  # the last writer that a client was told that it is
        self.former = set()  # and those before it
        self.outcomes = {}  # by producer id and time of its first partition
        self.promised = {}  # the same, as it was acknowledged
        self.told = {}  # and the partitions that were
        self.marked = {}  # and those that have the marker
        self.became = {}  # who said who it was, and who it is now
        self.epoch = 1
        Broker(self, self.epoch)  # takes its place as self.broker

    @property
    def metadata(self):
        transaction = self.broker.transaction
        return transaction and transaction.metadata

    @property
    def key(self):
        """Of the transaction: time never stands still, so no two of a producer begin at once."""
        return self.metadata.producer.producer_id, self.metadata.started

    # -- what happens ----------------------------------------------------------------------

    def step(self):
        self.now = self.broker.now = max(self.now, self.broker.now) + 1
        match self.chance.randrange(40):
            case 0:
                self.clients.append(Client())
            case 1 if len(self.clients) > 1:
                self.clients.remove(self.chance.choice(self.clients))
            case 2 if self.chance.random() < 0.6:
                self.fail_over()
            case 3 | 4 | 5:
                self.broker.advance(self.chance.choice((10, 100, 1_000, 3_000, 40_000)))
            case 6 | 7 | 8 | 9 | 10 | 11 if self.broker.marks:
                self.mark(errand := self.chance.choice(self.broker.marks))
                if not errand.left:
                    self.broker.marks.remove(errand)
            case n if n < 26:
                fails = self.chance.random() < 0.2
                self.broker.finish_next(self.chance.choice((REFUSED, UNCERTAIN)) if fails else NONE)
            case _:
                self.act(self.chance.choice(self.clients))
        self.check()

    def act(self, client):
        if client.waits:
            return
        what = self.chance.choice(("init", "add", "add", "offsets", "commit", "commit", "abort"))
        if client.writer == NO_PRODUCER or what == "init":
            expected = client.writer if self.chance.random() < 0.5 else NO_PRODUCER
            self.ask(client, "init", expected)
        elif what == "add":
            some = self.chance.sample(PARTITIONS, self.chance.randrange(1, 3))
            self.ask(client, "add", client.writer, *some)
        else:
            self.ask(client, what, client.writer)

    def ask(self, client, what, *arguments):
        broker, client.waits = self.broker, True
        self.requests[broker.asked + 1] = client, what, arguments
        match what:
            case "init":
                broker.init(*arguments, timeout=TIMEOUT)
            case "add":
                broker.add(*arguments)
            case "offsets":
                broker.add_offsets(*arguments)
            case "commit" | "abort":
                broker.end(*arguments, what == "commit")
        return broker.asked

    def mark(self, errand):
        left = errand.left
        some = [left.pop() for _ in range(self.chance.randint(1, len(left)))]
        self.marked.setdefault(errand.key, set()).update(some)
        self.broker.mark(errand.mark, *some)

    def fail_over(self):
        """The new leader has what was acknowledged, and all that stood before it in the log. Of
        what came behind that, it may have some."""
        old = self.broker
        old.do(old.coordinator.unload(PARTITION, old.now))
        assert all(len(old.replies[each]) == 1 for each in range(1, old.asked + 1))
        assert self.requests == {}
        known = max((n for n, each in enumerate(self.log, 1) if each.error == NONE), default=0)
        del self.log[self.chance.randint(known, len(self.log)) :]
        for write in self.log:
            write.error = NONE
        self.epoch += 1
        self.now = old.now
        Broker(self, self.epoch)

    # -- what is seen of it ----------------------------------------------------------------

    def hear(self, number, answer):
        client, what, arguments = self.requests.pop(number)
        client.waits = False
        code = set(self.broker.codes(number).values()).pop() if what == "add" else answer.error_code
        if code in (FENCED, MAPPING) and self.chance.random() < 0.7:
            client.writer = NO_PRODUCER  # or else it goes on, as a zombie
        if code != NONE:
            return
        if what == "init":
            writer = TransactionalProducer(answer.producer_id, answer.producer_epoch)
            self.hear_who_it_is(client, writer, *arguments)
            return
        writer, *partitions = arguments
        assert writer not in self.former
        assert writer == self.metadata.producer
        if what in ("commit", "abort"):
            committed = what == "commit"
            assert self.promised.setdefault(self.key, committed) == committed
            assert self.outcomes.get(self.key, committed) == committed
        else:
            self.told.setdefault(self.key, set()).update(partitions or [OFFSETS])

    def hear_who_it_is(self, client, writer, expected):
        assert writer == self.metadata.producer
        assert writer not in self.former
        if expected in self.former:  # it asks again, or its id is new, as it was forgotten
            assert self.became.get(expected, writer) == writer
            assert expected in self.became or writer.producer_id not in self.heard_of
        self.heard_of.add(writer.producer_id)
        if expected == self.current:
            self.became[expected] = writer
        if self.current not in (NO_PRODUCER, writer):
            self.former.add(self.current)
        client.writer = self.current = writer

    def must_be_the_only_end(self, mark):
        assert (mark.coordinator, mark.coordinator_epoch) == (PARTITION, self.epoch)
        assert mark.producer == self.metadata.producer
        assert self.outcomes.setdefault(self.key, mark.committed) == mark.committed
        assert self.promised.get(self.key, mark.committed) == mark.committed
        assert self.told.get(self.key, set()) <= set(mark.partitions)

    def watch(self, broker):
        for each in broker.told():
            assert TxnState(each["was"]) in BEFORE[TxnState(each["state"])]
            assert each["epoch"] >= self.epochs.get(each["producer"], -1)
            self.epochs[each["producer"]] = each["epoch"]
            if each["state"].startswith("Complete"):
                key = each["producer"], self.metadata.started
                assert self.told.get(key, set()) <= self.marked.get(key, set())
        broker.events.clear()

    def check(self):
        last = [each for each in self.log if each.error == NONE][-1:]
        value = last[0].append.records[0].value if last else None
        if value is None:  # no record, or a tombstone
            assert self.metadata is None or self.metadata.producer.epoch == NO_PRODUCER.epoch
        else:
            expected = decode_value(value)
            for name in ("producer", "timeout", "state", "partitions", "updated", "started"):
                assert getattr(self.metadata, name) == getattr(expected, name)

    def settle(self):
        """Nothing else happens: a new producer comes, and wants to write."""
        client = Client()
        for _ in range(20):
            self.pass_on()
            if client.writer == NO_PRODUCER and not client.waits:
                self.ask(client, "init", NO_PRODUCER)
        assert client.writer == self.current == self.metadata.producer
        for partition, what in ((T0, "commit"), (T1, "abort")):
            number = self.ask(client, "add", client.writer, partition)
            self.pass_on()
            assert self.broker.codes(number) == {partition: NONE}
            number = self.ask(client, what, client.writer)
            self.pass_on()
            assert self.broker.code(number) == NONE
            self.pass_on()
            assert self.metadata.state in AT_REST
        for key in self.told.keys() & self.promised.keys():
            assert self.outcomes[key] == self.promised[key]

    def pass_on(self):
        self.broker.advance(200)
        while any(each.error is None for each in self.log):
            self.broker.finish_next(NONE)
        while self.broker.marks:
            errand = self.broker.marks.pop(0)
            if errand.left:
                self.mark(errand)
                self.broker.marks.append(errand)
        self.check()


@examples(60)
@given(st.integers(0, 2**32))
def test_whatever_happens(seed):
    world = World(seed)
    for _ in range(300):
        world.step()
    world.settle()
