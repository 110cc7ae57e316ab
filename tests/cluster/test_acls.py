"""Access control lists on several brokers: followed, kept over a restart, and repaired."""

import time

import pytest

from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.interop.plain import asked
from tests.interop.raw import Raw, batch
from tests.interop.test_acls import ALL, CLUSTER, CONFIG, HERE, THERE, TOPIC, WRITE, rule
from tests.modes import MODES, made


def until(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def produced(cluster, broker, source=THERE):
    """The error code of a record for a topic that this broker leads."""
    with Raw(cluster.bootstrap.split(",")[broker - 1], source=source) as client:
        return client.produce(f"led-by-{broker}", batch("a")).error_code


@pytest.mark.parametrize("mode", MODES)
def test_every_broker_follows_the_rules(mode):
    with made(2, mode, config=CONFIG) as cluster:
        for broker in (1, 2):
            cluster.topic(f"led-by-{broker}", replicas=[[broker]])
        here = [rule(kind, ALL, host=HERE) for kind in (TOPIC, CLUSTER)]
        with Raw(cluster.bootstrap.split(",")[0]) as client:
            asked(client, Api.CREATE_ACLS, creations=here)
        refused = ErrorCode.topic_authorization_failed
        until(lambda: produced(cluster, 1) == produced(cluster, 2) == refused)

        cluster.kill(2)
        with Raw(cluster.bootstrap.split(",")[0]) as client:
            asked(client, Api.CREATE_ACLS, creations=[rule(TOPIC, WRITE, "led-by-2")])
        cluster.restart(2)
        until(lambda: produced(cluster, 2) == 0)
        assert produced(cluster, 1) == refused

        (denied,) = [each for each in cluster.events() if each.kind == "authorization.denied"][-1:]
        assert denied.data["principal"] == "User:ANONYMOUS"
        assert (denied.data["operation"], denied.data["host"]) == ("Write", THERE)
