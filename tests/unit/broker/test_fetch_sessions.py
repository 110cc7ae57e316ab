"""Fetch sessions: how many there are, who may take a slot from whom, and what a request changes."""

from random import Random
from types import SimpleNamespace as Message

import pytest

from engine.broker.fetch_sessions import NO_SESSION, STALE_MS, FetchSessions
from engine.model import TopicPartition

SLOTS = 3
CONSUMER, DEBUGGING = -1, -2  # replica ids


class Replicas:
    """Nobody writes to them."""

    def watch(self, partition, session):
        """Nothing changes."""

    unwatch = watch


def request(replica_id=CONSUMER, *partitions, session=(0, 0), forgotten=()):
    rows = tuple(
        Message(
            partition=each,
            fetch_offset=0,
            partition_max_bytes=1,
            current_leader_epoch=-1,
            log_start_offset=-1,
            last_fetched_epoch=-1,
        )
        for each in partitions or (0,)
    )
    return Message(
        replica_id=replica_id,
        session_id=session[0],
        session_epoch=session[1],
        topics=(Message(topic="t", topic_id=None, partitions=rows),),
        forgotten_topics_data=(Message(topic="t", topic_id=None, partitions=forgotten),),
    )


@pytest.fixture
def sessions():
    return FetchSessions(SLOTS, Random(1))


def begin(sessions, replica_id=CONSUMER, now=0):
    return sessions.begin(request(replica_id), Replicas(), now)


def test_followers_that_clients_claim_to_be_take_no_more_than_the_slots(sessions):
    ids = {begin(sessions, number).id for number in range(50)}
    assert len(sessions) == SLOTS
    assert len(ids - {NO_SESSION}) == SLOTS


def test_a_follower_takes_the_slot_of_the_oldest_consumer(sessions):
    first, *_ = (begin(sessions) for _ in range(SLOTS))
    assert begin(sessions).id == NO_SESSION, "a consumer takes none"
    assert begin(sessions, 1).id != NO_SESSION
    assert first.id not in sessions._sessions
    assert len(sessions) == SLOTS


def test_a_session_that_is_not_used_any_more_makes_room_for_anybody(sessions):
    for number in range(SLOTS):
        begin(sessions, number)
    assert begin(sessions, now=STALE_MS).id == NO_SESSION
    assert begin(sessions, now=STALE_MS + 1).id != NO_SESSION


def test_two_debugging_consumers_do_not_close_each_others_session(sessions):
    one, other = begin(sessions, DEBUGGING), begin(sessions, DEBUGGING)
    assert {one.id, other.id} == sessions._sessions.keys()


def test_what_a_request_names_twice_is_forgotten(sessions):
    session = begin(sessions)
    again = request(CONSUMER, 0, 1, session=(session.id, 1), forgotten=(0,))
    sessions.begin(again, Replicas(), 0)
    assert [*session.partitions] == [TopicPartition("t", 1)]
