"""What brokers say to each other: every version, against the bytes of Kafka's own classes."""

import dataclasses
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ErrorCode
from engine.wire import schema
from engine.wire.apis import APIS, Api
from engine.wire.codec import (
    decode_request,
    decode_response,
    encode_request,
    message,
)
from engine.wire.errors import Malformed, RequestHeader
from engine.wire.messages import (
    alter_isr,
    controlled_shutdown,
    leader_and_isr,
    stop_replica,
    update_metadata,
    write_txn_markers,
)
from tests.unit.wire.frames import encode_response

# Written by the message classes of kafka-clients 2.8.2 (Java), header included.
KAFKA = {
    (Api.LEADER_AND_ISR, 2, "request"): (
        "000400020000000700026d650000000100000005000000000000012c0000000100066f7264657273"
        "00000001000000020000000400000001000000090000000200000001000000030000000c00000003"
        "00000001000000020000000301000000010000000100093132372e302e302e3100002384"
    ),
    (Api.LEADER_AND_ISR, 2, "response"): ("00000007000b0000000100066f7264657273000000020038"),
    (Api.LEADER_AND_ISR, 3, "request"): (
        "000400030000000700026d650000000100000005000000000000012c0000000100066f7264657273"
        "00000001000000020000000400000001000000090000000200000001000000030000000c00000003"
        "00000001000000020000000300000001000000030000000100000002010000000100000001000931"
        "32372e302e302e3100002384"
    ),
    (Api.LEADER_AND_ISR, 3, "response"): ("00000007000b0000000100066f7264657273000000020038"),
    (Api.LEADER_AND_ISR, 4, "request"): (
        "000400040000000700026d65000000000100000005000000000000012c02076f7264657273020000"
        "00020000000400000001000000090300000001000000030000000c04000000010000000200000003"
        "0200000003020000000201000002000000010a3132372e302e302e31000023840000"
    ),
    (Api.LEADER_AND_ISR, 4, "response"): ("0000000700000b02076f72646572730000000200380000"),
    (Api.LEADER_AND_ISR, 5, "request"): (
        "000400050000000700026d65000000000100000005000000000000012c0102076f72646572730102"
        "030405060708090a0b0c0d0e0f100200000002000000040000000100000009030000000100000003"
        "0000000c040000000100000002000000030200000003020000000201000002000000010a3132372e"
        "302e302e31000023840000"
    ),
    (Api.LEADER_AND_ISR, 5, "response"): (
        "0000000700000b020102030405060708090a0b0c0d0e0f1002000000020038000000"
    ),
    (Api.UPDATE_METADATA, 5, "request"): (
        "000600050000000700026d650000000100000005000000000000012c0000000100066f7264657273"
        "000000010000000200000004fffffffe000000090000000200000001000000030000000c00000003"
        "00000001000000020000000300000001000000020000000200000001000000010000238400093132"
        "372e302e302e310009504c41494e5445585400000004656173740000000200000000ffff"
    ),
    (Api.UPDATE_METADATA, 5, "response"): ("00000007004d"),
    (Api.UPDATE_METADATA, 6, "request"): (
        "000600060000000700026d65000000000100000005000000000000012c02076f7264657273020000"
        "000200000004fffffffe000000090300000001000000030000000c04000000010000000200000003"
        "02000000020000030000000102000023840a3132372e302e302e310a504c41494e54455854000000"
        "0565617374000000000201000000"
    ),
    (Api.UPDATE_METADATA, 6, "response"): ("0000000700004d00"),
    (Api.UPDATE_METADATA, 7, "request"): (
        "000600070000000700026d65000000000100000005000000000000012c02076f7264657273010203"
        "0405060708090a0b0c0d0e0f10020000000200000004fffffffe0000000903000000010000000300"
        "00000c0400000001000000020000000302000000020000030000000102000023840a3132372e302e"
        "302e310a504c41494e544558540000000565617374000000000201000000"
    ),
    (Api.UPDATE_METADATA, 7, "response"): ("0000000700004d00"),
    (Api.STOP_REPLICA, 3, "request"): (
        "000500030000000700026d65000000000100000005000000000000012c02076f7264657273030000"
        "0002fffffffe010000000003ffffffff00000000"
    ),
    (Api.STOP_REPLICA, 3, "response"): ("0000000700000002076f726465727300000002004a0000"),
    (Api.CONTROLLED_SHUTDOWN, 1, "request"): ("000700010000000700026d6500000003"),
    (Api.CONTROLLED_SHUTDOWN, 1, "response"): ("00000007004d0000000100066f726465727300000002"),
    (Api.CONTROLLED_SHUTDOWN, 2, "request"): ("000700020000000700026d6500000003000000000000012c"),
    (Api.CONTROLLED_SHUTDOWN, 2, "response"): ("00000007004d0000000100066f726465727300000002"),
    (Api.CONTROLLED_SHUTDOWN, 3, "request"): (
        "000700030000000700026d650000000003000000000000012c00"
    ),
    (Api.CONTROLLED_SHUTDOWN, 3, "response"): ("0000000700004d02076f7264657273000000020000"),
    (Api.WRITE_TXN_MARKERS, 0, "request"): (
        "001b00000000000700026d65000000010000000000000fa00002010000000100066f726465727300"
        "000002000000000000000200000005"
    ),
    (Api.WRITE_TXN_MARKERS, 0, "response"): (
        "00000007000000010000000000000fa00000000100066f72646572730000000200000000000000000002002f"
    ),
    (Api.WRITE_TXN_MARKERS, 1, "request"): (
        "001b00010000000700026d6500020000000000000fa000020102076f726465727303000000000000"
        "000200000000050000"
    ),
    (Api.WRITE_TXN_MARKERS, 1, "response"): (
        "0000000700020000000000000fa002076f7264657273030000000000000000000002002f00000000"
    ),
    (Api.ALTER_ISR, 0, "request"): (
        "003800000000000700026d650000000003000000000000012c02076f726465727302000000020000"
        "00090300000003000000010000000c000000"
    ),
    (Api.ALTER_ISR, 0, "response"): (
        "000000070000000000000002076f7264657273030000000200000000000300000009030000000300"
        "0000010000000d0000000004005f00000000000000000100000000000000"
    ),
}
ID = UUID(bytes=bytes(range(1, 17)))
EVERY = pytest.mark.parametrize(("api", "version", "kind"), KAFKA, ids=str)


