"""Kafka's keys for brokers that have no effect here: threads, buffers, metrics ...

They stand in a table, inert.tsv: name, type, default, least value, when it can be changed, and a
description. Clients can describe them, and change them while the broker runs where Kafka allows it:

    restart        it cannot be changed
    cluster-wide   for one broker, or for all
    per-broker     for one broker
    per-listener   only for a listener: listener.name.NAME.KEY

On a command line they are refused, so that no setting is silently ignored. A key that this broker
does not know at all is taken when it is altered, as by Kafka: a plug-in may know it.
"""

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from engine.config.key import Key, Type, at_least
from engine.errors import invalid_request


@dataclass(frozen=True, kw_only=True)
class InertKey(Key):
    change: str  # when it can be changed


K = TypeVar("K", bound=InertKey)


@cache
def table() -> Mapping[str, InertKey]:
    return read(__file__, InertKey, " Without effect here.")


def read(module: str, kind: type[K], note: str = "") -> Mapping[str, K]:
    """The table beside a module."""
    with Path(module).with_suffix(".tsv").open() as lines:
        return {
            row["name"]: _key(kind, note, **row) for row in csv.DictReader(lines, delimiter="\t")
        }


def _key(
    kind: type[K], note: str, name: str, type: str, default: str, least: str, change: str, doc: str
) -> K:
    return kind(
        name=name,
        type=Type[type],
        default=None if default == "null" else default,
        check=at_least(int(least)) if least else None,
        dynamic=change != "restart",
        text=doc + note,
        change=change,
    )


def check_dynamic(values: Mapping[str, str], keys: Mapping[str, Key], *, for_all: bool) -> None:
    """Refuse what cannot be changed while the broker runs. Keys that are not known may be."""
    inert = {name: it for name, it in keys.items() if isinstance(it, InertKey) and name in values}
    fixed = [name for name in values if name in keys and not keys[name].dynamic]
    _refuse(fixed, "Cannot update these configs dynamically")
    _refuse(
        [name for name, it in inert.items() if it.change == "per-listener"],
        "These security configs can be dynamically updated only per-listener using the listener "
        "prefix",
    )
    secrets = tuple(name for name, it in keys.items() if it.type is Type.PASSWORD)
    _refuse(
        [name for name in values if name.endswith(secrets)],  # they would stand in ZooKeeper
        "Password encoder secret not configured",
    )
    for name, it in inert.items():
        it.parse(values[name])
    if for_all:
        _refuse(
            [name for name, it in inert.items() if it.change == "per-broker"],
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def _refuse(names: Collection[str], why: str) -> None:
    if names:
        raise invalid_request(f"{why}: {', '.join(names)}")
