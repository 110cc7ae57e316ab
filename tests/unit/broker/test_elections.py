"""Elections and reassignments: from a request's bytes to the controller's event, and back."""

import asyncio
from datetime import timedelta

import pytest

from engine.broker.call import Call
from engine.broker.dispatch import handlers_of
from engine.controller.events import AlterReassignments, ElectLeaders, ListReassignments
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.codec import (
    decode_request,
    decode_response,
    encode_request,
    message,
)
from engine.wire.errors import RequestHeader
from engine.zookeeper.znodes import ReplicaAssignment
from tests.interop.plain import build
from tests.unit.broker.alone import broker
from tests.unit.wire.frames import encode_response

SIZE = 4  # bytes in front of a frame
SOON, LATE = timedelta(milliseconds=30), timedelta(seconds=60)
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
NAMED = [{"topic": "a", "partitions": (1, 0)}, {"topic": "b", "partitions": (0,)}]
NOT_NEEDED = ApiException(ErrorCode.election_not_needed, "no need")
DEAD = ApiException(ErrorCode.preferred_leader_not_available, "the first one is dead")
ELSEWHERE = ApiException(ErrorCode.not_controller, "the controller is broker 2")


class Controlling:
    """A controller that answers each event with what the test says; with nothing, never.

    An error is raised if this broker is not the controller. It is the answer if it ceases to be it.
    """

    def __init__(self, result, *, resigns=False, slow=False):
        self.events = []
        self._turns = 3 if slow else 0  # of the loop, until it answers
        self._result = result
        self._resigns = resigns

    async def ask(self, event):
        self.events.append(event)
        if self._result is None:
            await asyncio.Event().wait()
        for _ in range(self._turns):
            await asyncio.sleep(0)
        if isinstance(self._result, ApiException) and not self._resigns:
            raise self._result
        return self._result


def lab(result, **more):
    """Broker 1 of three; 2 should lead the partitions of a and b, and leads those of a."""
    topics = {"a": [(2, (2, 1)), (2, (2, 3))], "b": [(1, (2, 1))]}
    one = broker(brokers=(1, 2, 3), topics=topics)
    one.gateway.controller_service = Controlling(result, **more)
    return one


async def answered(one, api, version, **fields):
    """All the way: a request's bytes in, the response's bytes out."""
    header = RequestHeader(int(api), version, 7, "test")
    request = build(message(api, version, "request"), {"timeout": LATE} | fields)
    handlers = handlers_of(one, {})
    seen, decoded = decode_request(encode_request(header, request)[SIZE:], handlers)
    response = await handlers[api](Call(seen, "127.0.0.1:1"), decoded)
    return decode_response(header, encode_response(header, response)[SIZE:])


def ask(one, api, version=0, **fields):
    return asyncio.run(answered(one, api, version, **fields))


