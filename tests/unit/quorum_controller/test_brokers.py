"""Brokers register, are fenced and unfenced, and stop."""

from engine.errors import ErrorCode
from engine.quorum_controller.broker_heartbeats import BROKER_CONTROL_STEPS, BrokerControlState
from tests.unit.quorum_controller.controlled import SESSION_MS, Controlled, refused


def test_a_broker_is_registered_fenced_and_its_epoch_is_the_offset_of_the_record():
    it = Controlled()
    epoch = it.register(1)
    assert (epoch, it.image.offset) == (1, 1)
    assert it.image.brokers[1].fenced
    assert it.register(2) == 2


def test_registrations_of_strangers_are_refused():
    it = Controlled([1])
    assert refused(it.register, 2, cluster="other") is ErrorCode.inconsistent_cluster_id
    assert refused(it.register, 2, levels=(8, 21)) is ErrorCode.unsupported_version
    assert refused(it.register, 1, process=2) is ErrorCode.duplicate_broker_registration
    assert list(it.image.brokers) == [1]


def test_a_process_that_registers_again_keeps_its_epoch_and_its_state():
    it = Controlled([1])
    epoch = it.image.brokers[1].epoch
    assert it.register(1) == epoch
    assert not it.image.brokers[1].fenced


def test_a_new_process_gets_a_new_epoch_when_the_session_of_the_old_one_is_over():
    it = Controlled([1, 2])
    it.create(1, 2)
    before = it.image.brokers[1].epoch
    it.now += SESSION_MS
    it.beat(2)
    epoch = it.register(1, process=2)
    assert epoch > before and it.image.offset == epoch
    assert it.image.brokers[1].fenced and it.partition.leader == 2  # a fenced broker leads nothing
    assert refused(it.beat, 1, epoch=before) is ErrorCode.stale_broker_epoch
    assert refused(it.beat, 1, epoch=epoch + 1) is ErrorCode.stale_broker_epoch


def test_a_broker_that_has_ended_in_order_is_started_again_at_once():
    """It is fenced, so nobody waits for the end of its session."""
    it = Controlled([1, 2])
    before = it.image.brokers[1].epoch
    assert it.beat(1, shutdown=True).should_shut_down
    assert it.register(1, process=2) > before


def test_a_stranger_has_no_heartbeat():
    it = Controlled()
    assert refused(it.beat, 7, epoch=1) is ErrorCode.stale_broker_epoch
    assert refused(it.controller.unregister_broker, 7) is ErrorCode.broker_id_not_registered


def test_a_broker_is_unfenced_when_it_has_read_its_own_registration():
    it = Controlled()
    epoch = it.register(1)
    reply = it.beat(1, offset=epoch - 1)
    assert (reply.is_caught_up, reply.is_fenced) == (False, True)
    assert it.beat(1, fence=True).is_fenced  # it does not want to yet
    reply = it.beat(1, offset=epoch)
    assert (reply.is_caught_up, reply.is_fenced, reply.should_shut_down) == (True, False, False)
    assert it.image.brokers[1].is_active
    assert it.beat(1, fence=True).is_fenced and it.image.brokers[1].fenced


def test_a_silent_broker_is_fenced_and_others_lead():
    it = Controlled([1, 2, 3])
    it.create(1, 2, 3)
    it.pass_ms(SESSION_MS, alive=[2, 3])
    assert it.image.brokers[1].fenced
    assert (it.partition.leader, it.partition.isr, it.partition.leader_epoch) == (2, (2, 3), 1)
    it.beat(1)  # it is back
    assert not it.image.brokers[1].fenced
    assert (it.partition.leader, it.partition.isr) == (2, (2, 3))  # it has to catch up first


def test_the_last_member_stays_in_the_isr_and_leads_again_when_it_is_back():
    it = Controlled([1, 2])
    it.create(1, 2)
    it.alter_isr(1)
    it.pass_ms(SESSION_MS, alive=[2])
    assert (it.partition.leader, it.partition.isr) == (-1, (1,))
    it.beat(1)
    assert (it.partition.leader, it.partition.isr) == (1, (1,))


def test_a_broker_that_stops_hands_over_and_waits_until_the_others_know():
    it = Controlled([1, 2, 3])
    it.create(1, 2, 3)
    known = it.image.offset
    reply = it.beat(1, shutdown=True)
    assert not reply.should_shut_down and it.image.brokers[1].in_controlled_shutdown
    assert (it.partition.leader, it.partition.isr) == (2, (2, 3))
    it.beat(2)
    it.beat(3, offset=known)
    assert not it.beat(1, shutdown=True).should_shut_down  # 3 still asks it for records
    it.beat(3)
    reply = it.beat(1, shutdown=True)
    assert (reply.should_shut_down, reply.is_fenced) == (True, True)
    assert it.image.brokers[1].fenced


def test_a_broker_that_nobody_can_replace_stays_until_it_is_killed():
    it = Controlled([1, 2])
    it.create(1, 2)
    it.alter_isr(1)
    it.beat(1, shutdown=True)
    assert it.partition.leader == -1  # an unclean election would lose records
    it.beat(2)
    assert it.beat(1, shutdown=True).should_shut_down


def test_a_broker_that_leads_nothing_stops_at_once():
    it = Controlled([1, 2])
    assert it.beat(1, shutdown=True).should_shut_down and it.image.brokers[1].fenced
    it.register(1, process=1)
    assert it.beat(1, shutdown=True).should_shut_down  # also while it is fenced


def test_an_unregistered_broker_leads_nothing():
    it = Controlled([1, 2])
    it.create(1, 2)
    it.do(it.controller.unregister_broker(1))
    assert list(it.image.brokers) == [2] and it.partition.leader == 2
    assert it.controller.tick(0) is None


def test_below_level_6_and_7_the_records_are_those_of_the_level():
    it = Controlled([1, 2], level=5)
    it.create(1, 2)
    it.beat(1, shutdown=True)
    assert it.partition.leader == 2 and not it.image.brokers[1].in_controlled_shutdown
    it.beat(2)
    assert it.beat(1, shutdown=True).should_shut_down
    kinds = {type(record).__name__ for record in it.records}
    assert {"FenceBrokerRecord", "UnfenceBrokerRecord"} <= kinds
    assert "BrokerRegistrationChangeRecord" not in kinds


def test_nobody_leaves_the_last_state():
    """It is no state of a registration: who may stop is fenced."""
    assert all(state is not BrokerControlState.SHUTDOWN_NOW for state, _ in BROKER_CONTROL_STEPS)
    reached = {state for state, _ in BROKER_CONTROL_STEPS} | {*BROKER_CONTROL_STEPS.values()}
    assert reached == {*BrokerControlState}
