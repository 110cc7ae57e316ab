"""Who serves what and who leads what, and topics that come and go: every version, by its frames.

Also what stock clients can't say, or refuse to.
"""

import struct
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.kraft_apis import KRAFT_APIS
from tests.interop.plain import TEN_SECONDS, asked, create, new_name
from tests.interop.raw import framed
from tests.unit.broker.alone import served

CONFIG = {"num.partitions": "2", "offsets.topic.replication.factor": "3"}


@pytest.fixture
def topic():
    return new_name()


@pytest.fixture
def ask(client):
    return partial(asked, client)


def names_of(answer):
    return {topic.name for topic in answer.topics}


class TestApiVersions:
    @pytest.mark.parametrize("version", range(4))
    def test_it_tells_what_is_served(self, cluster, ask, version):
        software = {"client_software_name": "kcat", "client_software_version": "1.7.0-rc.1"}
        answer = ask(Api.API_VERSIONS, version, **(software if version == 3 else {}))
        assert answer.error_code == ErrorCode.none
        is_kraft = cluster.is_kraft
        expected = KRAFT_APIS if is_kraft else served()
        assert [row.api_key for row in answer.api_keys] == sorted(expected)
        rows = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
        assert rows[Api.FETCH] == (0, 13 if is_kraft else 12)
        assert rows[Api.API_VERSIONS] == (0, 3)

    @pytest.mark.parametrize("name", ["", "-kcat", "a b", "ká"])
    def test_a_client_must_have_a_plain_name(self, ask, name):
        software = {"client_software_name": name, "client_software_version": "1"}
        assert ask(Api.API_VERSIONS, 3, **software).error_code == ErrorCode.invalid_request

    def test_a_version_from_the_future_is_answered_in_version_0(self, client):
        client.send(framed(struct.pack(">hhih", Api.API_VERSIONS, 9, 77, -1) + b"\x00anything"))
        assert client.frame() == struct.pack(
            ">ihihhh", 77, ErrorCode.unsupported_version, 1, Api.API_VERSIONS, 0, 3
        )


class TestMetadata:
    @pytest.mark.parametrize("version", range(12))
    def test_every_version_tells_who_leads(self, client, ask, cluster, topic, version):
        create(client, {"name": topic})
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

    def test_all_topics_or_none(self, client, ask, topic):
        create(client, {"name": topic})
        assert topic in names_of(ask(Api.METADATA, 0, topics=[]))
        assert topic in names_of(ask(Api.METADATA, 1, topics=None))
        assert ask(Api.METADATA, 1, topics=[]).topics == ()

    def test_a_new_name_is_on_its_way(self, client, ask, topic):
        (coming,) = ask(Api.METADATA, 1, topics=[{"name": topic}]).topics
        assert coming.error_code == ErrorCode.leader_not_available
        (again,) = create(client, {"name": topic})
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

    def test_a_name_too_like_another(self, client, ask):
        create(client, {"name": "too.like"})
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

    def test_what_one_may_do(self, client, ask, topic):
        create(client, {"name": topic})
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
    def test_create_in_every_version(self, client, ask, topic, version):
        configs = [{"name": "retention.ms", "value": "1000"}]
        (made,) = create(client, {"name": topic, "configs": configs}, version=version)
        assert (made.error_code, made.error_message) == (0, None)
        if version >= 5:
            assert (made.num_partitions, made.replication_factor) == (1, 1)
            values = {each.name: (each.value, each.config_source) for each in made.configs}
            assert values["retention.ms"] == ("1000", 1)
            assert values["cleanup.policy"] == ("delete", 5)
        if version == 7:
            (found,) = ask(Api.METADATA, topics=[{"name": topic}]).topics
            assert made.topic_id == found.topic_id is not None

    def test_counts_that_are_not_given(self, client, ask, topic):
        (made,) = create(client, {"name": topic, "num_partitions": -1, "replication_factor": -1})
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
    def test_what_cannot_be_created(self, client, ask, topic, wrong, code):
        good = f"{topic}-good"
        answers = create(client, {"name": topic} | wrong, {"name": good})
        assert [answer.error_code for answer in answers] == [code, 0]
        assert answers[0].error_message
        assert answers[0].configs == ()
        assert topic not in names_of(ask(Api.METADATA, topics=None))

    def test_a_topic_named_twice(self, cluster, client, ask, topic):
        answers = create(client, {"name": topic}, {"name": topic})
        rows = 1 if cluster.is_kraft else 2
        assert [answer.error_code for answer in answers] == [ErrorCode.invalid_request] * rows

    def test_no_time_at_all(self, cluster, client, ask, topic):
        """With ZooKeeper the work goes on behind the answer; without it, none is begun."""
        (answer,) = create(client, {"name": topic}, timeout=timedelta())
        assert answer.error_code == ErrorCode.request_timed_out
        (again,) = create(client, {"name": topic})
        is_new = cluster.is_kraft
        assert again.error_code == (0 if is_new else ErrorCode.topic_already_exists)

    @pytest.mark.parametrize("version", range(1, 7))
    def test_delete_in_every_version(self, client, ask, topic, version):
        create(client, {"name": topic})
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

    def test_delete_by_id(self, client, ask, topic):
        (made,) = create(client, {"name": topic})
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
    def test_grow_in_every_version(self, client, ask, topic, version):
        create(client, {"name": topic})
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
    def test_how_a_topic_cannot_grow(self, client, ask, topic, count, assignments, code):
        create(client, {"name": topic})
        if assignments is not None:
            assignments = [{"broker_ids": replicas} for replicas in assignments]
        assert self.grow(ask, topic, count=count, assignments=assignments) == code
        (found,) = ask(Api.METADATA, topics=[{"name": topic}]).topics
        assert len(found.partitions) == 1

    def test_growing_what_is_not_there(self, ask, topic):
        assert self.grow(ask, topic, count=3) == ErrorCode.unknown_topic_or_partition
