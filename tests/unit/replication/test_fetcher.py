"""A follower's conversation with one leader: what it asks, what it makes of the answers."""

from types import SimpleNamespace

import pytest
from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.list_offsets.v6.request import ListOffsetsRequest
from kio.schema.offset_for_leader_epoch.v4.request import OffsetForLeaderEpochRequest

from engine.broker.zookeeper.roles import change_roles
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.follower_partition import STAGES, Stage, StageChange
from tests.unit.replication.cluster import LAG_MS, ORDERS, batch, order, state, values
from tests.unit.storage.older import message

BACKOFF_MS = 1000  # replica.fetch.backoff.ms


def named(request):
    return [(topic.topic, each.partition) for topic in request.topics for each in topic.partitions]


def forgotten(request):
    return [
        (topic.topic, number)
        for topic in request.forgotten_topics_data
        for number in topic.partitions
    ]


class Talk:
    """Follower 2 and leader 1, with as many partitions as a test wants."""

    def __init__(self, cluster, topics=("orders",)):
        self.cluster = cluster
        self.partitions = [TopicPartition(topic, 0) for topic in topics]
        self.lead(0)

    def lead(self, epoch, *partitions):
        rows = {each: state(1, epoch, (1, 2), (1, 2)) for each in partitions or self.partitions}
        for number in (1, 2):
            change_roles(self.cluster[number].replicas.apply, order(rows))

    @property
    def fetcher(self):
        return self.cluster[2].replicas.fetchers[1]

    def append(self, topic="orders"):
        partition = TopicPartition(topic, 0)
        self.cluster[1].replicas.append(partition, batch("x"), to_all=False)

    def ask(self):
        return self.fetcher.next(self.cluster.now)

    def answer(self, request, response=None):
        response = response or self.cluster[1].serve(request)
        self.fetcher.answered(request, response, self.cluster.now)
        return response

    def round(self):
        request = self.ask()
        self.answer(request)
        return request

    def refuse(self, request, code, topic="orders"):
        """An answer to Fetch with an error for one partition, and nothing for the others."""
        row = SimpleNamespace(partition_index=0, error_code=ErrorCode(code), records=b"")
        response = self.cluster[1].serve(request)
        response.responses = [SimpleNamespace(topic=topic, partitions=[row])]
        self.fetcher.answered(request, response, self.cluster.now)

    def following(self, topic="orders"):
        return self.fetcher.following[TopicPartition(topic, 0)]


@pytest.fixture
def talk(cluster):
    return Talk(cluster)


class TestSession:
    @pytest.fixture
    def talk(self, cluster):
        return Talk(cluster, "abc")

    def test_a_request_names_what_has_changed(self, talk):
        first = talk.round()
        assert (first.session_id, first.session_epoch) == (0, 0)
        assert named(first) == [("a", 0), ("b", 0), ("c", 0)]
        talk.append("b")
        second = talk.round()  # gets it
        assert second.session_id != 0
        assert (second.session_epoch, named(second)) == (1, [])
        third = talk.round()  # says so
        assert (third.session_epoch, named(third)) == (2, [("b", 0)])
        assert third.topics[0].partitions[0].fetch_offset == 1
        assert named(talk.round()) == []

    def test_what_is_followed_no_more_is_forgotten(self, talk):
        talk.round()
        gone = TopicPartition("b", 0)
        row = {gone: state(2, 1, (2,), (1, 2))}
        change_roles(talk.cluster[2].replicas.apply, order(row))
        request = talk.round()
        assert (named(request), forgotten(request)) == ([], [("b", 0)])
        request = talk.round()
        assert (named(request), forgotten(request)) == ([], [])

    def test_after_a_failure_it_begins_anew_and_closes_the_old_one(self, talk):
        talk.round()
        session = talk.ask().session_id
        talk.fetcher.failed(talk.cluster.now)
        talk.cluster.now += BACKOFF_MS
        request = talk.round()
        assert (request.session_id, request.session_epoch) == (session, 0)
        assert len(named(request)) == 3
        assert len(talk.cluster[1].sessions) == 1

    def test_a_leader_that_has_forgotten_the_session(self, talk):
        talk.round()
        talk.cluster[1].sessions._sessions.clear()
        talk.round()
        request = talk.round()
        assert (request.session_id, request.session_epoch, len(named(request))) == (0, 0, 3)

    def test_a_session_that_is_refused_again_and_again_is_not_hammered(self, talk):
        refusal = SimpleNamespace(error_code=ErrorCode.invalid_fetch_session_epoch)
        talk.answer(talk.ask(), refusal)
        assert talk.ask() is None
        assert talk.fetcher.due() > talk.cluster.now

    def test_a_leader_that_keeps_no_sessions(self, talk):
        for _ in range(2):
            request = talk.ask()
            response = talk.cluster[1].serve(request)
            response.session_id = 0
            talk.answer(request, response)
            assert (request.session_epoch, len(named(request))) == (0, 3)

    def test_hundreds_of_idle_ones_cost_nothing(self, build):
        talk = Talk(build(2), [f"t{number}" for number in range(300)])
        talk.round()
        talk.append("t150")
        asked = [talk.round() for _ in range(5)]
        assert [named(request) for request in asked] == [[], [("t150", 0)], [], [], []]


