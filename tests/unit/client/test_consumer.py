"""What a consumer refuses before it speaks to anybody, and how it is configured."""

import pytest

from engine import model
from engine.client.consumer import Consumer
from engine.client.consuming.rebalance_callbacks import OnAssign, OnRevoke
from engine.client.values import (
    ConsumerGroupMetadata,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException

BASIC = {"bootstrap.servers": "127.0.0.1:1"}


def refused(**settings):
    given = {name.replace("_", "."): value for name, value in settings.items()}
    with pytest.raises(KafkaException) as caught:
        Consumer(BASIC | given)
    error = caught.value.args[0]
    assert error == KafkaError._INVALID_ARG
    return error.str()


def test_an_unknown_key_is_refused_and_the_nearest_is_named():
    assert "did you mean group.id?" in refused(grup_id="g")


def test_a_value_out_of_range_is_refused_by_name():
    assert "max.poll.records: Value must be at least 1" in refused(max_poll_records=0)
    told = "Invalid value sometime for configuration auto.offset.reset"
    assert told in refused(auto_offset_reset="sometime")


def test_heartbeats_have_to_be_quicker_than_the_session():
    told = refused(heartbeat_interval_ms=10_000)
    assert "heartbeat.interval.ms: it must be lower than session.timeout.ms (10000)" in told


def test_an_unknown_strategy_is_refused_and_the_nearest_is_named():
    told = refused(group_id="g", partition_assignment_strategy="rang")
    assert "did you mean range?" in told


def test_a_function_has_to_be_one():
    with pytest.raises(KafkaException, match="on_commit"):
        Consumer(BASIC | {"on_commit": "no function"})


def test_somebody_has_to_be_asked_first():
    with pytest.raises(KafkaException, match=r"bootstrap\.servers"):
        Consumer({"group.id": "g"})


def test_the_defaults_are_those_of_kafka_2_8():
    config = ConsumerConfig.parse({"bootstrap.servers": "b:1"})
    assert (config.session_timeout_ms, config.heartbeat_interval_ms) == (10_000, 3000)
    assert (config.max_poll_records, config.max_poll_interval_ms) == (500, 300_000)
    assert (config.fetch_min_bytes, config.fetch_max_wait_ms) == (1, 500)
    assert (config.fetch_max_bytes, config.max_partition_fetch_bytes) == (50 << 20, 1 << 20)
    assert (config.enable_auto_commit, config.auto_commit_interval_ms) == (True, 5000)
    assert config.auto_offset_reset == "latest"
    assert config.partition_assignment_strategy == ("range",)


def test_values_may_be_text_or_what_python_has():
    config, _ = ConsumerConfig.take(
        BASIC | {"enable.auto.commit": False, "fetch.max.wait.ms": "7", "max.poll.records": 9}
    )
    assert (config.enable_auto_commit, config.fetch_max_wait_ms) == (False, 7)
    assert config.max_poll_records == 9


def test_a_heartbeat_that_is_too_slow_is_no_configuration():
    with pytest.raises(ApiException):
        ConsumerConfig(
            bootstrap_servers=("b:1",), session_timeout_ms=100, heartbeat_interval_ms=100
        )


def test_a_consumer_that_finds_nobody_still_closes_at_once():
    with Consumer(BASIC | {"group.id": "g"}) as consumer:
        assert consumer.poll(0) is None
        assert consumer.assignment() == []


def test_without_a_group_nobody_speaks_for_one():
    with Consumer(BASIC) as consumer:
        assert consumer.consumer_group_metadata() is None


def test_who_is_no_member_yet_only_knows_the_group():
    with Consumer(BASIC | {"group.id": "g", "group.instance.id": "left"}) as consumer:
        assert consumer.consumer_group_metadata() == ConsumerGroupMetadata("g", -1, "", "left")


def test_a_member_speaks_as_who_it_was_when_it_was_assigned_what_it_reads():
    """What was lost meanwhile is committed under an identity that does not count any more."""
    with Consumer(BASIC | {"group.id": "g"}) as consumer:
        membership = consumer._group._membership
        membership.done = lambda order, now: None
        membership.identity = ConsumerGroupMetadata("g", 3, "m-1")
        consumer._group._carry_out(OnAssign(()), consumer)
        membership.identity = ConsumerGroupMetadata("g")
        consumer._group._carry_out(OnAssign(()), consumer)
        assert consumer.consumer_group_metadata() == ConsumerGroupMetadata("g", 3, "m-1")
        membership.identity = ConsumerGroupMetadata("g", 5, "m-2")
        assert consumer.consumer_group_metadata().generation_id == 3
        consumer._group._carry_out(OnAssign(()), consumer)
        assert consumer.consumer_group_metadata().generation_id == 5
        membership.identity = ConsumerGroupMetadata("g")


def test_what_consume_still_holds_is_not_committed():
    """The application has not seen it: if it dies now, the record has to be read again."""
    with Consumer(BASIC | {"group.id": "g"}) as consumer:
        took, noted = iter([["one"]]), []
        consumer._delivery.take = lambda limit: next(took, [])
        consumer._group.polled = lambda now, commits: noted.append(commits)
        assert consumer.consume(2, 0.01) == ["one"]
        assert noted[0]
        assert not any(noted[1:])
        assert len(noted) > 1


def test_what_consume_holds_when_it_is_interrupted_is_read_again():
    with Consumer(BASIC) as consumer:
        consumer.assign([TopicPartition("t", 0, 5)])
        held = [Message("t", 0, offset, None, b"v") for offset in (5, 6)]

        def take(limit):
            if held:
                key = model.TopicPartition("t", 0)
                consumer._positions.places[key].offset = 7
                return [held.pop(0), held.pop(0)]
            raise KeyboardInterrupt

        consumer._delivery.take = take
        with pytest.raises(KeyboardInterrupt):
            consumer.consume(3, 1)
        assert consumer.position([TopicPartition("t", 0)])[0].offset == 5


def test_a_revocation_that_is_interrupted_while_it_commits_is_done(monkeypatch):
    """Otherwise the member would never join again."""
    with Consumer(BASIC | {"group.id": "g"}) as consumer:
        done = []
        consumer._group._membership.done = lambda callback, now: done.append(callback)

        def interrupted(partitions):
            raise KeyboardInterrupt

        callback = OnRevoke((model.TopicPartition("t", 0),))
        with monkeypatch.context() as patched:
            patched.setattr(consumer._group, "_commit_before", interrupted)
            with pytest.raises(KeyboardInterrupt):
                consumer._group._carry_out(callback, consumer)
        assert done == [callback]
