"""Fetch 13: topics by their ids, in one broker with one log."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from uuid import UUID

import pytest
from kio.schema.fetch.v13.request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

from engine.broker.authorization import AuthHelper
from engine.broker.call import Call
from engine.broker.events import Ring
from engine.broker.fetch_sessions import FetchSessions
from engine.broker.handlers import fetch
from engine.broker.metadata import Metadata
from engine.config import TopicConfig
from engine.errors import ErrorCode
from engine.metadata.delta import MetadataDelta, PartitionChange, PartitionRegistration
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.directory import LogDirectory
from engine.wire.apis import Api
from engine.wire.codec import decode_request, encode_request, encode_response
from engine.wire.errors import RequestHeader
from engine.wire.frame import SIZE
from engine.wire.kraft_apis import KRAFT_APIS
from engine.wire.topic_ids import with_names
from tests.unit.broker import alone

ORDERS, ID, OTHER = TopicPartition("orders", 0), UUID(int=7), UUID(int=8)
HEADER = RequestHeader(int(Api.FETCH), 13, 1, "test")
CALL = Call(HEADER, "127.0.0.1:1", apis=KRAFT_APIS)
ALONE = PartitionRegistration(1, 0, (1,), (1,), 0)


class Broker:
    def __init__(self, path, stack):
        directory = LogDirectory(path)
        stack.callback(directory.abandon)
        config = alone.config_of({})
        self.replicas = ReplicaManager(config, [directory], lambda: 0)
        self.replicas.logs.load(lambda topic: TopicConfig())
        self.metadata, self.sessions = Metadata(), FetchSessions(10, Random(1))
        self.auth = AuthHelper(None, self.metadata, Ring(), lambda: 0)
        self.session, self.epoch = 0, 0

    def has(self, id, *, log_id=None, now=ALONE):
        """The topic, in the metadata and as a log."""
        change = PartitionChange(ORDERS, id, now)
        self.metadata.apply(MetadataDelta(partitions=[change]))
        role = change._replace(topic_id=log_id or id)
        if now is not None:
            self.replicas.apply(MetadataDelta(roles=[role]))

    def fetch(self, *topics, forgotten=(), call=CALL):
        """The rows of the answer: the id of the topic, and the error."""
        request = FetchRequest(
            max_wait=timedelta(),
            min_bytes=0,
            session_id=self.session,
            session_epoch=self.epoch,
            topics=tuple(
                FetchTopic(
                    topic_id=id,
                    partitions=(
                        FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000),
                    ),
                )
                for id in topics
            ),
            forgotten_topics_data=tuple(
                ForgottenTopic(topic_id=id, partitions=(0,)) for id in forgotten
            ),
        )
        data = encode_request(HEADER, request, KRAFT_APIS)[SIZE.size :]
        _, read = decode_request(data, KRAFT_APIS, KRAFT_APIS)
        read = with_names(read, self.metadata.topic_names)
        parts = self.replicas, self.sessions, self.metadata, self.auth
        answer = asyncio.run(fetch.handle(*parts, call, read))
        self.session, self.epoch = answer.session_id, self.epoch + 1
        assert encode_response(HEADER, answer, KRAFT_APIS)  # each topic has an id
        if answer.error_code is not ErrorCode.none:
            return answer.error_code
        return {
            topic.topic_id: each.error_code
            for topic in answer.responses
            for each in topic.partitions
        }


@pytest.fixture
def broker(tmp_path):
    with ExitStack() as stack:
        yield Broker(tmp_path, stack)


def test_a_topic_is_read_by_its_id(broker):
    broker.has(ID)
    assert broker.fetch(ID, OTHER) == {ID: ErrorCode.none, OTHER: ErrorCode.unknown_topic_id}


def test_an_id_that_was_not_known_is_looked_up_again(broker):
    """The reader names the topic once; the metadata comes later."""
    assert broker.fetch(ID) == {ID: ErrorCode.unknown_topic_id}
    broker.has(ID)
    assert broker.fetch() == {ID: ErrorCode.none}


def test_the_reader_of_a_topic_that_is_made_anew_is_told(broker):
    broker.has(ID)
    broker.fetch(ID)
    broker.replicas.delete(ORDERS)
    broker.has(ID, now=None)
    broker.has(OTHER)
    assert broker.fetch() == {ID: ErrorCode.unknown_topic_id}
    assert broker.fetch(OTHER, forgotten=[ID]) == {OTHER: ErrorCode.none}


def test_a_log_of_another_topic_with_the_name(broker):
    broker.has(ID, log_id=OTHER)
    assert broker.fetch(ID) == {ID: ErrorCode.inconsistent_topic_id}


def test_a_session_has_ids_or_names_and_never_both(broker):
    broker.has(ID)
    broker.fetch(ID)
    names = CALL._replace(header=HEADER._replace(api_version=12))
    assert broker.fetch(call=names) is ErrorCode.fetch_session_topic_id_error


def test_a_request_before_13_has_names_in_both_modes():
    """What is read has the shape of version 13, and the name that came."""
    by_name = SimpleNamespace(topic="orders", partitions=(), topic_id=None)
    request = FetchRequest(
        max_wait=timedelta(), min_bytes=0, topics=(by_name,), forgotten_topics_data=()
    )
    header = HEADER._replace(api_version=12)
    data = encode_request(header, replace(request), KRAFT_APIS)[SIZE.size :]
    _, read = decode_request(data, KRAFT_APIS, KRAFT_APIS)
    assert [topic.topic for topic in read.topics] == ["orders"]


def test_a_session_knows_the_ids_of_the_partitions_that_it_has_and_no_others(broker):
    """An id is forgotten with its last partition; one that names none is not kept."""
    broker.has(ID)
    broker.fetch(ID, OTHER)
    (session,) = broker.sessions._sessions.values()
    assert set(session.topic_ids.values()) == {ID, OTHER}
    broker.fetch(forgotten=(OTHER,))
    assert session.topic_ids == {"orders": ID}
    nothing = SimpleNamespace(topic="?", topic_id=OTHER, partitions=())
    session.update(SimpleNamespace(forgotten_topics_data=(nothing,), topics=(nothing,)))
    assert (session.topic_ids, len(session._names), session._unknown) == ({"orders": ID}, 1, set())
    assert broker.fetch(OTHER) == {OTHER: ErrorCode.unknown_topic_id}