class TestTrouble:
    def test_one_request_at_a_time(self, talk):
        assert talk.ask() is not None
        assert talk.ask() is None
        assert talk.fetcher.due() is None

    @pytest.mark.parametrize("code", [3, 6, 75, 56])
    def test_it_rests_longer_each_time(self, talk, code):
        rests = []
        for _ in range(8):
            request = talk.ask()
            talk.refuse(request, code)
            assert talk.ask() is None
            rests.append(talk.fetcher.due() - talk.cluster.now)
            talk.cluster.now += rests[-1]
        assert rests == [31, 62, 125, 250, 500, 1000, 1000, 1000]
        talk.round()
        talk.refuse(talk.ask(), code)
        assert talk.fetcher.due() - talk.cluster.now == 31

    def test_one_that_rests_does_not_stop_the_others(self, cluster):
        talk = Talk(cluster, "ab")
        talk.refuse(talk.ask(), 6, "a")
        request = talk.round()
        assert (named(request), forgotten(request)) == ([], [("a", 0)])
        talk.cluster.now += 31
        assert named(talk.round()) == [("a", 0)]

    def test_fenced_it_waits_to_be_told(self, talk):
        talk.refuse(talk.ask(), 74)
        talk.cluster.now += 10 * BACKOFF_MS
        assert (talk.following().stage, talk.fetcher.due()) == (Stage.WAITING, None)
        assert talk.ask() is None
        talk.lead(1)
        assert talk.ask() is not None

    def test_a_leader_that_is_not_reached(self, talk):
        rests = []
        for _ in range(7):
            assert talk.ask() is not None
            talk.fetcher.failed(talk.cluster.now)
            assert talk.ask() is None
            rests.append(talk.fetcher.due() - talk.cluster.now)
            talk.cluster.now += rests[-1]
        assert rests == [31, 62, 125, 250, 500, 1000, 1000]

    def test_a_corrupt_batch_is_fetched_again(self, talk):
        talk.append()
        request = talk.ask()
        response = talk.cluster[1].serve(request)
        data = response.responses[0].partitions[0]
        data.records = data.records[:-1] + bytes([data.records[-1] ^ 1])
        talk.answer(request, response)
        assert talk.cluster[2].log.end_offset == 0
        assert talk.ask() is None
        talk.cluster.now += 31
        talk.round()
        assert talk.cluster[2].log.end_offset == 1

    def test_the_other_partitions_of_a_corrupt_answer_are_stored(self, cluster):
        talk = Talk(cluster, "ab")
        talk.append("a")
        talk.append("b")
        request = talk.ask()
        response = talk.cluster[1].serve(request)
        response.responses[0].partitions[0].records = b"\0" * 100
        talk.answer(request, response)
        logs = talk.cluster[2].directory.logs
        assert [logs[TopicPartition(topic, 0)].end_offset for topic in "ab"] == [0, 1]

    def test_what_cannot_be_read_waits_alone(self, cluster):
        """A leader with batches of an older format: only this partition waits, and it is told."""
        talk = Talk(cluster, "ab")
        talk.append("b")
        request = talk.ask()
        response = talk.cluster[1].serve(request)
        response.responses[0].partitions[0].records = message(1, 0)
        talk.answer(request, response)
        follower = talk.cluster[2]
        logs, following = follower.directory.logs, talk.fetcher.following
        assert [logs[TopicPartition(topic, 0)].end_offset for topic in "ab"] == [0, 1]
        stages = [following[TopicPartition(topic, 0)].stage for topic in "ab"]
        assert stages == [Stage.WAITING, Stage.FETCHING]
        (told,) = follower.has("log.refused")
        assert (told["topic"], told["offset"]) == ("a", 0)
        assert "magic 1" in told["reason"]
        assert follower.directory.failed == {}

    def test_a_disk_that_fails(self, talk):
        talk.append()
        request = talk.ask()
        response = talk.cluster[1].serve(request)
        talk.cluster[2].directory.offline = "Input/output error"
        talk.answer(request, response)
        assert talk.following().stage is Stage.WAITING
        assert talk.fetcher.due() is None

    def test_a_batch_that_is_cut_off_is_left_for_later(self, talk):
        talk.append()
        talk.append()
        request = talk.ask()
        response = talk.cluster[1].serve(request)
        data = response.responses[0].partitions[0]
        data.records = data.records[:-7]
        talk.answer(request, response)
        assert talk.cluster[2].log.end_offset == 1
        talk.round()
        assert talk.cluster[2].values == ["x", "x"]


def test_records_for_another_log_end_are_not_copied(talk):
    """The answer is late: its topic was deleted, and a new one has its name, leader and epoch."""
    talk.append()
    talk.round()
    talk.append()
    request = talk.ask()
    late = talk.cluster[1].serve(request)
    talk.following().log.restart_at(0, talk.cluster.now)
    talk.answer(request, late)
    assert talk.cluster[2].log.end_offset == 0


