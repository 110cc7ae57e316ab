"""`meta.properties` of a node without ZooKeeper: whose log directory it is. Version 1.

    version=1
    node.id=101
    cluster.id=O2whmP1nSWeNENpX08USQQ
    directory.id=7iBgancjbi8a8Ky6ppt3ew      since 3.7: tells one directory of a node from another

A broker in ZooKeeper mode writes version 0, with `broker.id` (storage/checkpoints.py). Each refuses
the other's directory.
"""

from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from engine.errors import ApiException, ErrorCode
from engine.model import id_text, parse_id
from engine.storage import checkpoints, files

VERSION = "1"


class MetaProperties(NamedTuple):
    node_id: int
    cluster_id: str
    directory_id: UUID | None  # None: an older release has written the file


def write_meta_properties(directory: Path, meta: MetaProperties) -> None:
    lines = [f"version={VERSION}", f"node.id={meta.node_id}", f"cluster.id={meta.cluster_id}"]
    if meta.directory_id is not None:
        lines.append(f"directory.id={id_text(meta.directory_id)}")
    files.replace(directory / checkpoints.META, "\n".join(["#", *lines, ""]).encode())


def read_meta_properties(directory: Path) -> MetaProperties | None:
    """None: the directory has not been formatted."""
    path = directory / checkpoints.META
    if not path.exists():
        return None
    pairs = checkpoints.read_pairs(path, "=")
    if (version := pairs.get("version")) != VERSION:
        whose = ", a broker in ZooKeeper mode has written it" if version == "0" else ""
        raise checkpoints.malformed(path, f"version {version}, and {VERSION} is expected{whose}")
    try:
        node_id, directory_id = int(pairs["node.id"]), pairs.get("directory.id")
        known = None if directory_id is None else parse_id(directory_id)
        return MetaProperties(node_id, pairs["cluster.id"], known)
    except (KeyError, ValueError) as error:
        raise checkpoints.malformed(path, error) from error


def claim(directory: Path, node_id: int, cluster_id: str | None = None) -> MetaProperties:
    """The identity in a directory, which must be this node's, and of this cluster."""
    path, meta = directory / checkpoints.META, read_meta_properties(directory)
    if meta is None:
        raise ApiException(
            ErrorCode.kafka_storage_error,
            f"No `{checkpoints.META}` found in {directory} (have you run `kafka-storage.sh` to "
            "format the directory?)",
        )
    if meta.node_id != node_id:
        raise checkpoints.malformed(path, f"node.id is {meta.node_id}, and this is node {node_id}")
    if cluster_id not in (None, meta.cluster_id):
        raise checkpoints.malformed(
            path, f"cluster.id is {meta.cluster_id}, and this node is of cluster {cluster_id}"
        )
    return meta
