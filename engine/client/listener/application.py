"""The settings of an application.yml under spring.kafka, in the words of the clients.

    spring:                                          application_settings(text)
      kafka:
        bootstrap-servers: localhost:9092            .producer   {"bootstrap.servers": ...,
        producer:                                                 "batch.size": 16384, ...}
          batch-size: 16KB                           .consumer   {"group.id": "default-group", ...}
        consumer:
          group-id: default-group                    .listener   {"ack_mode": "MANUAL_IMMEDIATE"}
        listener:
          ack-mode: manual_immediate                 .rows       where each of them comes from

    settings = application_settings(text)
    Producer(settings.producer)
    ListenerContainer(settings.consumer, work, topics=["orders"], **settings.listener)

Spring Boot takes a key as batch-size, batchSize and batch_size, a size as 16384 or 16KB, a time as
500 (milliseconds) or 2s. Keys that it has no name for stand under `properties`, under the clients'
own names. An unknown key under spring.kafka is refused, with the nearest known one; all other keys
of the file concern other parts of the application, and are not read.

Serializers name Java classes that make bytes. Those for text and for bytes are accepted, without
effect: our clients take str and bytes, and return bytes. Left out: admin, streams, ssl, jaas,
security and template, transaction-id-prefix, and most keys of listener.

`parse_yaml` reads mappings of plain values: what application.yml needs, and not all of YAML.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from engine.client.listener.ack_mode import AckMode
from engine.config.client import ClientConfig
from engine.config.consumer import ConsumerConfig
from engine.config.producer import ProducerConfig
from engine.errors import invalid_config

ROOT = "spring.kafka"
UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
TIMES = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
SERIALIZERS = re.compile(
    r"org\.apache\.kafka\.common\.serialization\.(String|ByteArray|Bytes)(Des|S)erializer"
)
_LINE = re.compile(r"( *)([^\s:#][^:]*?)\s*:(?:\s+(.*))?")
_COMMENT = re.compile(r"""((?:[^'"#]|'[^']*'|"[^"]*"|(?<!\s)#)*?)(?:(?:^|\s)#.*)?""")


def _text(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _size(value: Any) -> int:
    found = re.fullmatch(r"(\d+)\s*([KMG]?B)?", str(value), re.IGNORECASE)
    if found is None:
        raise ValueError("it is not a size, such as 16384 or 16KB")
    return int(found[1]) * UNITS[(found[2] or "B").upper()]


def _ms(value: Any) -> int:
    found = re.fullmatch(r"(\d+)\s*([a-z]*)", str(value), re.IGNORECASE)
    if found is None or (found[2] or "ms").lower() not in TIMES:
        raise ValueError("it is not a time, such as 500 or 2s")
    return round(int(found[1]) * TIMES[(found[2] or "ms").lower()])


def _seconds(value: Any) -> float:
    return _ms(value) / 1000


def _whole(value: Any) -> int:
    if not str(value).isdecimal():
        raise ValueError("it is not a whole number")
    return int(value)


def _mode(value: Any) -> str:
    return AckMode.named(str(value)).name


def _isolation(value: Any) -> str:
    return str(value).lower().replace("-", "_")


def _serializer(value: Any) -> None:
    if not SERIALIZERS.fullmatch(str(value)):
        raise ValueError("only the serializers for String, ByteArray and Bytes are taken here")


class Name(NamedTuple):
    """A key of ours, and how a value is converted."""

    ours: str
    convert: Callable[[Any], Any] = _text


COMMON = {"bootstrap-servers": Name("bootstrap.servers"), "client-id": Name("client.id")}
PRODUCER = COMMON | {
    "acks": Name("acks"),
    "batch-size": Name("batch.size", _size),
    "buffer-memory": Name("buffer.memory", _size),
    "compression-type": Name("compression.type"),
    "key-serializer": Name("", _serializer),
    "retries": Name("retries"),
    "value-serializer": Name("", _serializer),
}
CONSUMER = COMMON | {
    "auto-commit-interval": Name("auto.commit.interval.ms", _ms),
    "auto-offset-reset": Name("auto.offset.reset"),
    "enable-auto-commit": Name("enable.auto.commit"),
    "fetch-max-wait": Name("fetch.max.wait.ms", _ms),
    "fetch-min-size": Name("fetch.min.bytes", _size),
    "group-id": Name("group.id"),
    "heartbeat-interval": Name("heartbeat.interval.ms", _ms),
    "isolation-level": Name("isolation.level", _isolation),
    "key-deserializer": Name("", _serializer),
    "max-poll-records": Name("max.poll.records"),
    "value-deserializer": Name("", _serializer),
}
LISTENER = {
    "ack-count": Name("ack_count", _whole),
    "ack-mode": Name("ack_mode", _mode),
    "ack-time": Name("ack_time", _seconds),
    "concurrency": Name("concurrency", _whole),
    "poll-timeout": Name("poll_timeout", _seconds),
}
SECTIONS = {"producer": PRODUCER, "consumer": CONSUMER, "listener": LISTENER}
CLIENTS: dict[str, type[ClientConfig]] = {"producer": ProducerConfig, "consumer": ConsumerConfig}


class SettingOrigin(NamedTuple):
    """Where a setting comes from."""

    key: str  # in application.yml
    client: str  # producer, consumer or listener
    ours: str  # the client's key; "": without effect here
    value: Any


class ApplicationSettings(NamedTuple):
    producer: dict[str, Any]  # for a Producer
    consumer: dict[str, Any]  # for a Consumer, or a ListenerContainer
    listener: dict[str, Any]  # arguments of a ListenerContainer
    rows: list[SettingOrigin]


def application_settings(application: str | Mapping[str, Any]) -> ApplicationSettings:
    """The text of an application.yml, or what a reader of YAML has made of it."""
    tree = parse_yaml(application) if isinstance(application, str) else application
    below = _section(_section(tree, "spring", "spring"), "kafka", ROOT)
    rows: list[SettingOrigin] = []
    for key, value in below.items():
        section = _spelled(key, [*SECTIONS, *COMMON, "properties"], ROOT)
        path = f"{ROOT}.{section}"
        if section in SECTIONS:
            names = {**SECTIONS[section], **({} if section == "listener" else {"properties": None})}
            for inner, given in _mapping(value, path).items():
                spelled = _spelled(inner, names, path)
                if spelled == "properties":
                    rows += _own(given, [section], f"{path}.properties")
                else:
                    at = f"{path}.{spelled}"
                    rows.append(_row(SECTIONS[section][spelled], at, section, given))
        elif section == "properties":
            rows += _own(value, [*CLIENTS], path)
        else:  # what both clients have; first, so that a client's own value counts
            rows = [_row(COMMON[section], path, each, value) for each in CLIENTS] + rows
    made: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for row in rows:
        if row.ours:
            made[row.client][row.ours] = row.value
    for client, kind in CLIENTS.items():
        if made[client].get("bootstrap.servers"):
            kind.take(made[client])  # refuses bad values
    return ApplicationSettings(made["producer"], made["consumer"], made["listener"], rows)


def _row(name: Name, path: str, section: str, value: Any) -> SettingOrigin:
    try:
        return SettingOrigin(path, section, name.ours, name.convert(value))
    except ValueError as error:
        raise invalid_config(f"Invalid value {value} for {path}: {error}") from None


def _own(value: Any, clients: list[str], path: str) -> list[SettingOrigin]:
    """Keys under the clients' own names, which YAML may nest at each dot."""
    rows, names = [], {client: kind.keys() for client, kind in CLIENTS.items()}
    for key, given in _flat(_mapping(value, path)):
        known = [client for client in clients if key in names[client]]
        if not known:
            CLIENTS[clients[0]].find(key)  # refuses it, with the nearest name
        rows += [SettingOrigin(f"{path}.{key}", client, key, _text(given)) for client in known]
    return rows


def _flat(tree: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in tree.items():
        name = f"{before}{key}"
        pairs += _flat(value, f"{name}.") if isinstance(value, Mapping) else [(name, value)]
    return pairs


def _section(tree: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    return _mapping(tree.get(name) or {}, path)


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise invalid_config(f"{path} has keys below it, not the value {value}")
    return value


def _spelled(key: str, known: Mapping[str, Any] | list[str], path: str) -> str:
    """The key as this module writes it: batch-size."""
    alike = {each.replace("-", ""): each for each in known}
    found = alike.get(key.replace("-", "").replace("_", "").lower())
    if found is None:
        near = get_close_matches(key, list(known), n=1)
        hint = f"did you mean {path}.{near[0]}?" if near else f"here are {', '.join(known)}"
        raise invalid_config(f"Unknown key {path}.{key}; {hint}")
    return found


# -- YAML ------------------------------------------------------------------------------------


def parse_yaml(text: str) -> dict[str, Any]:
    """Mappings by indentation, with plain or quoted values and comments."""
    root: dict[str, Any] = {}
    open_: list[tuple[int, dict[str, Any]]] = [(-1, root)]  # indentations, innermost last
    for number, line in enumerate(text.splitlines(), start=1):
        match = _COMMENT.fullmatch(line)
        code = (match[1] if match else line).rstrip()
        if not code.strip() or code == "---":
            continue
        found = _LINE.fullmatch(code)
        if found is None:
            raise invalid_config(f"line {number} is not KEY: VALUE: {code.strip()}")
        indent, key, value = len(found[1]), _unquoted(found[2]), (found[3] or "").strip()
        while open_[-1][0] >= indent:
            open_.pop()
        inside = open_[-1][1]
        if key in inside:
            raise invalid_config(f"line {number}: {key} is there twice")
        if value:
            inside[key] = _value(value)
        else:
            inside[key] = {}
            open_.append((indent, inside[key]))
    return root


def _value(text: str) -> Any:
    if text[0] in "'\"":
        return _unquoted(text)
    if text.startswith("[") and text.endswith("]"):
        return [_value(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