def test_a_follower_knows_nothing_committed_beyond_its_own_end(build):
    talk = Talk(build(2, {"replica.fetch.max.bytes": "1"}))
    for _ in range(3):
        talk.append()
    talk.cluster[1].partition.high_watermark = 3
    seen = []
    for _ in range(3):
        talk.round()
        seen.append((talk.cluster[2].log.end_offset, talk.cluster[2].partition.high_watermark))
    assert seen == [(1, 1), (2, 2), (3, 3)]


class TestOutOfRange:
    def kinds(self, talk):
        """What is asked until there is nothing more to do but to fetch."""
        asked = []
        for _ in range(6):
            request = talk.round()
            asked.append(type(request))
            if isinstance(request, FetchRequest) and asked[:-1] and asked[-2] is FetchRequest:
                return asked[:-1]
        return asked

    def test_the_leader_has_deleted_what_comes_next(self, talk):
        talk.append()
        talk.round()
        talk.round()
        for _ in range(3):
            talk.append()
        leader = talk.cluster[1].log
        talk.cluster[1].partition.high_watermark = 4
        talk.cluster[1].replicas.delete_records(ORDERS, 3)
        assert self.kinds(talk)[:4] == [
            FetchRequest,
            ListOffsetsRequest,  # where do you end?
            ListOffsetsRequest,  # and start?
            FetchRequest,
        ]
        log = talk.cluster[2].log
        assert (log.start_offset, log.end_offset) == (3, 4) == (3, leader.end_offset)
        assert log.epochs.entries == [(0, 3)]
        assert talk.cluster[2].has("log.truncated")[-1]["end_offset"] == 3

    def test_the_leader_has_less(self, talk):
        """Only after an unclean election, and only if no epoch told so."""
        for _ in range(3):
            talk.append()
        talk.round()
        talk.cluster[1].log.truncate(1, talk.cluster.now)
        assert self.kinds(talk)[:3] == [FetchRequest, ListOffsetsRequest, FetchRequest]
        assert talk.cluster[2].log.end_offset == 1

    def test_by_the_time_it_asks_all_is_well(self, talk):
        talk.append()
        request = talk.ask()
        talk.refuse(request, 1)
        assert talk.following().stage is Stage.SEEKING_END
        assert [type(talk.round()) for _ in range(3)] == [ListOffsetsRequest] * 2 + [FetchRequest]
        assert talk.cluster[2].log.end_offset == 1

    def test_the_leader_starts_within_a_batch(self, build):
        talk = Talk(build(2))
        data = batch("a", "b", "c")
        talk.cluster[1].replicas.append(ORDERS, data, to_all=False)
        talk.cluster[1].partition.high_watermark = 3
        talk.cluster[1].replicas.delete_records(ORDERS, 2)
        for _ in range(6):
            talk.round()
        log = talk.cluster[2].log
        assert (log.start_offset, log.end_offset) == (2, 3)
        assert values(log) == ["a", "b", "c"]


class TestEpochs:
    def test_who_has_records_asks_first_where_their_epoch_ended(self, talk):
        talk.append()
        talk.round()
        talk.lead(1)
        request = talk.ask()
        assert isinstance(request, OffsetForLeaderEpochRequest)
        (asked,) = request.topics[0].partitions
        assert (request.replica_id, asked.current_leader_epoch, asked.leader_epoch) == (2, 1, 0)
        talk.answer(request)
        assert isinstance(talk.ask(), FetchRequest)

    def test_the_leader_has_not_heard_of_its_election(self, talk):
        talk.append()
        talk.round()
        row = {ORDERS: state(1, 1, (1, 2), (1, 2))}
        change_roles(talk.cluster[2].replicas.apply, order(row))
        talk.round()
        assert talk.following().stage is Stage.TRUNCATING
        assert talk.ask() is None
        change_roles(talk.cluster[1].replicas.apply, order(row))
        talk.cluster.now += 31
        talk.round()
        assert talk.following().stage is Stage.FETCHING

    def test_an_old_leader_is_asked_no_more(self, talk):
        talk.append()
        talk.round()
        row = {ORDERS: state(1, 1, (1, 2), (1, 2))}
        change_roles(talk.cluster[1].replicas.apply, order(row))
        talk.round()
        assert talk.following().stage is Stage.WAITING

    def test_every_stage_leads_somewhere(self):
        assert {stage for stage, _ in STAGES} == set(STAGES.values()) == set(Stage)
        assert {change for _, change in STAGES} == set(StageChange)


def test_a_follower_catches_up_and_is_back_in_sync(cluster):
    cluster.elect(1)
    cluster.produce("a")
    cluster.settle()
    cluster.kill(3)
    cluster.produce("b")
    cluster.fetch(2)
    cluster.fetch(2)
    cluster.now += LAG_MS + 1
    cluster.fetch(2)
    cluster[1].replicas.tick()
    cluster.write()
    assert (cluster.isr, cluster[1].partition.high_watermark) == ((1, 2), 2)
    cluster.start(3)
    cluster.settle()
    assert (cluster.isr, cluster[3].values) == ((1, 2, 3), ["a", "b"])
