"""UpdateFeatures: Kafka 2.8 has no features, so each is refused, and why depends on the update."""

import asyncio
from types import SimpleNamespace

import pytest

from engine.broker.handlers import versions
from engine.config import BrokerConfig
from engine.errors import ErrorCode


def updated(*updates, protocol="2.8", active=True):
    keys = "broker.id", "zookeeper.connect", "inter.broker.protocol.version"
    config = BrokerConfig.parse(dict(zip(keys, ("1", "-", protocol), strict=True)))
    gateway = SimpleNamespace(is_controller=active)
    asked = [
        SimpleNamespace(feature=name, max_version_level=level, allow_downgrade=down)
        for name, level, down in updates
    ]
    request = SimpleNamespace(feature_updates=asked)
    return asyncio.run(versions.update_features(config, gateway, None, request))


@pytest.mark.parametrize(
    ("update", "said"),
    [
        (("x", 1, False), "the provided feature is not supported"),
        (("x", 0, True), "Can not delete non-existing finalized feature."),
        (("x", 0, False), "without setting the allowDowngrade flag to true"),
        (("", 1, False), "Feature name can not be empty."),
    ],
)
def test_the_controller_refuses_each_by_name(update, said):
    response = updated(update, ("other", 1, False))
    assert (response.error_code, response.error_message) == (ErrorCode.none, None)
    first, second = response.results
    assert (first.feature, first.error_code) == (update[0], ErrorCode.invalid_request)
    assert said in first.error_message
    assert second.feature == "other"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"active": False}, ErrorCode.not_controller),
        ({"protocol": "2.6"}, ErrorCode.invalid_request),
        ({"protocol": "2.7-IV0"}, ErrorCode.none),
    ],
)
def test_who_may_be_asked(how, code):
    assert updated(("x", 1, False), **how).error_code == code