def leader_and_isr_request(version=5):
    """What was sent to the classes of Kafka, less what a version has no room for."""
    moving = {"adding_replicas": (3,), "removing_replicas": (2,)} if version >= 3 else {}
    partition = leader_and_isr.LeaderAndIsrPartitionState(
        partition_index=2,
        controller_epoch=4,
        leader=1,
        leader_epoch=9,
        isr=(1, 3),
        zk_version=12,
        replicas=(1, 2, 3),
        is_new=True,
        **moving,
    )
    return leader_and_isr.LeaderAndIsrRequest(
        controller_id=1,
        controller_epoch=5,
        broker_epoch=300,
        type=1 if version >= 5 else 0,
        topic_states=(
            leader_and_isr.LeaderAndIsrTopicState(
                topic_name="orders",
                topic_id=ID if version >= 5 else None,
                partition_states=(partition,),
            ),
        ),
        live_leaders=(
            leader_and_isr.LeaderAndIsrLiveLeader(broker_id=1, host_name="127.0.0.1", port=9092),
        ),
    )


def leader_and_isr_response(version=None):
    """Whoever answers fills in both lists; a version has one of them."""
    refused = leader_and_isr.LeaderAndIsrPartitionError(
        topic_name="orders" if version in (None, 2, 3, 4) else "",
        partition_index=2,
        error_code=ErrorCode.kafka_storage_error,
    )
    topic = leader_and_isr.LeaderAndIsrTopicError(topic_id=ID, partition_errors=(refused,))
    return leader_and_isr.LeaderAndIsrResponse(
        error_code=ErrorCode.stale_controller_epoch,
        partition_errors=(refused,) if version in (None, 2, 3, 4) else (),
        topics=(topic,) if version in (None, 5) else (),
    )


