"""What the active controller has acknowledged survives kills of controllers, one, two, all of them,
and the loss of a disk."""

import asyncio
import shutil
import time
from datetime import timedelta
from types import SimpleNamespace
from uuid import UUID

import pytest

from engine.broker.peer import Peer
from engine.errors import ErrorCode
from engine.links import Links
from engine.raft.bootstrap import format_directory
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from tests.cluster.controllers import CLUSTER_ID, Controllers
from tests.interop.watch import until
from tests.limits import ANSWER_S, START_S

CONFIG = [
    "controller.quorum.election.timeout.ms=300",
    "controller.quorum.fetch.timeout.ms=1000",
    "broker.session.timeout.ms=600000",
    "metadata.log.max.record.bytes.between.snapshots=1000",
]
LISTENER = SimpleNamespace(name="PLAINTEXT", host="h", port=9092, security_protocol=0)
LEVELS = SimpleNamespace(name="metadata.version", min_supported_version=1, max_supported_version=7)


@pytest.fixture
def controllers(tmp_path):
    with Controllers(tmp_path, config=CONFIG) as controllers:
        yield controllers


def ask(controllers, api, request):
    """The answer of the active controller; another one says that it is not."""

    async def once(port):
        peer = Peer("127.0.0.1", port, -1, Links(), "test", ANSWER_S, _apis=CONTROLLER_APIS)
        try:
            return await peer.ask(api, request)
        finally:
            peer.close()

    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        for port in controllers.ports.values():
            try:
                answer = asyncio.run(once(port))
            except OSError:
                continue
            if code_of(answer) is not ErrorCode.not_controller:
                return answer
        time.sleep(0.05)
    raise AssertionError("there is no active controller")


def code_of(answer):
    rows = getattr(answer, "topics", ())
    return rows[0].error_code if rows else answer.error_code


def register(controllers):
    """Broker 1, which is unfenced with its first heartbeat; returns its epoch."""
    request = SimpleNamespace(
        broker_id=1,
        cluster_id=CLUSTER_ID,
        incarnation_id=UUID(int=7),
        listeners=[LISTENER],
        features=[LEVELS],
        rack=None,
        is_migrating_zk_broker=False,
    )
    answer = ask(controllers, ControllerApi.BROKER_REGISTRATION, request)
    assert answer.error_code is ErrorCode.none
    return answer.broker_epoch


def beat(controllers, epoch):
    heartbeat = SimpleNamespace(
        broker_id=1,
        broker_epoch=epoch,
        current_metadata_offset=epoch,
        want_fence=False,
        want_shut_down=False,
    )
    answer = ask(controllers, ControllerApi.BROKER_HEARTBEAT, heartbeat)
    assert (answer.error_code, answer.is_fenced) == (ErrorCode.none, False)


def create(controllers, name):
    topic = SimpleNamespace(
        name=name, num_partitions=3, replication_factor=1, assignments=(), configs=()
    )
    timeout = timedelta(seconds=ANSWER_S)
    request = SimpleNamespace(topics=[topic], timeout=timeout, validate_only=False)
    return code_of(ask(controllers, ControllerApi.CREATE_TOPICS, request))


def kill(controllers, *ids):
    for id in ids:
        controllers.children[id].kill()


def active(controllers):
    return controllers.leader(START_S)


def test_nothing_is_forgotten_when_controllers_are_killed(controllers):
    epoch = register(controllers)
    beat(controllers, epoch)
    made = []
    for deaths in (1, 2, 3):
        made.append(f"topic-{deaths}")
        assert create(controllers, made[-1]) is ErrorCode.none
        first = active(controllers)
        victims = [first, *({101, 102, 103} - {first})][:deaths]
        kill(controllers, *victims)
        for id in victims:
            controllers.start(id)
        beat(controllers, epoch)  # the registration is as it was
        found = [create(controllers, name) for name in made]
        assert found == [ErrorCode.topic_already_exists] * deaths


def test_a_controller_that_has_lost_its_disk_gets_a_snapshot_and_can_lead(controllers):
    epoch = register(controllers)
    beat(controllers, epoch)
    for number in range(10):
        assert create(controllers, f"topic-{number}") is ErrorCode.none
    victim = next(id for id in (101, 102, 103) if id != active(controllers))
    kill(controllers, victim)
    shutil.rmtree(controllers.directory(victim))
    format_directory(controllers.directory(victim), victim, CLUSTER_ID, 0)
    controllers.start(victim)
    until(lambda: any(controllers.metadata(victim).glob("*.checkpoint")))
    others = {101, 102, 103} - {victim}
    for other in others:  # one after the other: at last the victim has led, or could have
        kill(controllers, other)
        assert create(controllers, "topic-5") is ErrorCode.topic_already_exists
        controllers.start(other)
        active(controllers)
    beat(controllers, epoch)
