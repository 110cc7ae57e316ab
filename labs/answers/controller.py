"""Answers to the exercises of 05_controller. Try first; there is more than one way."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine import Cluster
from engine.zookeeper.requests import CheckVersion, Set, Write


def chosen(cluster: Cluster, wanted: int) -> None:
    """Stop the others, in order: who is alone has nobody to compete with."""
    others = [broker for broker in cluster.brokers if broker != wanted]
    for broker in others:
        cluster.stop_broker(broker)
    cluster.wait("the only one left", lambda: cluster.state().controller == wanted)
    for broker in others:
        cluster.restart(broker)


def after(
    states: Mapping[int, tuple[int, int, Sequence[int]]],
    replicas: Mapping[int, Sequence[int]],
    dead: int,
    live: Sequence[int],
) -> dict[int, Any]:
    written = {}
    for partition, (leader, epoch, isr) in states.items():
        if dead not in isr:
            continue
        remaining = [broker for broker in isr if broker != dead]
        if leader == dead:
            able = [b for b in replicas[partition] if b in remaining and b in live]
            leader = able[0] if able else -1
        written[partition] = (leader, epoch + 1, remaining or list(isr))
    return written


def fenced(path: str, data: bytes, version: int, epoch_version: int) -> list[Write]:
    return [CheckVersion("/controller_epoch", epoch_version), Set(path, data, version)]
