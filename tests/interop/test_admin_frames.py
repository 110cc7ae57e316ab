"""What stock clients can't say, and every version: frames on a raw socket, to a real broker."""

import socket
import struct
from datetime import timedelta
from itertools import count
from uuid import UUID

import pytest

from engine.broker.dispatch import HANDLERS
from engine.cluster.cluster import HOST, Cluster
from engine.errors import ErrorCode
from engine.wire import schema
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request, message
from engine.wire.errors import RequestHeader

TEN_SECONDS = timedelta(seconds=10)
TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

_numbers = count()


@pytest.fixture(scope="module")
def cluster():
    with Cluster(config={"num.partitions": "2"}) as cluster:
        yield cluster


@pytest.fixture
def topic():
    """A name that no other test has."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def ask(cluster):
    """Send a request as plain values, get the response in the newest shape."""
    host, _, port = cluster.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:

        def ask(api, version=None, **fields):
            header = RequestHeader(api, api.newest if version is None else version, 1, "test")
            request = build(message(api, header.api_version, "request"), fields)
            connection.sendall(encode_request(header, request))
            return decode_response(header, frame(connection))

        yield ask


def frame(connection):
    with connection.makefile("rb") as stream:
        (size,) = struct.unpack(">i", stream.read(4))
        return stream.read(size)


def build(kind, values):
    """A message from dictionaries and lists; what is not given has its default."""
    assert values.keys() <= {field.name for field in schema.fields(kind)}
    given = {field.name: values.get(field.name, field.default) for field in schema.fields(kind)}
    for field in schema.fields(kind):
        if not isinstance(field.type, str) and given[field.name]:
            given[field.name] = tuple(build(field.type, item) for item in given[field.name])
    return kind(**given)


def create(ask, *topics, version=7, timeout=TEN_SECONDS, validate_only=False):
    defaults = {"num_partitions": 1, "replication_factor": 1}
    topics = [defaults | topic for topic in topics]
    return ask(
        Api.CREATE_TOPICS, version, topics=topics, timeout=timeout, validate_only=validate_only
    ).topics


def names_of(answer):
    return {topic.name for topic in answer.topics}


class TestApiVersions:
    @pytest.mark.parametrize("version", range(4))
    def test_it_tells_what_is_served(self, ask, version):
        software = {"client_software_name": "kcat", "client_software_version": "1.7.0-rc.1"}
        answer = ask(Api.API_VERSIONS, version, **(software if version == 3 else {}))
        assert answer.error_code == ErrorCode.none
        assert [row.api_key for row in answer.api_keys] == sorted(HANDLERS)
        rows = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
        assert rows[Api.FETCH] == (4, 12)
        assert rows[Api.API_VERSIONS] == (0, 3)

    @pytest.mark.parametrize("name", ["", "-kcat", "a b", "ká"])
    def test_a_client_must_have_a_plain_name(self, ask, name):
        software = {"client_software_name": name, "client_software_version": "1"}
        assert ask(Api.API_VERSIONS, 3, **software).error_code == ErrorCode.invalid_request

    def test_a_version_from_the_future_is_answered_in_version_0(self, cluster):
        port = int(cluster.bootstrap.rpartition(":")[2])
        with socket.create_connection((HOST, port), timeout=20) as connection:
            body = struct.pack(">hhih", Api.API_VERSIONS, 9, 77, -1) + b"\x00anything"
            connection.sendall(struct.pack(">i", len(body)) + body)
            assert frame(connection) == struct.pack(
                ">ihihhh", 77, ErrorCode.unsupported_version, 1, Api.API_VERSIONS, 0, 3
            )


class TestMetadata:
    @pytest.mark.parametrize("version", range(12))
    def test_every_version_tells_who_leads(self, ask, cluster, topic, version):
        create(ask, {"name": topic})
        answer = ask(Api.METADATA, version, topics=[{"name": topic}])
        (broker,) = answer.brokers
        assert f"{broker.host}:{broker.port}" == cluster.bootstrap
        (found,) = answer.topics
        assert (found.error_code, found.name, found.is_internal) == (0, topic, False)
        (partition,) = found.partitions
        assert (partition.error_code, partition.leader_id) == (0, 1)
        assert (partition.replica_nodes, partition.isr_nodes) == ((1,), (1,))
        assert (found.topic_id is not None) == (version >= 10)
        assert (answer.controller_id == 1) == (version >= 1)

    def test_all_topics_or_none(self, ask, topic):
        create(ask, {"name": topic})
        assert topic in names_of(ask(Api.METADATA, 0, topics=[]))
        assert topic in names_of(ask(Api.METADATA, 1, topics=None))
        assert ask(Api.METADATA, 1, topics=[]).topics == ()

    def test_a_new_name_is_on_its_way(self, ask, topic):
        (coming,) = ask(Api.METADATA, 1, topics=[{"name": topic}]).topics
        assert coming.error_code == ErrorCode.leader_not_available
        (again,) = create(ask, {"name": topic})
        assert again.error_code == ErrorCode.topic_already_exists

    def test_a_new_name_that_may_not_be_created(self, ask, topic):
        asked = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        for _ in range(2):
            (answer,) = ask(Api.METADATA, 4, **asked).topics
            assert answer.error_code == ErrorCode.unknown_topic_or_partition

    @pytest.mark.parametrize("name", ["", "..", "a/b", "x" * 250, "naïve", "a\x00b"])
    def test_names_that_cannot_be(self, ask, name):
        for allowed in (True, False):
            asked = {"topics": [{"name": name}], "allow_auto_topic_creation": allowed}
            (answer,) = ask(Api.METADATA, **asked).topics
            assert (answer.error_code, answer.name) == (ErrorCode.invalid_topic_exception, name)

    def test_a_name_too_like_another(self, ask):
        create(ask, {"name": "too.like"})
        (answer,) = ask(Api.METADATA, topics=[{"name": "too_like"}]).topics
        assert answer.error_code == ErrorCode.invalid_topic_exception

    def test_an_internal_topic_has_its_own_replication_factor(self, ask):
        (answer,) = ask(Api.METADATA, topics=[{"name": "__consumer_offsets"}]).topics
        assert answer.error_code == ErrorCode.invalid_replication_factor
        assert answer.is_internal

    def test_by_id(self, ask):
        (answer,) = ask(Api.METADATA, 10, topics=[{"name": "x", "topic_id": UUID(int=7)}]).topics
        assert answer.error_code == ErrorCode.invalid_request
        (answer,) = ask(Api.METADATA, 10, topics=[{"name": None}]).topics
        assert (answer.error_code, answer.name) == (ErrorCode.invalid_request, "")

    def test_what_one_may_do(self, ask, topic):
        create(ask, {"name": topic})
        asked = {"topics": [{"name": topic}], "include_topic_authorized_operations": True}
        answer = ask(Api.METADATA, 8, **asked, include_cluster_authorized_operations=True)
        assert answer.topics[0].topic_authorized_operations == 0b110111111000
        assert answer.cluster_authorized_operations == 0b1111110100000
        answer = ask(Api.METADATA, 8, topics=[{"name": topic}])
        assert answer.topics[0].topic_authorized_operations == -(2**31)
        assert answer.cluster_authorized_operations == -(2**31)

    def test_describe_cluster(self, ask, cluster):
        answer = ask(Api.DESCRIBE_CLUSTER, include_cluster_authorized_operations=True)
        assert (answer.error_code, answer.controller_id) == (0, 1)
        assert [f"{each.host}:{each.port}" for each in answer.brokers] == [cluster.bootstrap]
        assert answer.cluster_id == ask(Api.METADATA, topics=[]).cluster_id
        assert answer.cluster_authorized_operations == 0b1111110100000
        silent = ask(Api.DESCRIBE_CLUSTER)
        assert silent.cluster_authorized_operations == -(2**31)


class TestTopics:
    @pytest.mark.parametrize("version", range(2, 8))
    def test_create_in_every_version(self, ask, topic, version):
        configs = [{"name": "retention.ms", "value": "1000"}]
        (made,) = create(ask, {"name": topic, "configs": configs}, version=version)
        assert (made.error_code, made.error_message) == (0, None)
        if version >= 5:
            assert (made.num_partitions, made.replication_factor) == (1, 1)
            values = {each.name: (each.value, each.config_source) for each in made.configs}
            assert values["retention.ms"] == ("1000", 1)
            assert values["cleanup.policy"] == ("delete", 5)
        if version == 7:
            (found,) = ask(Api.METADATA, topics=[{"name": topic}]).topics
            assert made.topic_id == found.topic_id is not None

    def test_counts_that_are_not_given(self, ask, topic):
        (made,) = create(ask, {"name": topic, "num_partitions": -1, "replication_factor": -1})
        assert (made.num_partitions, made.replication_factor) == (2, 1)

    @pytest.mark.parametrize(
        ("wrong", "code"),
        [
            ({"name": "a b"}, ErrorCode.invalid_topic_exception),
            ({"num_partitions": 0}, ErrorCode.invalid_partitions),
            ({"replication_factor": 99}, ErrorCode.invalid_replication_factor),
            ({"replication_factor": 0}, ErrorCode.invalid_replication_factor),
            ({"configs": [{"name": "retention.mss", "value": "1"}]}, ErrorCode.invalid_config),
            ({"configs": [{"name": "retention.ms", "value": "x"}]}, ErrorCode.invalid_config),
            ({"configs": [{"name": "retention.ms", "value": None}]}, ErrorCode.invalid_request),
            (
                {"assignments": [{"partition_index": 0, "broker_ids": [1]}]},
                ErrorCode.invalid_request,
            ),
            (
                {
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "assignments": [{"partition_index": 1, "broker_ids": [1]}],
                },
                ErrorCode.invalid_replica_assignment,
            ),
        ],
    )
    def test_what_cannot_be_created(self, ask, topic, wrong, code):
        good = f"{topic}-good"
        answers = create(ask, {"name": topic} | wrong, {"name": good})
        assert [answer.error_code for answer in answers] == [code, 0]
        assert answers[0].error_message
        assert answers[0].configs == ()
        assert topic not in names_of(ask(Api.METADATA, topics=None))

    def test_a_topic_named_twice(self, ask, topic):
        answers = create(ask, {"name": topic}, {"name": topic})
        assert [answer.error_code for answer in answers] == [ErrorCode.invalid_request] * 2

    def test_no_time_at_all(self, ask, topic):
        (answer,) = create(ask, {"name": topic}, timeout=timedelta())
        assert answer.error_code == ErrorCode.request_timed_out
        (again,) = create(ask, {"name": topic})
        assert again.error_code == ErrorCode.topic_already_exists

    @pytest.mark.parametrize("version", range(1, 7))
    def test_delete_in_every_version(self, ask, topic, version):
        create(ask, {"name": topic})
        names = [topic, "nobody"]
        asked = (
            {"topics": [{"name": name} for name in names]}
            if version == 6
            else {"topic_names": names}
        )
        gone, unknown = ask(Api.DELETE_TOPICS, version, timeout=TEN_SECONDS, **asked).responses
        assert (gone.name, gone.error_code) == (topic, 0)
        assert (unknown.name, unknown.error_code) == (
            "nobody",
            ErrorCode.unknown_topic_or_partition,
        )
        assert topic not in names_of(ask(Api.METADATA, topics=None))

    def test_delete_by_id(self, ask, topic):
        (made,) = create(ask, {"name": topic})
        wanted = [{"topic_id": made.topic_id}, {"topic_id": UUID(int=7)}]
        wanted.append({"name": topic, "topic_id": made.topic_id})
        gone, unknown, both = ask(Api.DELETE_TOPICS, topics=wanted, timeout=TEN_SECONDS).responses
        assert (gone.name, gone.topic_id, gone.error_code) == (topic, made.topic_id, 0)
        assert (unknown.name, unknown.error_code) == (None, ErrorCode.unknown_topic_id)
        assert both.error_code == ErrorCode.invalid_request

    def grow(self, ask, topic, version=3, **wanted):
        (answer,) = ask(
            Api.CREATE_PARTITIONS,
            version,
            topics=[{"name": topic, "assignments": None} | wanted],
            timeout=TEN_SECONDS,
        ).results
        return answer.error_code

    @pytest.mark.parametrize("version", range(4))
    def test_grow_in_every_version(self, ask, topic, version):
        create(ask, {"name": topic})
        assert self.grow(ask, topic, version, count=3) == 0
        (found,) = ask(Api.METADATA, topics=[{"name": topic}]).topics
        assert [each.partition_index for each in found.partitions] == [0, 1, 2]
        assert self.grow(ask, topic, version, count=4, assignments=[{"broker_ids": [1]}]) == 0

    @pytest.mark.parametrize(
        ("count", "assignments", "code"),
        [
            (1, None, ErrorCode.invalid_partitions),
            (0, None, ErrorCode.invalid_partitions),
            (2, [[7]], ErrorCode.invalid_replica_assignment),
            (3, [[1]], ErrorCode.invalid_replica_assignment),
            (2, [[1, 1]], ErrorCode.invalid_replica_assignment),
            (2, [[]], ErrorCode.invalid_replica_assignment),
        ],
    )
    def test_how_a_topic_cannot_grow(self, ask, topic, count, assignments, code):
        create(ask, {"name": topic})
        if assignments is not None:
            assignments = [{"broker_ids": replicas} for replicas in assignments]
        assert self.grow(ask, topic, count=count, assignments=assignments) == code
        (found,) = ask(Api.METADATA, topics=[{"name": topic}]).topics
        assert len(found.partitions) == 1

    def test_growing_what_is_not_there(self, ask, topic):
        assert self.grow(ask, topic, count=3) == ErrorCode.unknown_topic_or_partition


class TestConfigs:
    def describe(self, ask, kind, name, version=4, **options):
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
        keys = options.pop("keys", None)
        resource["configuration_keys"] = keys
        (answer,) = ask(Api.DESCRIBE_CONFIGS, version, resources=[resource], **options).results
        return answer

    def values(self, ask, kind, name):
        return {each.name: each.value for each in self.describe(ask, kind, name).configs}

    def alter(self, ask, kind, name, *changes, validate_only=False):
        """The error of an incremental change, as (key, operation, value)."""
        configs = [
            {"name": key, "config_operation": operation, "value": value}
            for key, operation, value in changes
        ]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        (answer,) = ask(
            Api.INCREMENTAL_ALTER_CONFIGS, resources=[resource], validate_only=validate_only
        ).responses
        return answer

    @pytest.mark.parametrize("version", range(1, 5))
    def test_describe_in_every_version(self, ask, topic, version):
        create(ask, {"name": topic})
        more = {"include_documentation": True} if version >= 3 else {}
        answer = self.describe(
            ask, TOPIC, topic, version, keys=["retention.ms"], include_synonyms=True, **more
        )
        assert (answer.error_code, answer.resource_name) == (0, topic)
        (entry,) = answer.configs
        assert (entry.name, entry.value) == ("retention.ms", str(7 * 24 * 60 * 60 * 1000))
        assert (entry.config_source, entry.read_only, entry.is_sensitive) == (5, False, False)
        assert [each.name for each in entry.synonyms] == ["log.retention.hours"]
        if version >= 3:
            assert entry.config_type == 5
            assert "older than this" in entry.documentation

    def test_only_what_is_asked_for(self, ask, topic):
        create(ask, {"name": topic})
        plain = self.describe(ask, TOPIC, topic, keys=["retention.ms", "no.such.key"])
        (entry,) = plain.configs
        assert (entry.synonyms, entry.documentation) == ((), None)
        assert len(self.describe(ask, TOPIC, topic, keys=[]).configs) > 20

    @pytest.mark.parametrize(
        ("kind", "name", "code", "said"),
        [
            (TOPIC, "no-such-topic", ErrorCode.unknown_topic_or_partition, "does not exist"),
            (TOPIC, "a/b", ErrorCode.invalid_topic_exception, "illegal"),
            (BROKER, "7", ErrorCode.invalid_request, "Unexpected broker id, expected 1"),
            (BROKER, "one", ErrorCode.invalid_request, "Broker id must be an integer"),
            (BROKER_LOGGER, "1", ErrorCode.invalid_request, "log levels"),
            (99, "x", ErrorCode.invalid_request, "resource type 99"),
        ],
    )
    def test_resources_that_cannot_be_had(self, ask, kind, name, code, said):
        answer = self.describe(ask, kind, name)
        assert (answer.error_code, answer.configs) == (code, ())
        assert said in answer.error_message
        assert self.alter(ask, kind, name, ("retention.ms", SET, "1")).error_code == code
        resource = {"resource_type": kind, "resource_name": name, "configs": []}
        (answer,) = ask(Api.ALTER_CONFIGS, resources=[resource]).responses
        assert answer.error_code == code

    @pytest.mark.parametrize("version", range(3))
    def test_alter_replaces_in_every_version(self, ask, topic, version):
        create(ask, {"name": topic, "configs": [{"name": "retention.ms", "value": "1"}]})
        configs = [{"name": "segment.bytes", "value": "2000"}]
        resource = {"resource_type": TOPIC, "resource_name": topic, "configs": configs}
        (answer,) = ask(Api.ALTER_CONFIGS, version, resources=[resource]).responses
        assert (answer.error_code, answer.error_message) == (0, None)
        values = self.values(ask, TOPIC, topic)
        assert values["segment.bytes"] == "2000"
        assert values["retention.ms"] != "1"

    @pytest.mark.parametrize(
        ("change", "code", "said"),
        [
            (("retention.mss", SET, "1"), ErrorCode.invalid_config, "did you mean retention.ms"),
            (("retention.ms", SET, "x"), ErrorCode.invalid_request, "Invalid config value"),
            (("retention.ms", SET, None), ErrorCode.invalid_request, "Null value"),
            (("retention.ms", APPEND, "1"), ErrorCode.invalid_request, "append is not allowed"),
            (("no.such", APPEND, "1"), ErrorCode.invalid_config, "no.such"),
            (("cleanup.policy", APPEND, "x"), ErrorCode.invalid_request, "one of"),
            (("retention.ms", 9, "1"), ErrorCode.invalid_request, "operation 9"),
        ],
    )
    def test_changes_that_cannot_be(self, ask, topic, change, code, said):
        create(ask, {"name": topic})
        before = self.values(ask, TOPIC, topic)
        answer = self.alter(ask, TOPIC, topic, ("segment.bytes", SET, "2000"), change)
        assert answer.error_code == code
        assert said in answer.error_message
        assert self.values(ask, TOPIC, topic) == before

    def test_a_key_named_twice(self, ask, topic):
        create(ask, {"name": topic})
        twice = [("retention.ms", SET, "1"), ("retention.ms", SET, "2")]
        answer = self.alter(ask, TOPIC, topic, *twice)
        assert answer.error_code == ErrorCode.invalid_request
        assert "duplicate config keys : retention.ms" in answer.error_message

    def test_a_dry_run_changes_nothing(self, ask, topic):
        create(ask, {"name": topic})
        change = ("retention.ms", SET, "1")
        assert self.alter(ask, TOPIC, topic, change, validate_only=True).error_code == 0
        assert self.values(ask, TOPIC, topic)["retention.ms"] != "1"

    def test_what_takes_a_restart(self, ask):
        answer = self.alter(ask, BROKER, "1", ("zookeeper.connect", SET, "there:1"))
        assert answer.error_code == ErrorCode.invalid_request
        assert "Cannot update these configs dynamically" in answer.error_message

    def test_all_brokers_at_once(self, ask, topic):
        create(ask, {"name": topic})
        assert self.alter(ask, BROKER, "", ("log.segment.bytes", SET, "123456")).error_code == 0
        assert self.values(ask, BROKER, "") == {"log.segment.bytes": "123456"}
        (segment,) = self.describe(ask, TOPIC, topic, keys=["segment.bytes"]).configs
        assert (segment.value, segment.config_source) == ("123456", 3)

        assert self.alter(ask, BROKER, "1", ("log.segment.bytes", SET, "77777")).error_code == 0
        (segment,) = self.describe(ask, BROKER, "1", keys=["log.segment.bytes"]).configs
        assert (segment.value, segment.config_source) == ("77777", 2)

        for name in ("1", ""):
            change = ("log.segment.bytes", DELETE, None)
            assert self.alter(ask, BROKER, name, change).error_code == 0
        assert self.values(ask, BROKER, "") == {}
        assert self.values(ask, TOPIC, topic)["segment.bytes"] == str(1 << 30)


class TestLogs:
    def delete(self, ask, topic, version=2, offset=-1):
        topics = [{"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]}]
        answer = ask(Api.DELETE_RECORDS, version, topics=topics, timeout=TEN_SECONDS)
        (partition,) = answer.topics[0].partitions
        return partition.error_code, partition.low_watermark

    @pytest.mark.parametrize("version", range(3))
    def test_delete_records_in_every_version(self, ask, topic, version):
        create(ask, {"name": topic})
        assert self.delete(ask, topic, version) == (0, 0)
        assert self.delete(ask, topic, version, 1) == (ErrorCode.offset_out_of_range, -1)
        assert self.delete(ask, topic, version, -2) == (ErrorCode.offset_out_of_range, -1)

    def test_records_that_cannot_be_deleted(self, ask, topic):
        compacted = [{"name": "cleanup.policy", "value": "compact"}]
        create(ask, {"name": topic, "configs": compacted})
        assert self.delete(ask, topic) == (ErrorCode.policy_violation, -1)
        internal = self.delete(ask, "__consumer_offsets")
        assert internal == (ErrorCode.invalid_topic_exception, -1)
        assert self.delete(ask, "nobody") == (ErrorCode.unknown_topic_or_partition, -1)

    @pytest.mark.parametrize("version", [1, 2])
    def test_log_dirs(self, ask, cluster, topic, version):
        create(ask, {"name": topic, "num_partitions": 2})
        wanted = [{"topic": topic, "partitions": [1, 7]}]
        (disk,) = ask(Api.DESCRIBE_LOG_DIRS, version, topics=wanted).results
        assert (disk.error_code, disk.log_dir) == (0, str(cluster.directory(1)))
        ((partition,),) = (found.partitions for found in disk.topics)
        assert (partition.partition_index, partition.partition_size) == (1, 0)
        assert (partition.offset_lag, partition.is_future_key) == (0, False)
        (everything,) = ask(Api.DESCRIBE_LOG_DIRS, version, topics=None).results
        (found,) = (each for each in everything.topics if each.name == topic)
        assert [each.partition_index for each in found.partitions] == [0, 1]
        assert ask(Api.DESCRIBE_LOG_DIRS, version, topics=[]).results[0].topics == ()

    @pytest.mark.parametrize("version", range(5))
    def test_producer_ids(self, ask, version):
        asked = {"transactional_id": None, "transaction_timeout": timedelta(minutes=1)}
        first = ask(Api.INIT_PRODUCER_ID, version, **asked)
        assert (first.error_code, first.producer_epoch) == (0, 0)
        second = ask(Api.INIT_PRODUCER_ID, version, **asked)
        assert second.producer_id == first.producer_id + 1

    @pytest.mark.parametrize(
        ("asked", "code"),
        [
            ({"transactional_id": "t"}, ErrorCode.unsupported_version),
            ({"transactional_id": ""}, ErrorCode.invalid_request),
            ({"transactional_id": None, "producer_id": 7}, ErrorCode.invalid_request),
            ({"transactional_id": None, "producer_epoch": 7}, ErrorCode.invalid_request),
        ],
    )
    def test_no_producer_id(self, ask, asked, code):
        answer = ask(Api.INIT_PRODUCER_ID, **({"producer_id": -1, "producer_epoch": -1} | asked))
        assert (answer.error_code, answer.producer_id) == (code, -1)

    def test_producers_of_nothing(self, ask, topic):
        create(ask, {"name": topic})
        topics = [{"name": topic, "partition_indexes": [0, 7]}]
        (answer,) = ask(Api.DESCRIBE_PRODUCERS, topics=topics).topics
        quiet, unknown = answer.partitions
        assert (quiet.error_code, quiet.active_producers) == (0, ())
        assert unknown.error_code == ErrorCode.unknown_topic_or_partition
