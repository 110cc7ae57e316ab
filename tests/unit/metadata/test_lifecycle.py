"""The states of a broker in its cluster."""

from engine.metadata.lifecycle import BrokerLifecycle, LifecycleState, LifecycleStep


def after(*steps: LifecycleStep) -> BrokerLifecycle:
    lifecycle = BrokerLifecycle()
    for step in steps:
        lifecycle.take(step)
    return lifecycle


LOADED, REGISTERED, KNOWN = LifecycleStep.LOADED, LifecycleStep.REGISTERED, LifecycleStep.KNOWN
LOST, LEAVE = LifecycleStep.LOST, LifecycleStep.LEAVE


def test_a_broker_that_has_not_read_its_logs_does_not_register() -> None:
    """A lost session, or metadata from before its start, does not change that."""
    assert not after().may_register
    assert not after(LOST, KNOWN).may_register
    assert after(LOADED).may_register


def test_a_registered_broker_does_not_register_a_second_time() -> None:
    assert not after(LOADED, REGISTERED).may_register
    assert not after(LOADED, REGISTERED, KNOWN).may_register


def test_a_broker_whose_registration_was_lost_registers_again() -> None:
    """A broker that is leaving does, too: only a registered one can hand over its leaderships."""
    assert after(LOADED, REGISTERED, KNOWN, LOST).may_register
    leaving = after(LOADED, REGISTERED, KNOWN, LEAVE)
    assert leaving.state is LifecycleState.LEAVING
    leaving.take(LOST)
    assert leaving.may_register


def test_news_for_a_fenced_broker_do_not_make_it_ready() -> None:
    assert after(LOADED, KNOWN).state is LifecycleState.FENCED
    assert after(LOADED, REGISTERED, LOST, KNOWN).state is LifecycleState.FENCED
