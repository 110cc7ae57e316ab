"""What one healthy broker never answers: no leader, no controller, no disk, no ZooKeeper."""

import asyncio
import time
from collections import defaultdict
from datetime import timedelta
from types import SimpleNamespace

import pytest
from kio.schema.metadata.v11.request import MetadataRequestTopic

from engine.broker.call import Call
from engine.broker.handlers import fetch, metadata, old_versions, produce
from engine.broker.handlers.records import DeleteRecordsHandler
from engine.broker.handlers.results import TURN_S, attempt
from engine.broker.handlers.transactions import WriteTxnMarkersHandler
from engine.config.topic import TopicConfig
from engine.errors import ApiException, ErrorCode, MetadataUnavailable
from engine.metadata.delta import BrokerEndpoint, BrokerRegistration, MetadataDelta
from engine.model import TopicPartition
from engine.storage.directory import LogDirectory
from engine.storage.log import Appended
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from engine.wire.fetch import FetchAnswer, FetchedPartition, FetchedTopic
from tests.unit.broker.alone import answer, broker, topics_of, znodes_of

NO_TIME = timedelta()


def wanted(name, **more):
    asked = {"name": name, "num_partitions": 1, "replication_factor": 1}
    return SimpleNamespace(**asked, assignments=(), configs=(), **more)


def deletion(name):
    return {"topics": (SimpleNamespace(name=name, topic_id=None),), "timeout": NO_TIME}


