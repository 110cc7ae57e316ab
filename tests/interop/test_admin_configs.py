"""Configurations, records, disks and producers: every version, by its frames.

Also what stock clients can't say, or refuse to.
"""

import re
from datetime import timedelta
from functools import partial

import pytest

from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.interop.plain import TEN_SECONDS, asked, create, new_name

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
DYNAMIC_BROKER, DYNAMIC_DEFAULT, DEFAULT, LOGGER = 2, 3, 5, 6  # sources
INT, PASSWORD = 3, 9  # types
WRONG_VALUE = None  # of a topic's key: the code is another one without ZooKeeper


@pytest.fixture
def topic():
    return new_name()


@pytest.fixture
def ask(client):
    return partial(asked, client)


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
    def test_describe_in_every_version(self, client, ask, topic, version):
        create(client, {"name": topic})
        more = {"include_documentation": True} if version >= 3 else {}
        answer = self.describe(
            ask, TOPIC, topic, version, keys=["retention.ms"], include_synonyms=True, **more
        )
        assert (answer.error_code, answer.error_message) == (0, "")  # an empty text, as Kafka's
        assert answer.resource_name == topic
        (entry,) = answer.configs
        assert (entry.name, entry.value) == ("retention.ms", str(7 * 24 * 60 * 60 * 1000))
        assert (entry.config_source, entry.read_only, entry.is_sensitive) == (5, False, False)
        assert [each.name for each in entry.synonyms] == ["log.retention.hours"]
        if version >= 3:
            assert entry.config_type == 5
            assert "older than this" in entry.documentation

    def test_only_what_is_asked_for(self, client, ask, topic):
        create(client, {"name": topic})
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
            (BROKER, "9" * 5000, ErrorCode.invalid_request, "Broker id must be an integer"),
            (99, "x", ErrorCode.invalid_request, "resource type 99"),
        ],
    )
    def test_resources_that_cannot_be_had(self, ask, kind, name, code, said):
        """Without ZooKeeper, too, a broker refuses the keys of another one, as Kafka's does."""
        answer = self.describe(ask, kind, name)
        assert (answer.error_code, answer.configs) == (code, ())
        assert said in answer.error_message
        assert self.alter(ask, kind, name, ("retention.ms", SET, "1")).error_code == code
        resource = {"resource_type": kind, "resource_name": name, "configs": []}
        (answer,) = ask(Api.ALTER_CONFIGS, resources=[resource]).responses
        assert answer.error_code == code

    def test_log_levels_are_set_and_unset(self, ask):
        name = "engine.broker.server"
        levels = self.values(ask, BROKER_LOGGER, "1")
        assert (levels["root"], levels[name]) == ("INFO", "INFO")
        assert not [each for each in levels if each.startswith("kazoo")]
        (entry,) = self.describe(ask, BROKER_LOGGER, "1", keys=[name]).configs
        assert (entry.config_source, entry.read_only, entry.synonyms) == (LOGGER, False, ())
        change = (name, SET, "TRACE")
        self.alter(ask, BROKER_LOGGER, "1", change, validate_only=True)
        assert self.values(ask, BROKER_LOGGER, "1") == levels
        assert self.alter(ask, BROKER_LOGGER, "1", change).error_code == 0
        assert self.values(ask, BROKER_LOGGER, "1") == levels | {name: "TRACE"}
        assert self.alter(ask, BROKER_LOGGER, "1", (name, DELETE, None)).error_code == 0
        assert self.values(ask, BROKER_LOGGER, "1") == levels

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (("no.such", SET, "INFO"), "Logger no.such does not exist!"),
            (("root", SET, "LOUD"), "Cannot set the log level of root to LOUD"),
            (("root", DELETE, None), "Removing the log level of the root logger is not allowed"),
            (("root", APPEND, "INFO"), "APPEND operation is not allowed for the BROKER_LOGGER"),
            (("root", 9, "INFO"), "no config operation 9"),
        ],
    )
    def test_log_levels_that_cannot_be_set(self, ask, change, said):
        levels = self.values(ask, BROKER_LOGGER, "1")
        answer = self.alter(
            ask, BROKER_LOGGER, "1", ("kafka.authorizer.logger", SET, "WARN"), change
        )
        assert answer.error_code == ErrorCode.invalid_request
        assert said in answer.error_message
        assert self.values(ask, BROKER_LOGGER, "1") == levels

    @pytest.mark.parametrize(
        ("name", "said"), [("", "must not be empty"), ("7", "expected 1"), ("x", "an integer")]
    )
    def test_log_levels_of_another_broker(self, ask, name, said):
        answer = self.describe(ask, BROKER_LOGGER, name)
        assert (answer.error_code, answer.configs) == (ErrorCode.invalid_request, ())
        assert said in answer.error_message

    def test_log_levels_and_the_older_request(self, ask):
        resource = {"resource_type": BROKER_LOGGER, "resource_name": "1", "configs": []}
        (answer,) = ask(Api.ALTER_CONFIGS, resources=[resource]).responses
        assert answer.error_code == ErrorCode.invalid_request
        assert answer.error_message.startswith("AlterConfigs is deprecated")

    @pytest.mark.parametrize("version", range(3))
    def test_alter_replaces_in_every_version(self, client, ask, topic, version):
        create(client, {"name": topic, "configs": [{"name": "retention.ms", "value": "1"}]})
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
            (("retention.ms", SET, "x"), WRONG_VALUE, "Invalid value x"),
            (("retention.ms", SET, None), ErrorCode.invalid_request, "Null value"),
            (("retention.ms", APPEND, "1"), WRONG_VALUE, "(append is not allowed|Can't APPEND to)"),
            (("no.such", APPEND, "1"), ErrorCode.invalid_config, "no.such"),
            (("cleanup.policy", APPEND, "x"), WRONG_VALUE, "one of"),
            (("retention.ms", 9, "1"), ErrorCode.invalid_request, "operation 9"),
        ],
    )
    def test_changes_that_cannot_be(self, cluster, client, ask, topic, change, code, said):
        if code is WRONG_VALUE:
            kraft = cluster.is_kraft
            code = ErrorCode.invalid_config if kraft else ErrorCode.invalid_request
        create(client, {"name": topic})
        before = self.values(ask, TOPIC, topic)
        answer = self.alter(ask, TOPIC, topic, ("segment.bytes", SET, "2000"), change)
        assert answer.error_code == code
        assert re.search(said, answer.error_message)
        assert self.values(ask, TOPIC, topic) == before

    @pytest.mark.parametrize("twice", ["compact", "compact,compact"])
    def test_what_is_in_a_list_is_appended_again_by_a_broker_alone(
        self, cluster, client, ask, topic, twice
    ):
        """Not by a controller of a quorum."""
        create(client, {"name": topic, "configs": [{"name": "cleanup.policy", "value": "compact"}]})
        assert self.alter(ask, TOPIC, topic, ("cleanup.policy", APPEND, twice)).error_code == 0
        wanted = "compact" if cluster.is_kraft else f"compact,{twice}"
        assert self.values(ask, TOPIC, topic)["cleanup.policy"] == wanted

    def test_one_unknown_type_and_nothing_is_altered(self, cluster, client, ask, topic):
        """Not even the resource that stands before it; without ZooKeeper each has its answer."""
        create(client, {"name": topic})
        change = {"name": "retention.ms", "value": "12345"}
        for api, more in (
            (Api.INCREMENTAL_ALTER_CONFIGS, {"config_operation": SET}),
            (Api.ALTER_CONFIGS, {}),
        ):
            resources = [
                {"resource_type": kind, "resource_name": topic, "configs": [change | more]}
                for kind in (TOPIC, 99)
            ]
            answers = ask(api, resources=resources).responses
            refused = 0 if cluster.is_kraft else ErrorCode.invalid_request
            assert [it.error_code for it in answers] == [refused, ErrorCode.invalid_request]
            assert (self.values(ask, TOPIC, topic)["retention.ms"] == "12345") is cluster.is_kraft

    def test_a_refusal_names_the_resource_in_kafkas_words(self, cluster, client, ask, topic):
        create(client, {"name": topic})
        for kind, name, key, resource in (
            (TOPIC, topic, "retention.ms", f"ConfigResource(type=TOPIC, name='{topic}')"),
            (BROKER, "1", "log.retention.ms", "ConfigResource(type=BROKER, name='1')"),
            (BROKER, "", "log.retention.ms", "ConfigResource(type=BROKER, name='')"),
        ):
            answer = self.alter(ask, kind, name, (key, SET, "x"))
            said = f"Invalid config value for resource {resource}: Invalid value x"
            if kind == TOPIC and cluster.is_kraft:
                said = "Invalid value x for configuration retention.ms"
            assert answer.error_message.startswith(said)

    def test_a_key_named_twice(self, client, ask, topic):
        create(client, {"name": topic})
        twice = [("retention.ms", SET, "1"), ("retention.ms", SET, "2")]
        answer = self.alter(ask, TOPIC, topic, *twice)
        assert answer.error_code == ErrorCode.invalid_request
        assert "duplicate config keys : retention.ms" in answer.error_message

    def test_a_dry_run_changes_nothing(self, client, ask, topic):
        create(client, {"name": topic})
        change = ("retention.ms", SET, "1")
        assert self.alter(ask, TOPIC, topic, change, validate_only=True).error_code == 0
        assert self.values(ask, TOPIC, topic)["retention.ms"] != "1"

    def test_what_takes_a_restart(self, ask):
        answer = self.alter(ask, BROKER, "1", ("zookeeper.connect", SET, "there:1"))
        assert answer.error_code == ErrorCode.invalid_request
        assert "Cannot update these configs dynamically" in answer.error_message

    def test_keys_without_effect_are_described(self, ask):
        found = {each.name: each for each in self.describe(ask, BROKER, "1").configs}
        assert len(found) > 200
        threads = found["num.io.threads"]
        assert (threads.value, threads.config_type, threads.read_only) == ("8", INT, False)
        assert threads.config_source == DEFAULT
        queued = found["queued.max.requests"]
        assert (queued.value, queued.read_only) == ("500", True)
        secret = found["ssl.key.password"]
        assert (secret.value, secret.config_type, secret.is_sensitive) == (None, PASSWORD, True)
        (documented,) = self.describe(
            ask, BROKER, "1", keys=["num.io.threads"], include_documentation=True
        ).configs
        assert "Without effect" in documented.documentation

    @pytest.mark.parametrize(
        ("name", "key", "value", "source"),
        [
            ("1", "num.io.threads", "5", DYNAMIC_BROKER),
            ("", "background.threads", "5", DYNAMIC_DEFAULT),
            ("1", "num.replica.fetchers", "2", DYNAMIC_BROKER),
            ("", "log.preallocate", "true", DYNAMIC_DEFAULT),
            ("1", "sasl.kerberos.kinit.cmd", "/bin/kinit", DYNAMIC_BROKER),
        ],
    )
    def test_they_are_altered_where_kafka_alters_them(self, ask, name, key, value, source):
        assert self.alter(ask, BROKER, name, (key, SET, value)).error_code == 0
        (found,) = self.describe(ask, BROKER, name, keys=[key], include_synonyms=True).configs
        assert (found.value, found.config_source) == (value, source)
        sources = [each.source for each in found.synonyms]
        assert sources == ([source, DEFAULT] if name else [source])
        assert self.alter(ask, BROKER, name, (key, DELETE, None)).error_code == 0
        found = {each.name: each for each in self.describe(ask, BROKER, "1").configs}
        assert found[key].config_source == DEFAULT

    @pytest.mark.parametrize("operation", [SET, DELETE])
    def test_a_broker_takes_keys_that_it_does_not_know(self, ask, operation):
        """As Kafka, which does not know either what a plug-in needs."""
        key = "cleanup.policy"
        assert self.alter(ask, BROKER, "1", (key, operation, "compact")).error_code == 0
        found = {each.name: each for each in self.describe(ask, BROKER, "1").configs}
        assert (key in found) == (operation == SET)
        if key in found:
            assert (found[key].value, found[key].is_sensitive) == (None, True)

    @pytest.mark.parametrize(
        ("name", "key", "value", "said"),
        [
            ("1", "queued.max.requests", "9", "Cannot update these configs dynamically"),
            ("1", "num.io.threads", "many", "Not a number of type INT"),
            ("1", "num.io.threads", "0", "Value must be at least 1"),
            ("", "sasl.kerberos.kinit.cmd", "x", "broker id must be specified"),
            ("1", "ssl.keystore.type", "PKCS12", "only per-listener"),
            ("1", "listener.name.x.ssl.key.password", "secret", "Password encoder secret"),
        ],
    )
    def test_and_refused_where_kafka_refuses_them(self, ask, name, key, value, said):
        answer = self.alter(ask, BROKER, name, (key, SET, value))
        assert answer.error_code == ErrorCode.invalid_request
        assert said in answer.error_message

    def test_all_brokers_at_once(self, client, ask, topic):
        create(client, {"name": topic})
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
    def test_delete_records_in_every_version(self, client, ask, topic, version):
        create(client, {"name": topic})
        assert self.delete(ask, topic, version) == (0, 0)
        assert self.delete(ask, topic, version, 1) == (ErrorCode.offset_out_of_range, -1)
        assert self.delete(ask, topic, version, -2) == (ErrorCode.offset_out_of_range, -1)

    def test_records_that_cannot_be_deleted(self, client, ask, topic):
        compacted = [{"name": "cleanup.policy", "value": "compact"}]
        create(client, {"name": topic, "configs": compacted})
        assert self.delete(ask, topic) == (ErrorCode.policy_violation, -1)
        internal = self.delete(ask, "__consumer_offsets")
        assert internal == (ErrorCode.invalid_topic_exception, -1)
        assert self.delete(ask, "nobody") == (ErrorCode.unknown_topic_or_partition, -1)

    @pytest.mark.parametrize("version", [1, 2])
    def test_log_dirs(self, client, ask, cluster, topic, version):
        create(client, {"name": topic, "num_partitions": 2})
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
            ({"transactional_id": ""}, ErrorCode.invalid_request),
            ({"transactional_id": None, "producer_id": 7}, ErrorCode.invalid_request),
            ({"transactional_id": None, "producer_epoch": 7}, ErrorCode.invalid_request),
        ],
    )
    def test_no_producer_id(self, ask, asked, code):
        answer = ask(Api.INIT_PRODUCER_ID, **({"producer_id": -1, "producer_epoch": -1} | asked))
        assert (answer.error_code, answer.producer_id) == (code, -1)

    def test_producers_of_nothing(self, client, ask, topic):
        create(client, {"name": topic})
        topics = [{"name": topic, "partition_indexes": [0, 7]}]
        (answer,) = ask(Api.DESCRIBE_PRODUCERS, topics=topics).topics
        quiet, unknown = answer.partitions
        assert (quiet.error_code, quiet.active_producers) == (0, ())
        assert unknown.error_code == ErrorCode.unknown_topic_or_partition
