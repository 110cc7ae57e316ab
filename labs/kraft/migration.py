"""A recorded migration from ZooKeeper to KRaft: what was changed where, and when.

changes(run)           rows for a table: the steps, the znodes and the records that tell them
written(run, topic)    where a topic was written, in order: "log", "tree"
"""

from collections.abc import Iterator

from engine.cluster.kraft.metadata_log_reader import LOG_TRACK, MetadataLogEntry
from engine.cluster.recording import Recording
from engine.cluster.znode_changes import ChangeKind, ZnodeChange
from widgets.metadata_log.history import recorded_log
from widgets.metadata_log.words import summary
from widgets.znodes.history import ZnodeHistory, recorded
from widgets.znodes.words import fields

TREE, LOG, STEP = "tree", "log", "step"
TELLING_RECORDS = {"LeaderChangeMessage", "ZkMigrationStateRecord", "TopicRecord"}
TELLING_ZNODES = ("/controller", "/migration", "/brokers/ids/", "/brokers/topics/")
FIELDS = ("brokerid", "kraft_controller_id", "kraft_metadata_offset")
Row = tuple[float, str, str]  # seconds since the beginning, where, what


def changes(run: Recording) -> list[Row]:
    """What tells the phases, in order."""
    found = [*_steps(run), *_records(run), *_znodes(run)]
    found.sort(key=lambda change: change[0])
    return [(round((at - run.start) / 1000, 2), where, what) for at, where, what in found]


def written(run: Recording, topic: str) -> list[str]:
    """The places where the topic was written, the first one first."""
    records = [entry.at for entry in _log(run) if entry.fields.get("name") == topic]
    path = f"/brokers/topics/{topic}"
    znodes = [it.at for it in recorded(run) if it.path == path and it.kind is ChangeKind.CREATED]
    times = [(at, where) for where, all in ((LOG, records), (TREE, znodes)) for at in all[:1]]
    return [where for _, where in sorted(times)]


def _log(run: Recording) -> list[MetadataLogEntry]:
    return recorded_log(run, LOG_TRACK)


def _steps(run: Recording) -> Iterator[tuple[int, str, str]]:
    for event in run.events():
        if event.kind == "migration.step":
            yield event.at, STEP, event.data["words"]


def _records(run: Recording) -> Iterator[tuple[int, str, str]]:
    for entry in _log(run):
        if entry.record in TELLING_RECORDS:
            name = entry.record.removesuffix("Record").removesuffix("Message")
            about = entry.fields["name"] if entry.record == "TopicRecord" else summary(entry)
            yield entry.at, LOG, f"{name}: {about}"


def _znodes(run: Recording) -> Iterator[tuple[int, str, str]]:
    for change in ZnodeHistory(recorded(run)).steps:
        if change.at >= run.start and _tells(change):
            yield change.at, TREE, f"{change.path} {change.kind.value}{_data(change)}"


def _data(change: ZnodeChange) -> str:
    """The fields that tell who leads, and how far the tree is."""
    if change.znode is None or change.path.count("/") > 1 or change.kind is ChangeKind.DELETED:
        return ""
    told = dict(fields(change.znode.data))
    return "".join(f", {name} {told[name]}" for name in FIELDS if name in told)


def _tells(change: ZnodeChange) -> bool:
    path = change.path
    if path.startswith("/brokers/topics/"):
        return path.count("/") == 3 and change.kind is ChangeKind.CREATED
    return path.startswith(TELLING_ZNODES) and "_epoch" not in path