class TestMetadata:
    def partition(self, one):
        (topic,) = answer(
            Api.METADATA, one, 11, topics=None, include_topic_authorized_operations=False
        ).topics
        (partition,) = topic.partitions
        return partition

    def test_a_leader_that_is_dead_is_none(self):
        found = self.partition(broker(brokers=(1,), topics={"orders": [(2, (2, 1))]}))
        assert found.error_code == ErrorCode.leader_not_available
        assert (found.leader_id, found.leader_epoch) == (-1, 5)
        assert (found.replica_nodes, found.offline_replicas) == ((2, 1), (2,))

    def test_many_names_let_others_be_served_and_unknown_ones_are_not_logged(self, caplog):
        names = tuple(MetadataRequestTopic(topic_id=None, name=f"t{n}") for n in range(20_000))
        request = SimpleNamespace(
            topics=names,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        one, call = broker(), Call(RequestHeader(int(Api.METADATA), 11, 1, "test"), "127.0.0.1:1")

        async def ask():
            served = 0
            asking = asyncio.create_task(metadata.handle(one.metadata, one.creation, call, request))
            while not asking.done():
                served += 1
                await asyncio.sleep(0)
            return served, asking.result()

        served, answered = asyncio.run(ask())
        assert served > 3
        codes = {topic.error_code for topic in answered.topics}
        assert codes == {ErrorCode.unknown_topic_or_partition}
        assert not caplog.records

    def test_a_replica_on_a_failed_disk_is_offline(self):
        one = broker(topics={"orders": [(1, (1,))]})
        info = one.metadata.topics["orders"]
        info.partitions[0] = info.partitions[0]._replace(offline=(1,))
        assert self.partition(one).offline_replicas == (1,)

    def test_a_partition_that_nobody_leads(self):
        found = self.partition(broker(topics={"orders": [(-1, (1,))]}))
        assert found.error_code == ErrorCode.leader_not_available

    def test_nothing_is_created_where_the_broker_forbids_it(self):
        one = broker(auto_create_topics_enable="false")
        (topic,) = answer(
            Api.METADATA,
            one,
            11,
            topics=(MetadataRequestTopic(name="orders", topic_id=None),),
            allow_auto_topic_creation=True,
            include_topic_authorized_operations=False,
        ).topics
        assert topic.error_code == ErrorCode.unknown_topic_or_partition


class TestTopics:
    def test_only_the_controller_changes_topics(self):
        one = broker(controller=2, brokers=(1, 2), topics={"orders": [(1, (1,))]})
        request = {"timeout": NO_TIME, "validate_only": False}
        growth = SimpleNamespace(name="orders", count=2, assignments=None)
        codes = [
            answer(Api.CREATE_TOPICS, one, 7, topics=(wanted("new"),), **request)
            .topics[0]
            .error_code,
            answer(Api.DELETE_TOPICS, one, 6, **deletion("orders")).responses[0].error_code,
            answer(Api.CREATE_PARTITIONS, one, 3, topics=(growth,), **request)
            .results[0]
            .error_code,
        ]
        assert codes == [ErrorCode.not_controller] * 3
        assert znodes_of(one) == {}

    def test_a_controller_that_takes_too_long(self):
        """The wish is written; it may well come true after the answer."""
        one = broker()
        made = answer(
            Api.CREATE_TOPICS, one, 7, topics=(wanted("new"),), timeout=NO_TIME, validate_only=False
        )
        assert made.topics[0].error_code == ErrorCode.request_timed_out
        assert "/brokers/topics/new" in znodes_of(one)

        one = broker(topics={"orders": [(1, (1,))]})
        gone = answer(Api.DELETE_TOPICS, one, 6, **deletion("orders"))
        assert gone.responses[0].error_code == ErrorCode.request_timed_out
        assert "/admin/delete_topics/orders" in znodes_of(one)

    @pytest.mark.parametrize(("counts", "code"), [((6000, 4000), 0), ((6000, 4001), 44)])
    def test_the_partitions_of_a_request_are_limited_in_sum(self, counts, code):
        """With validate_only, too: 10,000 topics of 10,000 partitions each have no room."""
        existing = {f"old{count}": [(1, (1,))] for count in counts}
        one, request = broker(topics=existing), {"timeout": NO_TIME, "validate_only": True}
        new = [wanted(f"new{count}") for count in counts]
        by_hand, by_count = new
        by_hand.num_partitions = by_hand.replication_factor = -1
        by_hand.assignments = tuple(
            SimpleNamespace(partition_index=number, broker_ids=(1,)) for number in range(counts[0])
        )
        by_count.num_partitions = counts[1]
        made = answer(Api.CREATE_TOPICS, one, 7, topics=tuple(new), **request)
        assert [row.error_code for row in made.topics] == [code] * 2
        more = tuple(
            SimpleNamespace(name=f"old{count}", count=1 + count, assignments=None)
            for count in counts
        )
        grown = answer(Api.CREATE_PARTITIONS, one, 3, topics=more, **request)
        assert [row.error_code for row in grown.results] == [code] * 2

    def test_a_topic_counts_as_gone_when_a_new_one_has_its_name(self):
        async def story():
            old = one.metadata.topics["orders"]
            waiting = asyncio.ensure_future(
                topics_of(one)._wait_until_deleted(old, loop_time() + 60)
            )
            await asyncio.sleep(0)
            one.metadata.topics["orders"] = type(old)("orders", None)
            one.metadata.changed()
            await waiting

        one = broker(topics={"orders": [(1, (1,))]})
        asyncio.run(story())

    @pytest.mark.parametrize(
        ("version", "code"),
        [(2, ErrorCode.invalid_request), (3, ErrorCode.topic_deletion_disabled)],
    )
    def test_deletion_can_be_forbidden(self, version, code):
        one = broker(topics={"orders": [(1, (1,))]}, delete_topic_enable="false")
        (refused,) = answer(Api.DELETE_TOPICS, one, version, **deletion("orders")).responses
        assert refused.error_code == code


class TestProduce:
    """A request with rows whose appends take longer than a turn."""

    def replicas(self, appended):
        def append(partition, batch, *, to_all):
            appended.append(partition)
            time.sleep(2 * TURN_S)
            if batch == b"bad":
                raise ApiException(ErrorCode.corrupt_message)
            return Appended(len(appended), len(appended), -1, False)

        return SimpleNamespace(
            append=append,
            partitions=defaultdict(lambda: SimpleNamespace(leader_since=0)),
            is_committed=lambda partition, offset, leader_since: True,
            logs=SimpleNamespace(log_start=lambda partition: 0),
        )

    def rows(self, *batches, **more):
        rows = tuple(SimpleNamespace(index=number, records=data) for number, data in batches)
        topic = SimpleNamespace(name="orders", partition_data=rows)
        return SimpleNamespace(topic_data=(topic,), timeout=timedelta(seconds=10), **more)

    def handle(self, replicas, request):
        call = Call(RequestHeader(int(Api.PRODUCE), 9, 1, "test"), "127.0.0.1:1")
        return produce.handle(replicas, broker().purgatory, call, request)

    @pytest.mark.parametrize("acks", [-1, 1])
    def test_each_row_has_its_own_outcome(self, acks):
        request = self.rows((0, b"bad"), (0, b"good"), (1, b"good"), acks=acks)
        answer = asyncio.run(self.handle(self.replicas([]), request))
        rows = answer.responses[0].partition_responses
        assert [(row.index, row.error_code, row.base_offset) for row in rows] == [
            (0, ErrorCode.corrupt_message, -1),
            (0, ErrorCode.none, 2),
            (1, ErrorCode.none, 3),
        ]

    @pytest.mark.parametrize(("acks", "at_first"), [(1, 1), (0, 3)])
    def test_others_are_served_between_rows_that_are_acknowledged(self, acks, at_first):
        async def story():
            appended = []
            request = self.rows(*((number, b"good") for number in range(3)), acks=acks)
            serving = asyncio.ensure_future(self.handle(self.replicas(appended), request))
            await asyncio.sleep(0)
            first = len(appended)
            await serving
            return first, len(appended)

        assert asyncio.run(story()) == (at_first, 3)

    def test_a_batch_belongs_to_the_leadership_in_which_it_was_appended(self):
        """Another broker leads partition 0 between its append and the wait, and then this one."""
        asked, replicas = [], self.replicas([])

        def is_committed(partition, offset, leader_since):
            asked.append((partition.partition, leader_since))
            return True

        async def story():
            request = self.rows((0, b"good"), (1, b"good"), acks=-1)
            serving = asyncio.ensure_future(self.handle(replicas, request))
            await asyncio.sleep(0)
            replicas.partitions[TopicPartition("orders", 0)].leader_since = 7
            await serving

        replicas.is_committed = is_committed
        asyncio.run(story())
        assert asked == [(0, 0), (1, 0)]


def loop_time():
    return asyncio.get_running_loop().time()


def test_new_partitions_go_on_where_the_first_ones_stopped():
    one = broker(brokers=(1, 2, 3), topics={"orders": [(2, (2, 3)), (3, (3, 1))]})
    growth = SimpleNamespace(name="orders", count=5, assignments=None)
    added = topics_of(one)._added(one.metadata.topics["orders"], growth)
    assert [replicas[0] for replicas in added.values()] == [1, 2, 3]
    assert {len(replicas) for replicas in added.values()} == {2}


def test_a_disk_that_failed(tmp_path):
    broken, sound = LogDirectory(tmp_path / "broken"), LogDirectory(tmp_path / "sound")
    broken.offline = "Input/output error"
    answered = answer(Api.DESCRIBE_LOG_DIRS, broker(directories=[broken, sound]), 2, topics=None)
    assert [(disk.error_code, disk.log_dir) for disk in answered.results] == [
        (ErrorCode.kafka_storage_error, str(tmp_path / "broken")),
        (ErrorCode.none, str(tmp_path / "sound")),
    ]
    for directory in (broken, sound):
        directory.abandon()


@pytest.mark.parametrize(
    ("version", "code"),
    [(5, ErrorCode.not_leader_or_follower), (6, ErrorCode.kafka_storage_error)],
)
def test_a_disk_that_failed_is_told_in_the_words_of_the_version(monkeypatch, version, code):
    async def failed(*its):
        return FetchAnswer(
            [FetchedTopic("t", [FetchedPartition(0, ErrorCode.kafka_storage_error)])]
        )

    monkeypatch.setattr(old_versions.fetch, "handle", failed)
    configs = SimpleNamespace(topic_config=lambda topic: TopicConfig())
    call = Call(RequestHeader(int(Api.FETCH), version, 1, "test"), "127.0.0.1:1")
    work = old_versions.old_fetch(*[None] * 4, configs, call, SimpleNamespace(topics=()))
    ((topic,),) = (asyncio.run(work).responses,)
    assert topic.partitions[0].error_code == code


def test_more_bytes_than_may_come_are_not_waited_for():
    """fetch.min.bytes above fetch.max.bytes."""
    request = SimpleNamespace(max_bytes=1000, min_bytes=100_000)
    replicas = SimpleNamespace(config=SimpleNamespace(fetch_max_bytes=5000))
    session = SimpleNamespace(partitions=["orders-0"])
    reading = fetch.Reading(replicas, None, None, None, session, request)
    assert not reading.is_enough
    reading._take(1000)
    assert reading.is_enough


def test_while_zookeeper_is_away_nobody_knows_what_was_done():
    async def write():
        raise MetadataUnavailable("ZooKeeper did not answer: ConnectionLoss")

    outcome = asyncio.run(attempt(write()))
    assert outcome.code == ErrorCode.request_timed_out
    assert "ConnectionLoss" in outcome.message


def test_a_bug_is_loud():
    async def write():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(attempt(write()))


def test_records_are_gone_once_the_broker_that_still_has_them_is_dead():
    """The leader may hear of a death last, when nothing of the partition changes any more."""
    one, looked = broker(brokers=(1, 2), groups=SimpleNamespace(forget=list)), []

    def low_watermark(partition, alive):
        looked.append(partition)
        return 0 if 2 in alive else 3

    replicas = SimpleNamespace(
        find=lambda partition: (None, SimpleNamespace(config=TopicConfig())),
        delete_records=lambda partition, before: before,
        low_watermark=low_watermark,
    )
    handler = DeleteRecordsHandler(one.metadata, replicas, one.purgatory)
    wanted = SimpleNamespace(partition_index=0, offset=3)
    topics = (SimpleNamespace(name="orders", partitions=(wanted,)),)
    asked = SimpleNamespace(topics=topics, timeout=timedelta(seconds=10))
    alone = BrokerRegistration(1, (BrokerEndpoint("PLAINTEXT", "127.0.0.1", 9001),))

    async def story():
        waiting = asyncio.create_task(handler.handle(None, asked))
        while not looked:
            await asyncio.sleep(0)
        assert not waiting.done()
        one.publisher.apply(MetadataDelta(brokers=[alone]))
        return await waiting

    (answered,) = asyncio.run(story()).topics
    (row,) = answered.partitions
    assert (row.error_code, row.low_watermark) == (ErrorCode.none, 3)


def test_a_marker_waits_for_its_replicas_as_long_as_request_timeout_ms_says():
    """The leader never hears of its followers: the coordinator gets an error, and asks again."""
    one, place = broker(request_timeout_ms=20), TopicPartition("orders", 0)
    replicas = SimpleNamespace(
        config=one.config,
        now=one.now,
        append=lambda *what, **how: SimpleNamespace(last_offset=3),
        partitions={place: SimpleNamespace(leader_since=0)},
        is_committed=lambda *what: False,
    )
    topics = (SimpleNamespace(name="orders", partition_indexes=(0,)),)
    marker = SimpleNamespace(
        producer_id=4000,
        producer_epoch=0,
        transaction_result=True,
        coordinator_epoch=1,
        topics=topics,
    )
    handler = WriteTxnMarkersHandler(replicas, one.purgatory, groups=None)

    async def story():
        return await asyncio.wait_for(handler.handle(None, SimpleNamespace(markers=[marker])), 10)

    (written,) = asyncio.run(story()).markers
    (row,) = written.topics[0].partitions
    assert row.error_code == ErrorCode.request_timed_out
