"""kcat, the learner's stethoscope: tested where it is installed."""

import json
import subprocess

import pytest

from engine.storage.records import Record
from tests.interop.clients import CLIENTS, CODECS, SECOND
from tests.limits import ANSWER_S

RECORDS = [
    Record(0, SECOND, b"key", b"value"),
    Record(1, SECOND + 5, None, "naïve ✓".encode() * 5000, (("trace", b"1"), ("trace", b"2"))),
    Record(2, SECOND - 5, b"gone", None),
]


@pytest.fixture
def kcat(cluster):
    def kcat(*words, given=""):
        told = subprocess.run(
            ["kcat", "-b", cluster.bootstrap, *words],
            input=given,
            capture_output=True,
            text=True,
            timeout=2 * ANSWER_S,
            check=True,
        )
        return told.stdout

    return kcat


def shown(record):
    """A record as kcat prints it."""
    key, value = (each and each.decode() for each in (record.key, record.value))
    row = {"offset": record.offset, "ts": record.timestamp, "key": key, "payload": value}
    headers = [text for name, content in record.headers for text in (name, content.decode())]
    return row | ({"headers": headers} if headers else {})


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("reader", CLIENTS)
def test_others_read_what_it_writes(cluster, topic, kcat, reader, codec):
    lines = "".join(f"key {n}|value {n}\n" for n in range(100)) + "tombstone|\n"
    kcat("-P", "-t", topic, "-p", "0", "-K|", "-Z", "-z", codec, "-H", "h=1", given=lines)
    read = CLIENTS[reader].read(cluster.bootstrap, topic, 101)
    expected = [(b"key %d" % n, b"value %d" % n) for n in range(100)] + [(b"tombstone", None)]
    assert [(record.key, record.value) for record in read] == expected
    assert {record.headers for record in read} == {(("h", b"1"),)}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", CLIENTS)
def test_it_reads_what_others_write(cluster, topic, kcat, writer, codec):
    CLIENTS[writer].write(cluster.bootstrap, topic, RECORDS, codec)
    lines = kcat("-C", "-t", topic, "-p", "0", "-e", "-J").splitlines()
    for line, record in zip(lines, RECORDS, strict=True):
        assert shown(record).items() <= json.loads(line).items()


@pytest.mark.parametrize(
    ("start", "keys"),
    [("beginning", "0123456789"), ("7", "789"), ("-2", "89"), (f"s@{SECOND + 401}", "56789")],
)
def test_where_to_begin(cluster, topic, kcat, start, keys):
    ten = [Record(n, SECOND + 100 * n, b"%d" % n, b"") for n in range(10)]
    CLIENTS["confluent"].write(cluster.bootstrap, topic, ten, "none")
    assert kcat("-C", "-t", topic, "-p", "0", "-o", start, "-e", "-f", "%k") == keys


def test_what_there_is(cluster, topic, kcat):
    CLIENTS["confluent"].write(cluster.bootstrap, topic, RECORDS, "none")
    listed = json.loads(kcat("-L", "-J"))
    assert listed["brokers"] == [{"id": 1, "name": cluster.bootstrap}]
    assert listed["controllerid"] == 1
    (described,) = [each for each in listed["topics"] if each["topic"] == topic]
    assert described["partitions"] == [
        {"partition": n, "leader": 1, "replicas": [{"id": 1}], "isrs": [{"id": 1}]} for n in (0, 1)
    ]
    assert kcat("-Q", "-t", f"{topic}:0:{SECOND + 1}").split() == [topic, "[0]", "offset", "1"]
