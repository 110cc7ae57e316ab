"""The lab's cluster without ZooKeeper, and short ways to read its metadata log.

Brokers are fenced after 3 seconds of silence, not after Kafka's 9, so that nobody waits long.
"""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from lab import LabCluster, until

from engine import Cluster
from engine.cluster.scratch import Scratch
from engine.cluster.state import Status, now
from engine.metadata.meta_properties import read_meta_properties
from engine.metadata.records.framing import decode_record
from engine.raft.bootstrap import format_directory
from engine.storage.batch import scan
from engine.storage.directory import METADATA
from engine.storage.records import stream

SESSION = 3.0  # seconds
CONFIG = {
    "broker.session.timeout.ms": f"{SESSION * 1000:.0f}",
    "broker.heartbeat.interval.ms": "500",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.create.topics.enable": "false",
}

_scratches = list[Scratch]()


def _mend(cluster: Cluster) -> None:
    """Make a cluster as new; a controller whose disk an exercise has taken gets another one."""
    found = {number: cluster.data / name_of(number) for number in cluster.state().controllers}
    known = [it for it in map(read_meta_properties, found.values()) if it is not None]
    for number, directory in found.items():
        if read_meta_properties(directory) is None:
            format_directory(directory, number, known[0].cluster_id, now())
    cluster.mend()


cluster = LabCluster(CONFIG, _mend, metadata="kraft").cluster


def name_of(node: int) -> str:
    """controller-1 has the node id 101."""
    return f"controller-{node - 100}"


def active(cluster: Cluster) -> int:
    """The node id of the controller that leads the newest epoch; 0: none does."""
    found = [
        (each.epoch, node)
        for node, each in cluster.state().controllers.items()
        if each.status is Status.UP and each.role == "leader"
    ]
    return max(found, default=(0, 0))[1]


def another(cluster: Cluster, than: int) -> int:
    """The active controller, as soon as it is another one."""

    def found() -> int:
        named = active(cluster)
        return 0 if named == than else named

    return until(f"another active controller than {than}", found)


def fenced(cluster: Cluster) -> list[int]:
    """The brokers that are fenced, as the active controller has it."""
    leads = cluster.state().controllers.get(active(cluster))
    return sorted(leads.fenced) if leads else sorted(cluster.brokers)


def pids(cluster: Cluster) -> dict[int, int]:
    """The process id of each broker and controller, by its node id."""
    state = cluster.state()
    return {node: it.pid for node, it in [*state.brokers.items(), *state.controllers.items()]}


def end(cluster: Cluster) -> int:
    """The committed end of the metadata log."""
    return max(each.high_watermark for each in cluster.state().controllers.values())


class MetadataChange(NamedTuple):
    """A record of the metadata log."""

    offset: int
    epoch: int
    kind: str  # its type, without "Record"
    says: str


def records(cluster: Cluster, since: int = 0) -> list[MetadataChange]:
    """The committed records from this offset on, as the active controller has them on its disk;
    without those that only say that a controller leads or lives."""
    directory = cluster.data / name_of(active(cluster)) / METADATA
    last = end(cluster)
    return [it for it in _records(directory) if since <= it.offset < last]


def _records(directory: Path) -> Iterator[MetadataChange]:
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        for place, header in scan(data):
            if header.is_control:
                continue
            for record in stream(data[place : place + header.size]):
                message, _ = decode_record(record.value, record.offset)
                kind = type(message).__name__.removesuffix("Record")
                if kind != "NoOp":
                    said = _said(message)
                    yield MetadataChange(record.offset, header.leader_epoch, kind, said)


def _said(message: Any) -> str:
    """Its fields, but for those that have their default."""
    told = [
        f"{each.name} {_short(value)}"
        for each in fields(message)
        if (value := getattr(message, each.name)) not in (each.default, None, ())
    ]
    return ", ".join(told)


def _short(value: Any) -> str:
    match value:
        case tuple():
            return " ".join(map(_short, value))
        case UUID():
            return str(value)[:8]
        case _ if hasattr(value, "max_supported_version"):
            return f"{value.name} up to {value.max_supported_version}"
        case _ if hasattr(value, "name") and hasattr(value, "port"):
            return f"{value.name}://{value.host}:{value.port}"
    return str(value)


def new_directory() -> Path:
    """Empty, and nobody's. It is removed when this notebook's kernel has ended."""
    _scratches.append(Scratch())
    return _scratches[-1].path
