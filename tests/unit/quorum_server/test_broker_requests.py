"""What brokers and administrators ask of an active controller, on its wire."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from uuid import UUID

import pytest
from kio.schema.default_principal_data.v0.data import DefaultPrincipalData

from engine.config.quorum import STANDARD_AUTHORIZER, ControllerConfig
from engine.errors import ErrorCode
from engine.raft.bootstrap import format_directory
from engine.wire.apis import APIS, Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from engine.wire.errors import RequestHeader
from engine.wire.frame import SIZE
from engine.wire.primitives import Draft
from engine.wire.writers import message_writer
from tests.unit.quorum_server.running import CLUSTER, KEYS, NODE, QUICK, controller

LISTENER = SimpleNamespace(name="PLAINTEXT", host="h", port=9092, security_protocol=0)
LEVELS = SimpleNamespace(name="metadata.version", min_supported_version=1, max_supported_version=21)
GUARDED = ControllerConfig(
    **KEYS, authorizer_class_name=STANDARD_AUTHORIZER, super_users="User:ANONYMOUS"
)
LOCALHOST = bytes([127, 0, 0, 1])


@pytest.fixture
def run(tmp_path):
    """Runs a coroutine function with the connection to a controller."""
    format_directory(tmp_path, NODE, CLUSTER, 0)

    def run(test, config=QUICK):
        async def inside():
            async with controller(tmp_path, config) as peer:
                return await test(peer)

        return asyncio.run(inside())

    return run


async def register(peer, broker=1, incarnation=1, cluster=CLUSTER, migrates=False):
    return await peer.ask(
        ControllerApi.BROKER_REGISTRATION,
        SimpleNamespace(
            broker_id=broker,
            cluster_id=cluster,
            incarnation_id=UUID(int=incarnation),
            listeners=[LISTENER],
            features=[LEVELS],
            rack=None,
            is_migrating_zk_broker=migrates,
        ),
    )


async def active(peer):
    """A controller that leads activates a moment later."""
    while (told := await register(peer)).error_code is ErrorCode.not_controller:
        await asyncio.sleep(0)
    await beat(peer, told.broker_epoch, told.broker_epoch)
    return told.broker_epoch


async def beat(peer, epoch, offset, *, shutdown=False):
    return await peer.ask(
        ControllerApi.BROKER_HEARTBEAT,
        SimpleNamespace(
            broker_id=1,
            broker_epoch=epoch,
            current_metadata_offset=offset,
            want_fence=False,
            want_shut_down=shutdown,
        ),
    )


def test_a_broker_registers_is_unfenced_and_gets_producer_ids(run):
    async def test(peer):
        epoch = await active(peer)
        unfenced = await beat(peer, epoch, epoch)
        ids = SimpleNamespace(broker_id=1, broker_epoch=epoch)
        first = await peer.ask(ControllerApi.ALLOCATE_PRODUCER_IDS, ids)
        stale = await peer.ask(
            ControllerApi.ALLOCATE_PRODUCER_IDS, SimpleNamespace(broker_id=1, broker_epoch=-1)
        )
        assert (unfenced.is_caught_up, unfenced.is_fenced) == (True, False)
        assert (first.producer_id_start, first.producer_id_len) == (0, 1000)
        assert stale.error_code is ErrorCode.stale_broker_epoch
        assert (await beat(peer, epoch, epoch, shutdown=True)).should_shut_down

    run(test)


def test_strangers_are_refused(run):
    async def test(peer):
        epoch = await active(peer)
        answers = [
            await register(peer, cluster="other"),
            await register(peer, incarnation=2),
            await register(peer, broker=2, migrates=True),
            await beat(peer, epoch + 1, epoch),
            await peer.ask(ControllerApi.UNREGISTER_BROKER, SimpleNamespace(broker_id=9)),
        ]
        assert [answer.error_code for answer in answers] == [
            ErrorCode.inconsistent_cluster_id,
            ErrorCode.duplicate_broker_registration,
            ErrorCode.broker_id_not_registered,
            ErrorCode.stale_broker_epoch,
            ErrorCode.broker_id_not_registered,
        ]

    run(test)


def test_a_leader_alters_its_isr_and_an_unknown_topic_is_refused(run):
    async def test(peer):
        epoch = await active(peer)
        made = await create(peer, "orders")
        (topic,) = made.topics
        assert topic.error_code is ErrorCode.none

        async def alter(topic_id, leader_epoch):
            partition = SimpleNamespace(
                partition_index=0,
                leader_epoch=leader_epoch,
                new_isr=(1,),
                leader_recovery_state=0,
                partition_epoch=0,
            )
            topic = SimpleNamespace(topic_id=topic_id, partitions=[partition])
            request = SimpleNamespace(broker_id=1, broker_epoch=epoch, topics=[topic])
            answer = await peer.ask(ControllerApi.ALTER_PARTITION, request)
            return answer.topics[0].partitions[0]

        known = await alter(topic.topic_id, 0)
        assert (known.error_code, known.isr, known.leader_id) == (ErrorCode.none, (1,), 1)
        unknown = await alter(UUID(int=77), 0)
        assert unknown.error_code is ErrorCode.unknown_topic_id
        newer = await alter(topic.topic_id, 5)
        assert newer.error_code is ErrorCode.not_controller

    run(test)


def test_a_replica_by_hand_may_be_on_a_broker_that_is_fenced(run):
    """Broker 2 is registered, and has not caught up yet: it joins the ISR when it has. Broker 3 is
    not known."""

    async def test(peer):
        await active(peer)
        await register(peer, broker=2)
        wanted = {"orders": (2, 1), "clicks": (2,), "views": (3, 1)}
        rows = [(await create(peer, *it)).topics[0] for it in wanted.items()]
        assert [row.error_code for row in rows] == [
            ErrorCode.none,
            ErrorCode.invalid_replica_assignment,
            ErrorCode.invalid_replica_assignment,
        ]
        assert [row.error_message for row in rows[1:]] == [
            "All brokers specified in the manual partition assignment for partition 0 are fenced "
            "or in controlled shutdown.",
            "Invalid replica assignment: brokers [3] do not exist",
        ]
        more = SimpleNamespace(broker_ids=(1, 2))
        grown = SimpleNamespace(name="orders", count=2, assignments=(more,))
        limit = timedelta(seconds=5)
        request = SimpleNamespace(topics=(grown,), timeout=limit, validate_only=False)
        answer = await peer.ask(ControllerApi.CREATE_PARTITIONS, request)
        assert [row.error_code for row in answer.results] == [ErrorCode.none]

    run(test)


def creation(name, by_hand=()):
    """One partition, on these brokers; without them on any."""
    count = -1 if by_hand else 1
    assignments = (SimpleNamespace(partition_index=0, broker_ids=by_hand),) if by_hand else ()
    topic = SimpleNamespace(
        name=name,
        num_partitions=count,
        replication_factor=count,
        assignments=assignments,
        configs=(),
    )
    return SimpleNamespace(topics=(topic,), timeout=timedelta(seconds=5), validate_only=False)


async def create(peer, name, by_hand=()):
    return await peer.ask(ControllerApi.CREATE_TOPICS, creation(name, by_hand))


@pytest.mark.parametrize(
    ("update", "text"),
    [
        ({"max_version_level": 8, "upgrade_type": 1}, "only supports versions 1-7"),
        ({"max_version_level": 6, "upgrade_type": 2}, "might delete metadata"),
        ({"max_version_level": 6, "upgrade_type": 1}, "without setting the upgrade type"),
        ({"max_version_level": 6, "upgrade_type": 1, "allow_downgrade": True}, "might delete"),
    ],
    ids=str,
)
def test_a_level_that_this_node_cannot_have_is_refused(run, update, text):
    """The last one is a request of version 0, as it is decoded."""

    async def test(peer):
        await active(peer)
        row = SimpleNamespace(feature="metadata.version", **update)
        timeout = timedelta(seconds=5)
        request = SimpleNamespace(timeout=timeout, feature_updates=[row], validate_only=False)
        version = 0 if "allow_downgrade" in update else 1
        header = RequestHeader(ControllerApi.UPDATE_FEATURES, version, 42, "client")
        data = encode_request(header, request, CONTROLLER_APIS)[SIZE.size :]
        _, envelope = wrapped(request_data=data)
        answer = await peer.ask(ControllerApi.ENVELOPE, envelope)
        (result,) = decode_response(header, answer.response_data, CONTROLLER_APIS).results
        assert result.error_code is ErrorCode.invalid_update_version
        assert text in result.error_message

    run(test)


# -- Envelope --------------------------------------------------------------------------------


def principal(name, version=0):
    draft = Draft()
    draft += version.to_bytes(2, "big")
    data = DefaultPrincipalData(type_="User", name=name, token_authenticated=False)
    message_writer(DefaultPrincipalData)(draft, data)
    return bytes(draft)


def wrapped(name="orders", user="alice", **changed):
    header = RequestHeader(Api.CREATE_TOPICS, 7, 42, "client")
    fields = {
        "request_data": encode_request(header, creation(name))[SIZE.size :],
        "request_principal": principal(user),
        "client_host_address": LOCALHOST,
    }
    return header, SimpleNamespace(**{**fields, **changed})


UNKNOWN_OPERATION = encode_request(  # Kafka's parser refuses it
    RequestHeader(Api.CREATE_ACLS, 2, 42, "client"),
    SimpleNamespace(
        creations=[
            SimpleNamespace(
                resource_type=2,
                resource_name="orders",
                resource_pattern_type=3,
                principal="User:alice",
                host="*",
                operation=99,
                permission_type=3,
            )
        ]
    ),
)[SIZE.size :]


async def forward(peer, **changed):
    header, envelope = wrapped(**changed)
    answer = await peer.ask(ControllerApi.ENVELOPE, envelope)
    if answer.error_code is not ErrorCode.none:
        return answer.error_code
    return decode_response(header, answer.response_data, APIS).topics[0].error_code


def test_a_request_in_an_envelope_is_answered_in_one(run):
    async def test(peer):
        await active(peer)
        assert await forward(peer) is ErrorCode.none
        assert await forward(peer) is ErrorCode.topic_already_exists

    run(test)


def test_a_time_out_of_zero_is_over_before_anything_is_begun(run):
    """With ZooKeeper the topic would be made behind the answer."""

    async def test(peer):
        await active(peer)
        header = RequestHeader(Api.CREATE_TOPICS, 7, 42, "client")
        request = creation("orders")
        request.timeout = timedelta()
        data = encode_request(header, request)[SIZE.size :]
        assert await forward(peer, request_data=data) is ErrorCode.request_timed_out
        assert await forward(peer) is ErrorCode.none

    run(test)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"request_principal": None}, ErrorCode.principal_deserialization_failure),
        ({"request_principal": b"\0\1"}, ErrorCode.principal_deserialization_failure),
        ({"request_principal": b"\0\0\xff"}, ErrorCode.principal_deserialization_failure),
        ({"request_principal": principal("a") + b"!"}, ErrorCode.principal_deserialization_failure),
        ({"request_principal": principal("a", 1)}, ErrorCode.principal_deserialization_failure),
        ({"client_host_address": b"far"}, ErrorCode.invalid_request),
        ({"request_data": b"\0"}, ErrorCode.unsupported_version),
        ({"request_data": b"\0\x34\0\0\0\0\0\1\xff\xff"}, ErrorCode.invalid_request),  # Vote
        ({"request_data": b"\0\x13\0\x63\0\0\0\1\xff\xff\0"}, ErrorCode.unsupported_version),
        ({"request_data": UNKNOWN_OPERATION}, ErrorCode.invalid_request),
    ],
    ids=str,
)
def test_an_envelope_that_makes_no_sense_is_refused_and_the_controller_goes_on(run, changed, code):
    async def test(peer):
        await active(peer)
        assert await forward(peer, **changed) is code
        assert await forward(peer) is ErrorCode.none

    run(test)


def test_the_client_is_authorized_not_the_broker_that_forwards(run):
    async def test(peer):
        await active(peer)
        assert await forward(peer) is ErrorCode.topic_authorization_failed
        assert await forward(peer, user="ANONYMOUS") is ErrorCode.none

    run(test, GUARDED)


def test_who_has_no_cluster_action_can_neither_forward_nor_register(run):
    strict = ControllerConfig(**KEYS, authorizer_class_name=STANDARD_AUTHORIZER)

    async def test(peer):
        assert (await register(peer)).error_code is ErrorCode.cluster_authorization_failed
        _, envelope = wrapped()
        answer = await peer.ask(ControllerApi.ENVELOPE, envelope)
        assert answer.error_code is ErrorCode.cluster_authorization_failed

    run(test, strict)
