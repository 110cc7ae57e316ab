"""Old request versions and message formats: our broker answers what Kafka 2.8.2 answers.

Partition 0 of each topic is led by ours, partition 1 by Kafka's. The same requests go to both, and
the answers are compared, the converted messages byte for byte where they are not compressed.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from struct import pack
from types import SimpleNamespace as Message
from typing import Any
from zlib import crc32

import pytest

from engine.cluster.kafka_process import KAFKA, OURS
from engine.storage import records
from engine.storage.batch import Codec
from engine.storage.message_sets import decode, encode_messages
from engine.storage.records import Record
from engine.wire.apis import Api
from tests.cluster.truth import Truth
from tests.interop.raw import Raw, create, fetch, produce
from tests.limits import ANSWER_S
from tests.real.conftest import new_topic
from tests.real.kafka import MixedCluster

LAYOUTS = [({1: OURS, 2: KAFKA}, "2.8")]
SETTINGS = {"min.insync.replicas": "1", "log.message.timestamp.difference.max.ms": str(2**62)}
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
THREE = [Record(n, 1_600_000_000_000 + n, b"key-%d" % n, b"value-%d" % n) for n in range(3)]
NO_KEYS = [each._replace(key=None) for each in THREE]
ANSWER = timedelta(seconds=ANSWER_S)
Ask = Callable[[Raw, str, int], Any]


@pytest.fixture
def clients(cluster: MixedCluster) -> Iterator[list[Raw]]:
    addresses = cluster.bootstrap.split(",")
    clients = [Raw(address) for address in addresses]
    yield clients
    for each in clients:
        each.close()


@pytest.fixture
def alike(clients: list[Raw], topic: str) -> Callable[[Ask], Any]:
    """Asks both brokers for the partition that each of them leads; returns the common answer."""

    def ask(question: Ask) -> Any:
        ours, kafkas = (question(client, topic, n) for n, client in enumerate(clients))
        assert ours == kafkas
        return ours

    return ask


@pytest.fixture
def topic(cluster: MixedCluster, truth: Truth) -> str:
    return new_topic(cluster, truth, [[1, 2], [2, 1]])


def stored(data: bytes, version: int, **more: Any) -> Ask:
    """Produces, and returns what is known about it."""

    def ask(client: Raw, topic: str, partition: int) -> Any:
        answer = client.produce(topic, data, version, partition=partition, **more)
        return answer.error_code.name, answer.base_offset, getattr(answer, "log_append_time", None)

    return ask


def read(offset: int, version: int, max_bytes: int = 1 << 20) -> Ask:
    def ask(client: Raw, topic: str, partition: int) -> Any:
        request = fetch(topic, offset, partition=partition, max_bytes=max_bytes)
        found = client.ask(Api.FETCH, request, version).responses[0].partitions[0]
        return found.error_code.name, found.high_watermark, found.records

    return ask


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_messages_are_stored_and_read_in_any_version(clients, topic, alike, version, codec):
    magic = int(version == 2)
    assert alike(stored(encode_messages(THREE, magic, codec), version))[:2] == ("none", 0)
    assert alike(stored(encode_messages(THREE, magic, codec), version))[:2] == ("none", 3)
    for reader in (0, 1, 2, 3):
        for offset in (0, 1, 4):
            data, found = both(clients, topic, offset, reader)
            assert [each.offset for each in found] == list(range(offset, 6))[: len(found)]
            assert found[0].offset == offset
            assert all((each.timestamp == -1) == (not magic or reader < 2) for each in found)
            if codec is Codec.NONE:
                ours, kafkas = data
                assert kafkas.startswith(ours)  # Kafka fills it up with a partial message


def both(clients: list[Raw], topic: str, offset: int, version: int) -> tuple[list[bytes], Any]:
    """What each of the two sent, and the records in both from the offset on.

    They may send different numbers of messages: both as many as fit in the size of the batches, but
    gzip is not of the same size in Java and here.
    """
    sent, found = [], []
    for partition, client in enumerate(clients):
        code, end, data = read(offset, version)(client, topic, partition)
        assert (code, end) == ("none", 6)
        sent.append(bytes(data))
        found.append([each for each in decode(data) if each.offset >= offset])
    fewer, more = sorted(found, key=len)
    assert fewer == more[: len(fewer)]
    return sent, fewer


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_batches_lose_their_headers_on_the_way_to_an_old_reader(alike, codec):
    batch = records.encode(
        [each._replace(headers=(("trace", b"7"),)) for each in THREE], codec=codec
    )
    assert alike(stored(batch, 3))[:2] == ("none", 0)
    for version in (0, 1, 2, 3):
        decoded = alike(lambda *where, v=version: decode(read(0, v)(*where)[2]))
        expected = THREE if version > 1 else [it._replace(timestamp=-1) for it in THREE]
        assert decoded == expected


def test_a_batch_of_zstd_is_not_converted(alike):
    assert alike(stored(records.encode(THREE, codec=Codec.ZSTD), 9))[0] == "none"
    for version in (0, 1, 2, 3):
        assert alike(read(0, version))[0] == "unsupported_compression_type"
    assert alike(read(0, 4))[0] == "none"


def test_topics_that_old_readers_may_not_read(cluster, truth, clients):
    for settings, versions, code in (
        ({"compression.type": "zstd"}, (0, 3, 4, 9), "unsupported_compression_type"),
        ({"message.downconversion.enable": "false"}, (0, 1, 2, 3), "unsupported_version"),
    ):
        topic = new_topic(cluster, truth, [[1, 2], [2, 1]], **settings)
        for partition, client in enumerate(clients):
            assert (
                client.produce(topic, records.encode(THREE), partition=partition).base_offset == 0
            )
            for version in versions:
                assert read(0, version)(client, topic, partition)[0] == code, (partition, version)
            assert read(0, 10)(client, topic, partition)[0] == "none"


def test_a_reader_with_a_small_buffer_gets_a_part_of_the_first_message(alike):
    large = [Record(0, 1, None, b"x" * 5000)]
    assert alike(stored(records.encode(large), 3))[0] == "none"
    for version in (0, 1, 2):
        code, _, data = alike(read(0, version, max_bytes=200))
        assert (code, len(data), decode(data)) == ("none", 200, [])
    assert alike(lambda *where: decode(read(0, 3, 200)(*where)[2])) == large


def message(magic: int, attributes: int, key: bytes | None, value: bytes | None) -> bytes:
    body = pack(">bb", magic, attributes) + (pack(">q", 5) if magic == 1 else b"")
    for each in (key, value):
        body += pack(">i", -1) if each is None else pack(">i", len(each)) + each
    return pack(">qiI", 0, len(body) + 4, crc32(body)) + body


WHOLE = encode_messages(THREE, 0)
NESTED = message(0, 1, None, records.compress(Codec.GZIP, message(0, 1, None, b"x")))
BAD = {
    "no message": b"",
    "a part of one": WHOLE[:20],
    "the last is cut": WHOLE[:-3],
    "a wrong CRC": WHOLE[:20] + b"?" + WHOLE[21:],
    "a size below the least": pack(">qi", 0, 13) + bytes(40),
    "two magics": encode_messages(THREE, 0) + encode_messages(THREE, 1),
    "a wrapper and a message": encode_messages(THREE, 0, Codec.GZIP) + WHOLE,
    "two wrappers": encode_messages(THREE, 0, Codec.GZIP) * 2,
    "a wrapper of nothing": message(0, 1, None, None),
    "a wrapper of no message": message(0, 1, None, records.compress(Codec.GZIP, b"")),
    "a wrapper in a wrapper": NESTED,
    "zstd": message(1, 4, None, b"anything"),
    "another magic within": message(1, 1, None, records.compress(Codec.GZIP, WHOLE)),
    "log append time": message(1, 8, None, b"x"),
    "damaged gzip": message(0, 1, None, b"no gzip at all"),
    "a wrong CRC within": message(
        0, 1, None, records.compress(Codec.GZIP, WHOLE[:20] + b"?" + WHOLE[21:])
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_messages_get_the_same_error(alike, what):
    assert alike(stored(WHOLE, 0))[:2] == ("none", 0)
    version = 2 if BAD[what][16:17] == b"\1" else 0
    alike(stored(BAD[what], version))
    assert alike(stored(WHOLE, 0))[0] == "none"  # on the same connection
    alike(lambda *where: len(decode(read(0, 0)(*where)[2])))


def test_messages_without_key_or_too_large(cluster, truth, clients):
    topic = new_topic(
        cluster,
        truth,
        [[1, 2], [2, 1]],
        **{"cleanup.policy": "compact", "max.message.bytes": "1000"},
    )
    large = [THREE[0]._replace(value=bytes(2000))]
    for partition, client in enumerate(clients):
        for data, code in (
            (encode_messages(NO_KEYS, 0), "invalid_record"),
            (encode_messages(large, 0), "message_too_large"),
            (encode_messages(large, 1, Codec.GZIP), "none"),
            (encode_messages([large[0]._replace(value=bytes(500))] * 3, 0), "message_too_large"),
        ):
            assert stored(data, 2)(client, topic, partition)[0] == code, (partition, code)


def test_the_offsets_of_list_offsets_0(alike):
    def ask(timestamp: int, most: int) -> Ask:
        def question(client: Raw, topic: str, partition: int) -> Any:
            each = Message(partition_index=partition, timestamp=timestamp, max_num_offsets=most)
            request = Message(replica_id=-1, topics=(Message(name=topic, partitions=(each,)),))
            found = client.ask(Api.LIST_OFFSETS, request, 0).topics[0].partitions[0]
            return found.error_code.name, found.old_style_offsets

        return question

    assert alike(ask(-1, 5)) == ("none", (0,))
    alike(stored(WHOLE, 0))
    assert alike(ask(-1, 1)) == ("none", (3,))
    assert alike(ask(-1, 5)) == ("none", (3, 0))
    assert alike(ask(-2, 5)) == ("none", (0,))
    assert alike(ask(1, 5)) == ("none", ())
    assert alike(ask(2**62, 5)) == ("none", (3, 0))


def test_offsets_in_zookeeper(clients, topic):
    """What is committed at one broker is read at the other; version 1 does not see it."""
    ours, kafkas = clients

    def commit(client: Raw, offset: int, name: str = topic) -> str:
        part = Message(partition_index=0, committed_offset=offset, committed_metadata="m")
        request = Message(group_id=f"old-{topic}", topics=(Message(name=name, partitions=(part,)),))
        answer = client.ask(Api.OFFSET_COMMIT, request, 0)
        return str(answer.topics[0].partitions[0].error_code.name)

    def committed(client: Raw) -> list[Any]:
        asked = (Message(name=topic, partition_indexes=(0, 1, 9)),)
        answer = client.ask(Api.OFFSET_FETCH, Message(group_id=f"old-{topic}", topics=asked), 0)
        return [(it.committed_offset, it.error_code.name) for it in answer.topics[0].partitions]

    unknown = (-1, "unknown_topic_or_partition")
    assert committed(ours) == committed(kafkas) == [unknown] * 3
    assert commit(ours, 7) == "none"
    assert committed(ours) == committed(kafkas) == [(7, "none"), unknown, unknown]
    assert commit(kafkas, 9) == "none"
    assert committed(ours) == committed(kafkas) == [(9, "none"), unknown, unknown]
    assert commit(ours, 1, "nowhere") == commit(kafkas, 1, "nowhere") == unknown[1]


def test_topics_of_version_0(clients, truth):
    for number, client in enumerate(clients):
        name = f"made-in-version-0-{number}"
        made = clients[0 if truth.controller() == 1 else 1]
        answer = made.ask(Api.CREATE_TOPICS, create(name), 0)
        assert answer.topics[0].error_code.name == "none"
        answer = made.ask(Api.CREATE_TOPICS, create(name), 0)
        assert answer.topics[0].error_code.name == "topic_already_exists"
        truth.await_whole(name)
        gone = made.ask(Api.DELETE_TOPICS, Message(topic_names=(name,), timeout=ANSWER), 0)
        assert gone.responses[0].error_code.name == "none"
        assert client.is_served()


def test_descriptions_of_version_0(alike):
    def configs(client: Raw, topic: str, partition: int) -> Any:
        keys = ("cleanup.policy", "segment.bytes", "min.insync.replicas")
        asked = Message(resource_type=2, resource_name=topic, configuration_keys=keys)
        (answer,) = client.ask(Api.DESCRIBE_CONFIGS, Message(resources=(asked,)), 0).results
        return sorted((it.name, it.value, it.read_only, it.is_default) for it in answer.configs)

    def epochs(version: int) -> Ask:
        def question(client: Raw, topic: str, partition: int) -> Any:
            each = Message(partition=partition, leader_epoch=0)
            asked = Message(topics=(Message(topic=topic, partitions=(each,)),), replica_id=-1)
            answer = client.ask(Api.OFFSET_FOR_LEADER_EPOCH, asked, version)
            (found,) = answer.topics[0].partitions
            return found.error_code.name, found.end_offset, found.leader_epoch

        return question

    assert [name for name, *_ in alike(configs)] == [
        "cleanup.policy",
        "min.insync.replicas",
        "segment.bytes",
    ]
    alike(stored(WHOLE, 0))
    assert alike(epochs(0)) == ("none", 3, -1)
    assert alike(epochs(1)) == ("none", 3, 0)


def test_acls_and_tokens_of_version_0(clients):
    acl = {"resource_type_filter": 2, "resource_name_filter": "t", "principal_filter": None}
    acl |= {"host_filter": None, "operation": 2, "permission_type": 3}
    for api, request, field in (
        (Api.DESCRIBE_ACLS, Message(**acl), "error_code"),
        (Api.DELETE_ACLS, Message(filters=(Message(**acl),)), "filter_results"),
        (Api.DESCRIBE_DELEGATION_TOKEN, Message(owners=None), "error_code"),
    ):
        answers = [getattr(client.ask(api, request, 0), field) for client in clients]
        assert repr(answers[0]) == repr(answers[1])
    log_dirs = [client.ask(Api.DESCRIBE_LOG_DIRS, Message(topics=None), 0) for client in clients]
    assert [len(each.results) for each in log_dirs] == [1, 1]


def test_without_acks_bad_messages_end_the_connection(cluster, clients, topic):
    for partition, address in enumerate(cluster.bootstrap.split(",")):
        with Raw(address) as client:
            bad = produce(topic, BAD["a wrong CRC"], partition=partition, acks=0)
            client.post(Api.PRODUCE, bad, 0)
            assert client.hung_up()
        assert clients[partition].is_served()
