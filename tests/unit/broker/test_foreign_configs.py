"""Configurations that others wrote: what counts, what is told, and what our own changes leave."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from engine.broker.config_cache import ConfigCache
from engine.broker.handlers import configs
from engine.broker.zookeeper import roles
from engine.broker.zookeeper.config_watcher import ConfigWatcher
from engine.broker.zookeeper.config_znodes import ConfigZnodes
from engine.config import BrokerConfig, TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.requests import Delete, Reason, Refused
from tests.unit.broker import alone

TOPIC, BROKER = configs.Resource.TOPIC, configs.Resource.BROKER
HOUR = "3600000"


@pytest.fixture
def told():
    return []


@pytest.fixture
def broker(told):
    def tell(kind, **facts):
        told.append((kind, facts["path"], facts.get("key")))

    return alone.broker(topics={"t": [(1, (1,))], "s": [(1, (1,))]}, events=tell)


def standing(broker, kind, name, config):
    """Somebody has written it, and a note of it has been read."""
    data = config if isinstance(config, bytes) else json.dumps({"config": config}).encode()
    alone.znodes_of(broker)[znodes.config_path(kind, name)] = data
    asyncio.run(broker.gateway.config(kind, name))


def written(broker, kind, name):
    return json.loads(alone.znodes_of(broker)[znodes.config_path(kind, name)])["config"]


def described(broker, kind, name):
    resource = SimpleNamespace(resource_type=kind, resource_name=name, configuration_keys=None)
    response = alone.answer(
        Api.DESCRIBE_CONFIGS,
        broker,
        4,
        resources=[resource],
        include_synonyms=True,
        include_documentation=True,
    )
    (result,) = response.results
    assert result.error_code == 0, result.error_message
    return {each.name: each for each in result.configs}


def set_(name, value, operation=configs.Operation.SET):
    return SimpleNamespace(name=name, value=value, config_operation=operation)


def altered(broker, api, kind, name, *entries):
    resource = SimpleNamespace(resource_type=kind, resource_name=name, configs=entries)
    response = alone.answer(api, broker, 1, resources=[resource], validate_only=False)
    return response.responses[0]


# -- what counts -----------------------------------------------------------------------------


def test_what_is_understood_counts_and_the_rest_is_told_once(broker, told):
    config = {"remote.storage.enable": "true", "retention.ms": HOUR, "segment.bytes": "x"}
    standing(broker, "topics", "t", config)
    for _ in range(2):
        standing(broker, "topics", "t", config)
        found = broker.configs.topic_config("t")
    assert (found.retention_ms, found.segment_bytes) == (int(HOUR), 1 << 30)
    path = znodes.config_path("topics", "t")
    assert told == [
        ("config.ignored", path, "remote.storage.enable"),
        ("config.ignored", path, "segment.bytes"),
    ]
    standing(broker, "topics", "t", config | {"segment.bytes": "y"})
    broker.configs.topic_config("t")
    assert len(told) == 3  # something else is wrong now


def test_a_bad_value_of_a_topic_falls_back_to_the_brokers(broker):
    standing(broker, "brokers", "<default>", {"log.retention.ms": HOUR, "num.io.threads": "8"})
    standing(broker, "brokers", "1", {"log.retention.ms": "-5", "broker.id": "7"})
    standing(broker, "topics", "t", {"retention.ms": "for ever"})
    assert broker.configs.topic_config("t").retention_ms == int(HOUR)
    assert broker.configs.broker_config.broker_id == 1  # ZooKeeper has no say in it


def test_values_that_do_not_go_together_count_as_far_as_they_do():
    base = TopicConfig(min_compaction_lag_ms=1, max_compaction_lag_ms=20)
    both, faults = base.lenient({"min.compaction.lag.ms": "50", "max.compaction.lag.ms": "60"})
    assert (both.min_compaction_lag_ms, both.max_compaction_lag_ms, faults) == (50, 60, {})
    one, faults = base.lenient({"retention.ms": "5", "min.compaction.lag.ms": "50"})
    assert (one.retention_ms, one.min_compaction_lag_ms) == (5, 1)
    assert list(faults) == ["min.compaction.lag.ms"]


def test_a_number_with_thousands_of_digits_in_a_znode_does_not_count(broker, told):
    standing(broker, "topics", "t", {"retention.ms": "9" * 5000})
    assert broker.configs.topic_config("t") == broker.configs.broker_config.topic_defaults()
    assert told == [("config.ignored", znodes.config_path("topics", "t"), "retention.ms")]


@pytest.mark.parametrize("data", [b"nonsense", b"[]", b"\xff", b'{"config":[]}'])
def test_a_configuration_that_nobody_can_read_changes_nothing(broker, told, data):
    standing(broker, "topics", "t", {"retention.ms": HOUR})
    standing(broker, "topics", "t", data)
    standing(broker, "topics", "s", data)
    assert broker.configs.topic_config("t").retention_ms == int(HOUR)
    assert broker.configs.topic_config("s") == broker.configs.broker_config.topic_defaults()
    assert [path for _, path, _ in told] == ["/config/topics/t", "/config/topics/s"]


def test_a_value_that_is_no_text_is_taken_for_one(broker):
    standing(broker, "topics", "t", {"retention.ms": 5, "unclean.leader.election.enable": True})
    found = broker.configs.topic_config("t")
    assert (found.retention_ms, found.unclean_leader_election_enable) == (5, True)


# -- what is described, and what is altered --------------------------------------------------


def test_what_is_ignored_can_be_seen(broker):
    standing(broker, "topics", "t", {"remote.storage.enable": "true", "retention.ms": "x"})
    standing(broker, "brokers", "<default>", {"num.io.threads": "8", "max.connections": "0x"})
    found = described(broker, TOPIC, "t")
    bad = found["retention.ms"]
    assert bad.value == "604800000"  # what counts
    assert (bad.synonyms[0].value, bad.config_source) == ("x", 1)  # what was set
    assert (found["remote.storage.enable"].value, found["remote.storage.enable"].config_source) == (
        None,
        1,
    )
    assert "ignores" in found["remote.storage.enable"].documentation
    for name in ("1", ""):
        assert described(broker, BROKER, name)["num.io.threads"].config_source == 3
    assert described(broker, BROKER, "1")["max.connections"].value == "2147483647"


@pytest.mark.parametrize("api", [Api.ALTER_CONFIGS, Api.INCREMENTAL_ALTER_CONFIGS])
@pytest.mark.parametrize(("kind", "name", "entity"), [(TOPIC, "t", "t"), (BROKER, "", "<default>")])
def test_a_strict_change_by_key_leaves_what_others_set(broker, api, kind, name, entity):
    where = "topics" if kind is TOPIC else "brokers"
    good = "retention.ms" if kind is TOPIC else "log.retention.ms"
    standing(broker, where, entity, {"novelty": "1", good: "x"})
    bad = [(good, "y")] if kind is BROKER else [(good, "y"), ("novelties", "1")]
    for key, value in bad:
        refused = altered(broker, api, kind, name, set_(key, value))
        assert refused.error_code != ErrorCode.none
        assert key in refused.error_message
    assert altered(broker, api, kind, name, set_(good, HOUR)).error_code == 0
    stays = {} if api is Api.ALTER_CONFIGS else {"novelty": "1"}  # AlterConfigs replaces all
    assert written(broker, where, entity) == {**stays, good: HOUR}


def test_a_bad_value_beside_it_is_no_reason_to_refuse_a_change(broker):
    standing(broker, "topics", "t", {"segment.bytes": "x", "remote.storage.enable": "true"})
    change = set_("retention.ms", HOUR)
    assert altered(broker, Api.INCREMENTAL_ALTER_CONFIGS, TOPIC, "t", change).error_code == 0
    assert written(broker, "topics", "t") == {
        "segment.bytes": "x",
        "remote.storage.enable": "true",
        "retention.ms": HOUR,
    }
    for name in ("segment.bytes", "remote.storage.enable"):
        gone = set_(name, None, configs.Operation.DELETE)
        assert altered(broker, Api.INCREMENTAL_ALTER_CONFIGS, TOPIC, "t", gone).error_code == 0
    assert written(broker, "topics", "t") == {"retention.ms": HOUR}


def test_together_with_what_stands_there_a_change_must_make_sense(broker):
    standing(broker, "topics", "t", {"max.compaction.lag.ms": "10"})
    change = set_("min.compaction.lag.ms", "50")
    refused = altered(broker, Api.INCREMENTAL_ALTER_CONFIGS, TOPIC, "t", change)
    assert refused.error_code == ErrorCode.invalid_request


# -- notes -----------------------------------------------------------------------------------


class Notes(alone.Znodes):
    def answer(self, ask):
        if isinstance(ask, Delete) and ask.path.endswith("x"):
            return Refused(Reason.NOT_EMPTY, ask.path)
        return super().answer(ask)


def test_a_note_that_nobody_can_read_does_not_stop_the_next(told):
    """Nor one whose number is larger than all that ZooKeeper will ever give, nor a strange name."""

    async def story():
        notes, changed = Notes(), []
        config = BrokerConfig.parse({"broker.id": "1", "zookeeper.connect": "-"})
        decoder = Decoder(lambda kind, **facts: told.append(facts["path"]))
        configs = ConfigZnodes(notes, ConfigCache(config, decoder._emit), decoder)
        now = [0]
        work = ConfigWatcher(
            configs, "1", decoder, lambda: now[0], lambda *it: changed.append(it)
        ).notes
        written = {
            "config_change_9999999999": znodes.encode_config_change("topics", "a"),
            "config_change_0000000001": b"nonsense",
            "config_change_0000000002": znodes.encode_config_change("topics", "../a"),
            "config_change_0000000003": znodes.encode_config_change("topics", "b"),
            "x": b"",
        }
        for name, data in written.items():
            notes.nodes[f"{znodes.CONFIG_CHANGES}/{name}"] = data
        await work._process_notifications()
        later = znodes.encode_config_change("topics", "c")
        notes.nodes[f"{znodes.CONFIG_CHANGES}/config_change_0000000004"] = later
        await work._process_notifications()
        assert changed == [("topics", "b"), ("topics", "a"), ("topics", "c")]
        assert len(told) == 3
        now[0] = 10**9
        await work._process_notifications()
        assert list(notes.nodes) == [f"{znodes.CONFIG_CHANGES}/x"]  # which has nodes below it

    asyncio.run(story())


# -- peers -----------------------------------------------------------------------------------


def test_names_that_no_topic_can_have_are_not_asked_for(broker):
    """ZooKeeper would refuse the path, and we would ask again for ever."""
    rows = [SimpleNamespace(topic_name=name) for name in ("", "a/b", "..", "é", "t")]
    assert roles._named(SimpleNamespace(topic_states=rows)) == {"t"}


def test_partitions_with_gaps_cannot_be_added_to(broker):
    del broker.metadata.topics["t"].partitions[0]
    broker.metadata.topics["t"].partitions[2] = broker.metadata.topics["s"].partitions[0]
    wanted = SimpleNamespace(name="t", count=5, assignments=None)
    response = alone.answer(
        Api.CREATE_PARTITIONS, broker, 3, topics=[wanted], validate_only=True, timeout=None
    )
    assert response.results[0].error_code == ErrorCode.invalid_partitions


def test_a_topic_that_nobody_can_read_gets_no_partitions(broker):
    alone.znodes_of(broker)["/brokers/topics/t"] = b"nonsense"
    with pytest.raises(ApiException) as refused:
        asyncio.run(broker.gateway.create_partitions("t", {1: [1]}))
    assert refused.value.code == ErrorCode.invalid_partitions
