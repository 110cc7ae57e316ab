"""The log levels of a broker (resource type BROKER_LOGGER): read and set while it runs.

    name       the logger of a module, engine.broker.server for instance, or `root`
    value      FATAL, ERROR, WARN, INFO, DEBUG or TRACE; a logger without a level of its own has
               that of the nearest one above it

A level lasts until the broker stops: it is not written to ZooKeeper. DescribeConfigs and
IncrementalAlterConfigs know these resources, the older AlterConfigs does not.

Left out: the loggers of libraries. They might write what a client has sent, passwords included.
"""

import logging
from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from kio.schema.describe_configs.v4.response import DescribeConfigsResourceResult

from engine.config.key import integer
from engine.errors import invalid_request

ROOT = "root"
OURS = ("engine.", "kafka.")
LEVELS = {  # in the order in which Kafka's error names them
    "TRACE": 5,
    "ERROR": logging.ERROR,
    "INFO": logging.INFO,
    "FATAL": logging.CRITICAL,
    "DEBUG": logging.DEBUG,
    "WARN": logging.WARNING,
}
NAMES = {level: name for name, level in LEVELS.items()}
SOURCE = 6  # DYNAMIC_BROKER_LOGGER_CONFIG


class Operation(IntEnum):
    """A change of one key, by Kafka's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def described(broker_id: int, name: str) -> list[DescribeConfigsResourceResult]:
    if not name:
        raise invalid_request("Broker id must not be empty")
    check_broker(broker_id, name)
    return [
        DescribeConfigsResourceResult(
            name=each,
            value=NAMES.get(logger.getEffectiveLevel(), str(logger.getEffectiveLevel())),
            read_only=False,
            config_source=SOURCE,
            is_sensitive=False,
            synonyms=(),
            documentation="",
        )
        for each, logger in _loggers().items()
    ]


def alter(broker_id: int, name: str, changes: Iterable[Any], validate_only: bool) -> None:
    """All changes are checked before the first is made."""
    check_broker(broker_id, name)
    loggers = _loggers()
    for change in changes:
        _check(name, loggers, change)
    if not validate_only:
        for change in changes:
            deleted = change.config_operation == Operation.DELETE
            loggers[change.name].setLevel(logging.NOTSET if deleted else LEVELS[change.value])


def check_broker(broker_id: int, name: str, or_empty: str = "") -> None:
    """A broker answers for itself only. "" is refused where it does not mean all brokers."""
    number = integer(name)
    if name and number is None:
        raise invalid_request(f"Broker id must be an integer, but it is: {name}")
    if name and number != broker_id:
        expected = f"{broker_id}{or_empty}"
        raise invalid_request(f"Unexpected broker id, expected {expected} but received {name}")


def _loggers() -> dict[str, logging.Logger]:
    named = {
        name: logger
        for name, logger in sorted(logging.root.manager.loggerDict.items())
        if name.startswith(OURS) and isinstance(logger, logging.Logger)
    }
    return {ROOT: logging.getLogger(), **named}


def _check(name: str, loggers: dict[str, logging.Logger], change: Any) -> None:
    resource = (
        f"Invalid config value for resource ConfigResource(type=BROKER_LOGGER, name='{name}')"
    )
    match change.config_operation:
        case Operation.SET | Operation.DELETE if change.name not in loggers:
            raise invalid_request(f"{resource}: Logger {change.name} does not exist!")
        case Operation.SET if change.value not in LEVELS:
            raise invalid_request(
                f"{resource}: Cannot set the log level of {change.name} to {change.value} as it is "
                f"not a supported log level. Valid log levels are {', '.join(LEVELS)}"
            )
        case Operation.DELETE if change.name == ROOT:
            raise invalid_request(f"Removing the log level of the {ROOT} logger is not allowed")
        case Operation.APPEND | Operation.SUBTRACT as operation:
            word = Operation(operation).name
            raise invalid_request(f"{word} operation is not allowed for the BROKER_LOGGER resource")
        case Operation.SET | Operation.DELETE:
            return
        case _:
            raise invalid_request(f"There is no config operation {change.config_operation}")