def update_metadata_request(version=7):
    partition = update_metadata.UpdateMetadataPartitionState(
        partition_index=2,
        controller_epoch=4,
        leader=update_metadata.LEADER_DURING_DELETE,
        leader_epoch=9,
        isr=(1, 3),
        zk_version=12,
        replicas=(1, 2, 3),
        offline_replicas=(2,),
    )
    return update_metadata.UpdateMetadataRequest(
        controller_id=1,
        controller_epoch=5,
        broker_epoch=300,
        topic_states=(
            update_metadata.UpdateMetadataTopicState(
                topic_name="orders",
                topic_id=ID if version >= 7 else None,
                partition_states=(partition,),
            ),
        ),
        live_brokers=(
            update_metadata.UpdateMetadataBroker(
                id=1,
                endpoints=(update_metadata.UpdateMetadataEndpoint(port=9092, host="127.0.0.1"),),
                rack="east",
            ),
            update_metadata.UpdateMetadataBroker(id=2, endpoints=()),
        ),
    )


def update_metadata_response(version=7):
    return update_metadata.UpdateMetadataResponse(error_code=ErrorCode.stale_broker_epoch)


def stop_replica_request(version=3):
    return stop_replica.StopReplicaRequest(
        controller_id=1,
        controller_epoch=5,
        broker_epoch=300,
        topic_states=(
            stop_replica.StopReplicaTopicState(
                topic_name="orders",
                partition_states=(
                    stop_replica.StopReplicaPartitionState(
                        partition_index=2,
                        leader_epoch=stop_replica.EPOCH_DURING_DELETE,
                        delete_partition=True,
                    ),
                    stop_replica.StopReplicaPartitionState(
                        partition_index=3, delete_partition=False
                    ),
                ),
            ),
        ),
    )


def stop_replica_response(version=3):
    fenced = stop_replica.StopReplicaPartitionError(
        topic_name="orders", partition_index=2, error_code=ErrorCode.fenced_leader_epoch
    )
    return stop_replica.StopReplicaResponse(partition_errors=(fenced,))


def controlled_shutdown_request(version=3):
    return controlled_shutdown.ControlledShutdownRequest(
        broker_id=3, broker_epoch=300 if version >= 2 else -1
    )


def controlled_shutdown_response(version=3):
    return controlled_shutdown.ControlledShutdownResponse(
        error_code=ErrorCode.stale_broker_epoch,
        remaining_partitions=(
            controlled_shutdown.RemainingPartition(topic_name="orders", partition_index=2),
        ),
    )


def write_txn_markers_request(version=1):
    topic = write_txn_markers.WritableTxnMarkerTopic(name="orders", partition_indexes=(0, 2))
    return write_txn_markers.WriteTxnMarkersRequest(
        markers=(
            write_txn_markers.WritableTxnMarker(
                producer_id=4000,
                producer_epoch=2,
                transaction_result=True,
                topics=(topic,),
                coordinator_epoch=5,
            ),
        )
    )


def write_txn_markers_response(version=1):
    result = write_txn_markers.WritableTxnMarkerPartitionResult
    done = result(partition_index=0)
    fenced = result(partition_index=2, error_code=ErrorCode.invalid_producer_epoch)
    topic = write_txn_markers.WritableTxnMarkerTopicResult(name="orders", partitions=(done, fenced))
    marker = write_txn_markers.WritableTxnMarkerResult(producer_id=4000, topics=(topic,))
    return write_txn_markers.WriteTxnMarkersResponse(markers=(marker,))


def alter_isr_request(version=0):
    partition = alter_isr.AlterIsrPartition(
        partition_index=2, leader_epoch=9, new_isr=(3, 1), current_isr_version=12
    )
    topic = alter_isr.AlterIsrTopic(name="orders", partitions=(partition,))
    return alter_isr.AlterIsrRequest(broker_id=3, broker_epoch=300, topics=(topic,))


def alter_isr_response(version=0):
    written = alter_isr.AlterIsrPartitionResult(
        partition_index=2, leader_id=3, leader_epoch=9, isr=(3, 1), current_isr_version=13
    )
    refused = alter_isr.AlterIsrPartitionResult(
        partition_index=4, error_code=ErrorCode.invalid_update_version
    )
    topic = alter_isr.AlterIsrTopicResult(name="orders", partitions=(written, refused))
    return alter_isr.AlterIsrResponse(topics=(topic,))


