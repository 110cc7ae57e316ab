"""Every limit and default of the engine, under Kafka's names, in one place.

`TopicConfig` and `BrokerConfig` are both the definition and the documentation: see topic.py and
broker.py. Names and defaults are those of Kafka 2.8.

    topic = TopicConfig.parse({"segment.bytes": "1048576"}, base=broker.topic_defaults())
    topic.segment_bytes                              # 1048576

The clients' keys are in client.py, which they share, and in producer.py, consumer.py, admin.py;
each client imports its own.
"""

from engine.config.broker import BrokerConfig
from engine.config.describe import Entry, Layer, Source, Synonym, describe_broker, describe_topic
from engine.config.key import Config, Key, Type
from engine.config.topic import TopicConfig

__all__ = [
    "BrokerConfig",
    "Config",
    "Entry",
    "Key",
    "Layer",
    "Source",
    "Synonym",
    "TopicConfig",
    "Type",
    "describe_broker",
    "describe_topic",
]
