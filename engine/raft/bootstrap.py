"""What `storage format` writes: a node starts only in a directory that was formatted.

    meta.properties         the cluster's id, the node's id, the directory's id
    bootstrap.checkpoint    the first records of the metadata log: the level of metadata.version

Invariant: meta.properties is written last. With it the directory counts as formatted.
"""

from pathlib import Path
from typing import Any
from uuid import uuid4

from engine.metadata.meta_properties import MetaProperties, write_meta_properties
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import decode_record, encode_record
from engine.model import id_text, parse_id
from engine.raft.snapshot_records import decode_snapshot, encode_snapshot
from engine.storage import files

BOOTSTRAP = "bootstrap.checkpoint"
METADATA_VERSION, LEVEL, LEVEL_NAME = "metadata.version", 7, "3.3-IV3"


def random_id() -> str:
    """A random id without a dash in front: a command line would take it for an option."""
    while (text := id_text(uuid4())).startswith("-"):
        pass
    return text


def format_directory(
    directory: Path, node_id: int, cluster_id: str, now: int, level: int = LEVEL
) -> None:
    """Make the directory, and format it. `now`: ms since 1970."""
    directory.mkdir(parents=True, exist_ok=True)
    record = FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)
    files.replace(directory / BOOTSTRAP, encode_snapshot([encode_record(record)], 0, now))
    write_meta_properties(directory, MetaProperties(node_id, cluster_id, parse_id(random_id())))


def read_bootstrap(path: Path) -> list[Any]:
    """The first records of a cluster. Without the file, the level is the newest that there is."""
    if not path.exists():
        return [FeatureLevelRecord(name=METADATA_VERSION, feature_level=LEVEL)]
    found = decode_snapshot(path.read_bytes(), path).records
    return [decode_record(record.value, record.offset).record for record in found]
