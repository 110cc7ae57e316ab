"""An application.yml of Spring Boot in the words of the clients."""

from typing import Any

import pytest
import yaml

from engine import application_settings
from engine.client.listener.application import parse_yaml
from engine.errors import ApiException

SAMPLE = """\
server:
  port: 8080

spring:
  kafka:
    bootstrap-servers: 127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094
    producer: # producer
      retries: 3 # If a value greater than 0 is set, the client will resend
      batch-size: 16384
      buffer-memory: 33554432
      acks: 1
      # Specifies the encoding and decoding method of the message key and message body
      key-serializer: org.apache.kafka.common.serialization.StringSerializer
      value-serializer: org.apache.kafka.common.serialization.StringSerializer
    consumer:
      group-id: default-group
      enable-auto-commit: false
      auto-offset-reset: earliest
      key-deserializer: org.apache.kafka.common.serialization.StringDeserializer
      value-deserializer: org.apache.kafka.common.serialization.StringDeserializer
    listener:
      # RECORD
      # Commit immediately after manually calling acknowledge. Acknowledge()
      # MANUAL_IMMEDIATE
      ack-mode: MANUAL_IMMEDIATE
"""
SERVERS = "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"


def below(text: str) -> str:
    """The same text, under spring.kafka."""
    lines = text.splitlines()
    return "spring:\n  kafka:\n" + "".join(f"    {line}\n" for line in lines)


def test_the_sample_of_the_article() -> None:
    settings = application_settings(SAMPLE)
    assert settings.producer == {
        "bootstrap.servers": SERVERS,
        "retries": 3,
        "batch.size": 16384,
        "buffer.memory": 33554432,
        "acks": 1,
    }
    assert settings.consumer == {
        "bootstrap.servers": SERVERS,
        "group.id": "default-group",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    assert settings.listener == {"ack_mode": "MANUAL_IMMEDIATE"}
    assert ("spring.kafka.producer.batch-size", "producer", "batch.size", 16384) in settings.rows
    without = [row.key for row in settings.rows if not row.ours]
    assert [key.rpartition(".")[2] for key in without] == [
        "key-serializer",
        "value-serializer",
        "key-deserializer",
        "value-deserializer",
    ]
    assert application_settings(yaml.safe_load(SAMPLE)) == settings


def test_spellings_sizes_times_and_own_names() -> None:
    text = """\
bootstrapServers: [a:1, b:2]
properties:
  reconnect.backoff.ms: 70
  max.block.ms: 500
producer:
  batch_size: 32KB
  bootstrap-servers: "c:3"
  properties:
    linger.ms: 5
consumer:
  fetchMaxWait: 2s
  isolation-level: read-committed
  properties:
    session:
      timeout.ms: 7000
listener:
  ack-mode: count-time
  ack-time: 500
  ack-count: 120
  concurrency: 6
"""
    settings = application_settings(below(text))
    assert settings.producer == {
        "bootstrap.servers": "c:3",
        "reconnect.backoff.ms": 70,
        "max.block.ms": 500,
        "batch.size": 32768,
        "linger.ms": 5,
    }
    assert settings.consumer == {
        "bootstrap.servers": "a:1,b:2",
        "reconnect.backoff.ms": 70,
        "fetch.max.wait.ms": 2000,
        "isolation.level": "read_committed",
        "session.timeout.ms": 7000,
    }
    assert settings.listener == {
        "ack_mode": "COUNT_TIME",
        "ack_time": 0.5,
        "ack_count": 120,
        "concurrency": 6,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("produce:\n  acks: 1", "Unknown key spring.kafka.produce; did you mean spring.kafka.prod"),
        ("producer:\n  batchsizes: 1", "did you mean spring.kafka.producer.batch-size?"),
        ("producer:\n  group-id: g", "Unknown key spring.kafka.producer.group-id; "),
        ("producer: 5", "spring.kafka.producer has keys below it, not the value 5"),
        ("producer:\n  batch-size: big", "Invalid value big for spring.kafka.producer.batch-size"),
        ("consumer:\n  fetch-max-wait: 2x", "it is not a time, such as 500 or 2s"),
        ("consumer:\n  key-deserializer: JsonDeserializer", "only the serializers for String"),
        ("listener:\n  ack-mode: soon", "there is no ack mode soon"),
        ("listener:\n  concurrency: two", "it is not a whole number"),
        ("producer:\n  properties:\n    linger.msec: 5", "did you mean linger.ms?"),
        ("bootstrap-servers: a:1\nproducer:\n  acks: 2", "Invalid value 2 for configuration acks"),
        ("listener:\n  properties: 1", "Unknown key spring.kafka.listener.properties"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(ApiException) as refused:
        application_settings(below(text))
    assert words in refused.value.message


def test_a_file_without_kafka_has_no_settings() -> None:
    assert application_settings("server:\n  port: 8080\n") == ({}, {}, {}, [])


@pytest.mark.parametrize(
    "text",
    [
        SAMPLE,
        "a:\n  b: 'x # y' # z\n  c: \"1\"\nd: http://e:1/#f\n",
        "---\na: true\nb: [1, x, false]\nc:\n    d: -5\ne: 1.5.2\n",
    ],
)
def test_the_reader_reads_what_yaml_reads(text: str) -> None:
    found: Any = yaml.safe_load(text)
    assert parse_yaml(text) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [("a\n", "line 1 is not KEY: VALUE: a"), ("a: 1\n\na: 2\n", "line 3: a is there twice")],
)
def test_what_is_no_mapping_is_refused(text: str, words: str) -> None:
    with pytest.raises(ApiException, match=words):
        parse_yaml(text)