def elected(response):
    return {
        TopicPartition(topic.topic, each.partition_id): (each.error_code, each.error_message)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


class TestElectLeaders:
    def elect(self, one, version=2, partitions=NAMED, **more):
        return elected(ask(one, Api.ELECT_LEADERS, version, topic_partitions=partitions, **more))

    @pytest.mark.parametrize("version", range(3))
    def test_each_partition_has_its_own_outcome(self, version):
        one = lab({A0: None, A1: NOT_NEEDED, B0: DEAD})
        assert self.elect(one, version) == {
            A0: (ErrorCode.none, None),
            A1: (ErrorCode.election_not_needed, "no need"),
            B0: (ErrorCode.preferred_leader_not_available, "the first one is dead"),
        }
        assert one.gateway.controller_service.events == [
            ElectLeaders(frozenset({A0, A1, B0}), unclean=False)
        ]

    @pytest.mark.parametrize("version", [1, 2])
    def test_an_unclean_election_must_be_asked_for(self, version):
        one = lab({A0: None, A1: None, B0: None})
        assert set(self.elect(one, version, election_type=1).values()) == {(ErrorCode.none, None)}
        assert one.gateway.controller_service.events == [
            ElectLeaders(frozenset({A0, A1, B0}), unclean=True)
        ]

    def test_of_all_partitions_those_are_left_out_that_need_nothing(self):
        one = lab({A0: None, A1: NOT_NEEDED, B0: DEAD})
        assert self.elect(one, partitions=None).keys() == {A0, B0}
        assert one.gateway.controller_service.events == [ElectLeaders(None, unclean=False)]

    @pytest.mark.parametrize("resigns", [False, True])
    @pytest.mark.parametrize("partitions", [NAMED, None])
    @pytest.mark.parametrize("version", range(3))
    def test_who_is_not_the_controller_says_so_of_each(self, version, partitions, resigns):
        refused = (ErrorCode.not_controller, "the controller is broker 2")
        outcomes = self.elect(lab(ELSEWHERE, resigns=resigns), version, partitions)
        assert outcomes == dict.fromkeys([A0, A1, B0], refused)

    def test_an_election_of_no_known_kind(self):
        one = lab({})
        outcomes = self.elect(one, election_type=2)
        assert outcomes[A0] == (ErrorCode.invalid_request, "There is no election type 2")
        assert outcomes.keys() == {A0, A1, B0}
        assert one.gateway.controller_service.events == []

    @pytest.mark.parametrize(
        ("kind", "before", "after"), [(0, 1, 2), (1, -1, 3)], ids=["preferred", "unclean"]
    )
    def test_it_is_answered_when_this_broker_has_heard_of_the_leader(self, kind, before, after):
        """For a preferred election that is the first replica, and nobody else."""

        async def story():
            one = lab({B0: None})
            partitions = one.metadata.topics["b"].partitions
            partitions[0] = partitions[0]._replace(leader=before)
            asked = {"topic_partitions": NAMED, "election_type": kind}
            waiting = asyncio.ensure_future(answered(one, Api.ELECT_LEADERS, 2, **asked))
            for leader in (before, after):
                await asyncio.sleep(0.01)
                assert not waiting.done()
                partitions[0] = partitions[0]._replace(leader=leader)
                one.metadata.changed()
            assert elected(await waiting) == {B0: (ErrorCode.none, None)}

        asyncio.run(story())

    def test_a_leader_that_is_not_heard_of_in_time(self):
        """What else came of the request is told all the same."""
        outcomes = self.elect(lab({A0: None, A1: NOT_NEEDED, B0: None}), timeout=SOON)
        assert {partition: code for partition, (code, _) in outcomes.items()} == {
            A0: ErrorCode.none,
            A1: ErrorCode.election_not_needed,
            B0: ErrorCode.request_timed_out,
        }

    def test_a_topic_that_is_deleted_meanwhile(self):
        gone = TopicPartition("gone", 0)
        assert self.elect(lab({gone: None}), timeout=SOON)[gone][0] == ErrorCode.request_timed_out

    def test_a_controller_that_does_not_come_to_it(self):
        one = lab(None)
        outcomes = self.elect(one, timeout=SOON)
        assert {code for code, _ in outcomes.values()} == {ErrorCode.request_timed_out}
        assert len(one.gateway.controller_service.events) == 1

    def test_none_at_all(self):
        assert self.elect(lab({}), partitions=[]) == {}


class TestAlterPartitionReassignments:
    MOVES = (
        {
            "name": "a",
            "partitions": [
                {"partition_index": 1, "replicas": (3, 1)},
                {"partition_index": 0, "replicas": None},
            ],
        },
        {"name": "b", "partitions": [{"partition_index": 0, "replicas": ()}]},
    )

    def alter(self, one, **more):
        return ask(one, Api.ALTER_PARTITION_REASSIGNMENTS, topics=self.MOVES, **more)

    def test_each_partition_has_its_own_outcome(self):
        no_move = ApiException(ErrorCode.no_reassignment_in_progress, "nothing to cancel")
        empty = ApiException(ErrorCode.invalid_replica_assignment, "no replicas")
        one = lab({A1: None, B0: empty, A0: no_move})
        response = self.alter(one)
        assert one.gateway.controller_service.events == [
            AlterReassignments({A1: (3, 1), A0: None, B0: ()})
        ]
        assert (response.error_code, response.error_message) == (ErrorCode.none, None)
        assert {
            (topic.name, each.partition_index): (each.error_code, each.error_message)
            for topic in response.responses
            for each in topic.partitions
        } == {
            A0: (ErrorCode.no_reassignment_in_progress, "nothing to cancel"),
            A1: (ErrorCode.none, None),
            B0: (ErrorCode.invalid_replica_assignment, "no replicas"),
        }
        assert [topic.name for topic in response.responses] == ["a", "b"]

    @pytest.mark.parametrize("resigns", [False, True])
    def test_who_is_not_the_controller_says_so_once(self, resigns):
        response = self.alter(lab(ELSEWHERE, resigns=resigns))
        assert response.error_code == ErrorCode.not_controller
        assert response.error_message == "the controller is broker 2"
        assert response.responses == ()

    def test_a_controller_that_does_not_come_to_it(self):
        assert self.alter(lab(None), timeout=SOON).error_code == ErrorCode.request_timed_out


class TestListPartitionReassignments:
    def list(self, one, topics=None, **more):
        return ask(one, Api.LIST_PARTITION_REASSIGNMENTS, topics=topics, **more)

    def test_all_that_is_under_way(self):
        one = lab(
            {B0: ReplicaAssignment((2, 1, 3), (3,), (1,)), A1: ReplicaAssignment((2, 3), (), (3,))}
        )
        response = self.list(one)
        assert one.gateway.controller_service.events == [ListReassignments(None)]
        assert (response.error_code, response.error_message) == (ErrorCode.none, None)
        assert {
            (topic.name, each.partition_index): (
                each.replicas,
                each.adding_replicas,
                each.removing_replicas,
            )
            for topic in response.topics
            for each in topic.partitions
        } == {B0: ((2, 1, 3), (3,), (1,)), A1: ((2, 3), (), (3,))}

    def test_some_partitions(self):
        one = lab({})
        wanted = [{"name": "a", "partition_indexes": (0, 1)}, {"name": "b"}]
        assert self.list(one, wanted).topics == ()
        assert one.gateway.controller_service.events == [ListReassignments(frozenset({A0, A1}))]

    def test_who_is_not_the_controller_says_so_once(self):
        response = self.list(lab(ELSEWHERE))
        assert (response.error_code, response.topics) == (ErrorCode.not_controller, ())

    def test_the_time_out_is_ignored(self):
        """kafka-python, for one, sends 0."""
        one = lab({A1: ReplicaAssignment((2, 3), (), (3,))}, slow=True)
        (topic,) = self.list(one, timeout=timedelta(0)).topics
        assert topic.name == "a"
