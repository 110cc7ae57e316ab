"""A quorum controller under random requests, deaths and times: what holds after each of them."""

import contextlib
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.errors import ApiException
from engine.metadata.image import MetadataImage
from engine.quorum_controller.partition_change import PartitionElection
from engine.quorum_controller.quorum_controller import QuorumController
from tests.unit.quorum_controller.controlled import CLUSTER, P0, SESSION_MS, Controlled

BROKERS = st.integers(1, 5)
ISRS = st.lists(BROKERS, max_size=4).map(tuple)


class ControllerUnderStorms(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.it = Controlled([1, 2, 3])
        self.it.create(1, 2, 3)
        self.process, self.last = 1, self.it.partition

    def attempt(self, call, *arguments, **named):
        with contextlib.suppress(ApiException):
            call(*arguments, **named)

    @rule(broker=BROKERS, again=st.booleans())
    def register(self, broker, again):
        self.process += not again
        self.attempt(self.it.register, broker, self.process)

    @rule(broker=BROKERS, fence=st.booleans(), shutdown=st.booleans(), behind=st.integers(0, 4))
    def beat(self, broker, fence, shutdown, behind):
        if broker in self.it.image.brokers:
            offset = self.it.image.offset - behind
            self.it.beat(broker, offset=offset, fence=fence, shutdown=shutdown)

    @rule(ms=st.integers(1, SESSION_MS), alive=st.frozensets(BROKERS))
    def pass_time(self, ms, alive):
        self.it.pass_ms(ms, alive & self.it.image.brokers.keys())

    @rule(isr=ISRS)
    def alter_isr(self, isr):
        if self.it.partition.leader in self.it.image.brokers:
            self.it.alter_isr(*isr)

    @rule(to=ISRS | st.none())
    def move(self, to):
        self.it.do(self.it.controller.reassignments.alter({P0: to}))

    @rule(election=st.sampled_from([PartitionElection.PREFERRED, PartitionElection.UNCLEAN]))
    def elect(self, election):
        self.it.do(self.it.controller.elections.elect(None, election))

    @rule(broker=BROKERS)
    def unregister(self, broker):
        self.attempt(lambda: self.it.do(self.it.controller.unregister_broker(broker)))

    @rule()
    def lead_anew(self):
        """Another node takes the lead, with the same records and no heartbeats."""
        old = self.it
        image = old.image.copy()
        old.controller = QuorumController(101, CLUSTER, image, old.config, old.now)

    @invariant()
    def the_image_is_the_replay_of_the_records(self):
        again = MetadataImage()
        for record in self.it.records:
            again.replay(record)
        assert again == self.it.image
        snapshot = MetadataImage()
        for record in self.it.image.records():
            snapshot.replay(record)
        assert snapshot == self.it.image

    @invariant()
    def who_leads_may_lead(self):
        known, brokers = self.it.partition, self.it.image.brokers
        if known.leader >= 0:
            assert brokers[known.leader].is_active and known.leader in known.isr
        fenced = [it for it in known.isr if it not in brokers or brokers[it].fenced]
        assert known.isr and (not fenced or known.isr == tuple(fenced[:1]))
        assert {*known.isr} <= {*known.replicas}
        assert len({*known.replicas}) == len(known.replicas)

    @invariant()
    def epochs_only_grow_and_one_leader_has_one(self):
        before, now = self.last, self.it.partition
        assert now.leader_epoch >= before.leader_epoch and now.version >= before.version
        if now.leader_epoch == before.leader_epoch:
            assert now.leader == before.leader
        assert (now == before) == (now.version == before.version)
        self.last = now

    @invariant()
    def the_topic_is_there(self):
        assert self.it.image.topic_names == {UUID(int=1000): "orders"}


TestControllerUnderStorms = ControllerUnderStorms.TestCase
TestControllerUnderStorms.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None
)
