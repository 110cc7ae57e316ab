"""Checkpoints: small text files that keep a few numbers for the next start, in Kafka's formats.

    replication-offset-checkpoint, recovery-point-offset-checkpoint,          0
    log-start-offset-checkpoint, cleaner-offset-checkpoint                    2
        version, number of lines, then "topic partition offset"               orders 0 1742
                                                                              orders 1 98
    leader-epoch-checkpoint                                                   0
        version, number of lines, then "epoch start_offset"                   1
                                                                              3 1500
    meta.properties         the owner of a log directory: broker.id, cluster.id, version
    partition.metadata      the owner of a partition directory: version, topic_id

Each is replaced as a whole, by rename, so a reader never finds half of one. Any other content is an
error (`malformed`).
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import UUID

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition, id_text, parse_id
from engine.storage import files

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"
LEADER_EPOCH = "leader-epoch-checkpoint"
META = "meta.properties"
PARTITION = "partition.metadata"

VERSION = "0"

_NUMBER = re.compile("[0-9]{1,19}")


def write_rows(path: Path, rows: Iterable[Iterable[object]], *, durable: bool = True) -> None:
    lines = [" ".join(map(str, row)) for row in rows]
    text = "\n".join([VERSION, str(len(lines)), *lines, ""])
    files.replace(path, text.encode(), durable=durable)


def read_rows(path: Path) -> list[list[str]]:
    """The rows of a checkpoint; none if there is no such file."""
    if not path.exists():
        return []
    version, count, *lines = _text(path).splitlines() or ["", ""]
    if version != VERSION or count != str(len(lines)):
        raise malformed(path, f"version {version!r}, {len(lines)} of {count!r} rows")
    return [line.split(" ") for line in lines]


def write_offsets(path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    write_rows(path, ((*partition, offset) for partition, offset in sorted(offsets.items())))


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    try:
        rows = read_rows(path)
        offsets = {TopicPartition(it, _number(number)): _number(at) for it, number, at in rows}
    except ValueError as error:
        raise malformed(path, error) from error
    if len(offsets) < len(rows):
        raise malformed(path, "a partition has two rows")
    return offsets


def write_epochs(path: Path, entries: Iterable[tuple[int, int]]) -> None:
    """Not flushed here but with the log (`Epochs.flush`), so that an election is fast."""
    write_rows(path, entries, durable=False)


def read_epochs(path: Path) -> list[tuple[int, int]]:
    try:
        return [(_number(epoch), _number(offset)) for epoch, offset in read_rows(path)]
    except ValueError as error:
        raise malformed(path, error) from error


def write_meta(path: Path, broker_id: int, cluster_id: str) -> None:
    text = f"#\nbroker.id={broker_id}\ncluster.id={cluster_id}\nversion={VERSION}\n"
    files.replace(path, text.encode())


def read_meta(path: Path) -> tuple[int, str] | None:
    """The broker id and the cluster id that a log directory belongs to, if it was ever used."""
    if not path.exists():
        return None
    try:
        pairs = read_pairs(path, "=")
        return int(pairs["broker.id"]), pairs["cluster.id"]
    except (KeyError, ValueError) as error:
        raise malformed(path, error) from error


def write_topic_id(path: Path, topic_id: UUID) -> None:
    """Write the id of a partition's topic, without a flush: the file is whole, or empty."""
    text = f"version: {VERSION}\ntopic_id: {id_text(topic_id)}\n"
    files.write(path, text.encode(), durable=False)


def read_topic_id(path: Path) -> UUID | None:
    """The id of a partition's topic; None: there is no file, or an empty one, left by a failure."""
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        return parse_id(read_pairs(path, ":")["topic_id"])
    except (KeyError, ValueError) as error:
        raise malformed(path, error) from error


def read_pairs(path: Path, separator: str) -> dict[str, str]:
    """The keys and values of a file with a pair in each line."""
    lines = (line for line in _text(path).splitlines() if not line.startswith("#"))
    pairs = (line.partition(separator) for line in lines)
    return {key.strip(): value.strip() for key, found, value in pairs if found}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise malformed(path, error) from error


def _number(text: str) -> int:
    """An offset, an epoch, or a partition's number, in the format that Kafka writes."""
    if not _NUMBER.fullmatch(text) or int(text) >= 2**63:
        raise ValueError(f"{text!r} is not a valid number")
    return int(text)


def malformed(path: Path, what: object) -> ApiException:
    return ApiException(ErrorCode.kafka_storage_error, f"malformed {path}: {what}")
