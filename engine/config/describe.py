"""A configuration for DescribeConfigs: each value and its source.

A value can be set in several places. The first of them is used:

    topic override > this broker's dynamic > all brokers' dynamic > static > the default

Each place is a layer: texts by the names of keys. A topic's key has other names in the layers of a
broker. So with `log.retention.hours=1` on the command line, `retention.ms` has the value 3600000
and the synonym `log.retention.hours` = 1. (Kafka 2.8 drops synonyms of another unit here, and
reports that value as a default.)

The values of passwords, and of keys that are not known, are not described: they may be secrets.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from engine.config.broker import BrokerConfig
from engine.config.inert import InertKey
from engine.config.key import Key, Type, printed
from engine.config.topic import TopicConfig


class Source(IntEnum):
    """The source of a value, by its number in a DescribeConfigs response."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


Layer = tuple[Source, Mapping[str, str]]


class Synonym(NamedTuple):
    """One place where a value is set."""

    name: str
    value: str | None
    source: Source


class Entry(NamedTuple):
    """The description of one key."""

    name: str
    value: str | None
    type: Type
    source: Source
    read_only: bool  # it takes a restart
    synonyms: list[Synonym]  # all places, the used one first
    documentation: str


def describe_topic(
    config: TopicConfig, overrides: Mapping[str, str], layers: Sequence[Layer] = ()
) -> list[Entry]:
    """A topic's keys; the layers are those of this broker."""
    entries = []
    for it in TopicConfig.keys().values():
        synonyms = list(_synonyms(_defaults_of(it.field), layers))
        if it.name in overrides:
            synonyms.insert(0, Synonym(it.name, overrides[it.name], Source.TOPIC))
        value = printed(getattr(config, it.field))
        entries.append(_entry(it, value, synonyms, read_only=False))
    return entries + _unknown(TopicConfig.keys(), [(Source.TOPIC, overrides)])


def describe_broker(config: BrokerConfig, layers: Sequence[Layer] = ()) -> list[Entry]:
    """A broker's keys; without ZooKeeper it has more of them."""
    entries = []
    for it in config.keys().values():
        all_units = _defaults_of(it.topic) if it.topic else [it]
        synonyms = list(_synonyms(all_units, layers))
        while synonyms and synonyms[0].name != it.name:  # used, but in another unit
            del synonyms[0]
        value = printed(getattr(config, it.field))
        entries.append(_entry(it, value, synonyms, read_only=not it.dynamic))
    known = config.known()
    for it in known.values():
        if isinstance(it, InertKey):
            synonyms = list(_synonyms([it], layers))
            value = synonyms[0].value if synonyms else None
            entries.append(_entry(it, value, synonyms, read_only=not it.dynamic))
    return [_hidden(entry) for entry in entries] + _unknown(known, layers)


def _hidden(entry: Entry) -> Entry:
    """A password without its value."""
    if entry.type is not Type.PASSWORD:
        return entry
    return entry._replace(value=None, synonyms=[it._replace(value=None) for it in entry.synonyms])


def _unknown(known: Mapping[str, Key], layers: Sequence[Layer]) -> list[Entry]:
    """Unknown keys: without their values, as by Kafka."""
    found = {name: source for source, values in reversed(layers) for name in values}
    text = "This broker does not know this key, and ignores it."
    return [
        Entry(name, None, Type.UNKNOWN, source, read_only=False, synonyms=[], documentation=text)
        for name, source in found.items()
        if name not in known
    ]


def _defaults_of(topic_field: str) -> list[Key]:
    """The broker's keys for a topic's key, the used one first."""
    return [it for it in BrokerConfig.keys().values() if it.topic == topic_field]


def _synonyms(names: Sequence[Key], layers: Sequence[Layer]) -> Iterator[Synonym]:
    for source, values in sorted(layers, key=lambda layer: layer[0]):
        for it in names:
            if it.name in values:
                yield Synonym(it.name, values[it.name], source)
    for it in names:
        if (default := printed(it.default)) is not None:
            yield Synonym(it.name, default, Source.DEFAULT)


def _entry(it: Key, value: str | None, synonyms: list[Synonym], read_only: bool) -> Entry:
    source = synonyms[0].source if synonyms else Source.DEFAULT
    return Entry(it.name, value, it.type, source, read_only, synonyms, it.doc)
