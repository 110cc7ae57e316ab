"""What a consumer wants, and what its strategies have it say."""

import re

import pytest

from engine.assignors import RebalanceProtocol
from engine.assignors.protocol import decode_generation, decode_member_data, decode_subscription
from engine.client.consuming.subscription import Strategies, SubscribedTopics
from engine.client.metadata import MetadataView
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from tests.unit.client import answers
from tests.unit.client.world import partitions


def config(*strategies):
    more = {"partition_assignment_strategy": strategies} if strategies else {}
    return ConsumerConfig(group_id="g", bootstrap_servers=("b:1",), **more)


def view(*topics):
    found = MetadataView(config())
    found.answered(None, answers.metadata([1], dict.fromkeys(topics, 1), 1), 0.0)
    return found


TOPICS = view("orders", "orders-eu", "bills", "__consumer_offsets")


def wished(*topics, pattern=None, internal=False):
    wish = SubscribedTopics(topics, pattern and re.compile(pattern), internal)
    return wish.topics(TOPICS)


def test_named_topics_are_wanted_whether_they_are_there_or_not():
    assert wished("orders", "nowhere") == {"orders", "nowhere"}


def test_a_pattern_stands_for_what_is_there():
    assert wished(pattern="^orders") == {"orders", "orders-eu"}
    assert wished(pattern="^orders$") == {"orders"}
    assert wished(pattern="^nothing") == set()


def test_names_and_a_pattern():
    assert wished("bills", pattern="^orders-") == {"bills", "orders-eu"}


def test_a_pattern_passes_over_kafkas_own_topics():
    assert wished(pattern="^.*") == {"orders", "orders-eu", "bills"}
    assert "__consumer_offsets" in wished(pattern="^__", internal=True)
    assert "__consumer_offsets" in wished("__consumer_offsets")


@pytest.mark.parametrize(
    ("strategies", "rebalance"),
    [
        (["range"], RebalanceProtocol.EAGER),
        (["range", "sticky"], RebalanceProtocol.EAGER),
        (["cooperative-sticky"], RebalanceProtocol.COOPERATIVE),
        (["cooperative-sticky", "range"], RebalanceProtocol.EAGER),
        (
            ["org.apache.kafka.clients.consumer.CooperativeStickyAssignor"],
            RebalanceProtocol.COOPERATIVE,
        ),
    ],
)
def test_how_it_goes_about_a_rebalance(strategies, rebalance):
    assert Strategies(config(*strategies)).rebalance is rebalance


def test_a_strategy_that_does_not_exist():
    with pytest.raises(ApiException, match=r"coperative-sticky; did you mean cooperative-sticky\?"):
        Strategies(config("coperative-sticky"))


def test_each_strategy_is_offered_with_what_it_remembers():
    strategies = Strategies(config("range", "sticky", "cooperative-sticky"))
    first = {each.name: decode_subscription(each.metadata) for each in offers(strategies)}
    assert list(first) == ["range", "sticky", "cooperative-sticky"]
    assert {each.topics for each in first.values()} == {("t", "u")}
    assert first["sticky"].user_data is None

    had = partitions("t", 2, 0)
    strategies.remember(had, 7)
    now = {each.name: decode_subscription(each.metadata) for each in offers(strategies, had)}
    assert now["range"].user_data is None
    assert decode_member_data(now["sticky"].user_data) == (had, 7)
    assert decode_generation(now["cooperative-sticky"].user_data) == 7
    assert set(now["cooperative-sticky"].owned) == set(had)


def offers(strategies, owned=()):
    return strategies.protocols({"t", "u"}, owned)


def test_the_group_may_choose_what_was_offered_and_nothing_else():
    strategies = Strategies(config("range", "sticky"))
    assert strategies.chosen("sticky").name == "sticky"
    with pytest.raises(ApiException) as error:
        strategies.chosen("roundrobin")
    assert error.value.code == ErrorCode.inconsistent_group_protocol