SAMPLES = {
    (Api.LEADER_AND_ISR, "request"): leader_and_isr_request,
    (Api.LEADER_AND_ISR, "response"): leader_and_isr_response,
    (Api.UPDATE_METADATA, "request"): update_metadata_request,
    (Api.UPDATE_METADATA, "response"): update_metadata_response,
    (Api.STOP_REPLICA, "request"): stop_replica_request,
    (Api.STOP_REPLICA, "response"): stop_replica_response,
    (Api.CONTROLLED_SHUTDOWN, "request"): controlled_shutdown_request,
    (Api.CONTROLLED_SHUTDOWN, "response"): controlled_shutdown_response,
    (Api.WRITE_TXN_MARKERS, "request"): write_txn_markers_request,
    (Api.WRITE_TXN_MARKERS, "response"): write_txn_markers_response,
    (Api.ALTER_ISR, "request"): alter_isr_request,
    (Api.ALTER_ISR, "response"): alter_isr_response,
}


def encoded(api, version, kind, sent):
    encode = encode_request if kind == "request" else encode_response
    return encode(RequestHeader(api, version, 7, "me"), sent)[4:]


def decoded(api, version, kind, frame):
    header = RequestHeader(api, version, 7, "me")
    if kind == "response":
        return decode_response(header, frame)
    found, request = decode_request(frame, APIS)
    assert found == header
    return request


@EVERY
def test_the_newest_shape_is_written_as_kafka_writes_the_version(api, version, kind):
    assert encoded(api, version, kind, SAMPLES[api, kind]()).hex() == KAFKA[api, version, kind]


@EVERY
def test_what_kafka_wrote_is_read_in_the_newest_shape(api, version, kind):
    read = decoded(api, version, kind, bytes.fromhex(KAFKA[api, version, kind]))
    assert read == SAMPLES[api, kind](version)  # which is to say, of the same class too


def test_every_version_that_is_served_is_compared():
    assert set(KAFKA) == {
        (api, version, kind)
        for api in APIS.values()
        if api.between_brokers
        for version in range(api.oldest, api.newest + 1)
        for kind in ("request", "response")
    }


@EVERY
def test_cut_off_anywhere_it_is_malformed(api, version, kind):
    whole = bytes.fromhex(KAFKA[api, version, kind])
    for end in range(len(whole)):
        with pytest.raises(Malformed):
            decoded(api, version, kind, whole[:end])


@EVERY
def test_with_any_bit_flipped_it_is_a_message_or_malformed(api, version, kind):
    whole = bytes.fromhex(KAFKA[api, version, kind])
    header = RequestHeader(api, version, 7, "me")
    messages = refused = 0
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            if kind == "request":
                decode_request(flipped, {api})
            else:
                decode_response(header, flipped)
            messages += 1
        except Malformed:
            refused += 1
    assert messages and refused


INT = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}


def anything(declared):
    """A strategy for a message with anything in it that its fields can hold."""
    return st.builds(declared, **{each.name: content(each) for each in schema.fields(declared)})


def content(field):
    if not isinstance(field.type, str):
        return st.lists(anything(field.type), max_size=3).map(tuple)
    if field.type in INT:
        bits = INT[field.type]
        one = st.integers(-(2**bits), 2**bits - 1)
        return st.lists(one, max_size=4).map(tuple) if field.is_array else one
    one = {
        "bool": st.booleans(),
        "string": st.text(max_size=20),
        "uuid": st.uuids(),
        "error_code": st.sampled_from(ErrorCode),
    }[field.type]
    return st.none() | one if field.nullable else one


def without_what_it_lacks(full, declared):
    """The same message with defaults for what a version has no room for."""
    here = {field.name: field for field in schema.fields(declared)}
    kept = {}
    for field in schema.fields(type(full)):
        value = getattr(full, field.name)
        if field.name not in here:
            value = field.default
        elif not isinstance(field.type, str):
            value = tuple(without_what_it_lacks(one, here[field.name].type) for one in value)
        kept[field.name] = value
    return dataclasses.replace(full, **kept)


@EVERY
@settings(max_examples=30)
@given(st.data())
def test_there_and_back(api, version, kind, data):
    sent = data.draw(anything(type(SAMPLES[api, kind]())))
    read = decoded(api, version, kind, encoded(api, version, kind, sent))
    assert read == without_what_it_lacks(sent, message(api, version, kind))
