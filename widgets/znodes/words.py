"""Texts for the meaning of a path, a change and a stat."""

import json
import re

from engine.cluster.znode_changes import ChangeKind, ZnodeChange, ZnodeState
from engine.zookeeper.znodes import BROKER_IDS
from widgets.log.timestamps import moment
from widgets.story import CURE, EXPIRY, FAULT, Sort
from widgets.znodes.history import ZnodeHistory

CHANGED = Sort("✎", "lead", 2)
DELETED = Sort("▽", FAULT.look, 3)
SORTS = {
    ChangeKind.CREATED: CURE,
    ChangeKind.CHANGED: CHANGED,
    ChangeKind.DELETED: DELETED,
    ChangeKind.ENDED: EXPIRY,
}
EARLY = ("brokerid", "leader", "isr", "leader_epoch", "host", "port", "partitions")  # fields
PATHS = {  # patterns of whole paths, the first that fits
    r"/brokers/ids": "One ephemeral znode for each live broker. The controller watches the "
    "children, and so learns who comes and goes.",
    r"/brokers/ids/\d+": "A live broker, and where it listens. It is gone with the broker's "
    "session; its czxid is the broker's epoch.",
    r"/brokers/topics": "Every topic. The controller watches the children: a new name is a new "
    "topic to place.",
    r"/brokers/topics/[^/]+": "A topic: its id, and on which brokers each partition's replicas "
    "live, the preferred leader first.",
    r"/brokers/topics/[^/]+/partitions/\d+/state": "Who leads the partition, who is in sync, and "
    "in which epochs that was decided. A writer must know its version, so nobody overwrites.",
    r"/brokers/seqid": "Its version is the next broker id, for brokers that have none given.",
    r"/controller": "Whoever creates it is the controller. It is ephemeral: when its owner's "
    "session ends, all brokers that watch it try to create it. In a migration to KRaft it belongs "
    "to the leader of the quorum, and stays.",
    r"/migration": "From ZooKeeper to KRaft: the controller that leads the migration, and up to "
    "which offset of its log the tree has been written. Who takes over changes its version: the "
    "one before cannot write any more.",
    r"/controller_epoch": "How many controllers there have been. Orders of an older one are "
    "refused.",
    r"/cluster/id": "The cluster's id, for ever.",
    r"/config/changes.*": "Look at this entity again: brokers watch the children.",
    r"/config/.+": "What was set for a topic, a broker or a client; the rest is by default.",
    r"/isr_change_notification.*": "Leaders tell the controller here that an ISR has changed; it "
    "reads the partition's state, and deletes the note.",
    r"/log_dir_event_notification.*": "A broker tells the controller here that a disk failed.",
    r"/admin/delete_topics.*": "Topics that somebody wants deleted.",
    r"/admin/reassign_partitions": "Partitions that somebody wants moved, as before Kafka 2.4.",
    r"/admin/preferred_replica_election": "Partitions that their first replica shall lead.",
    r"/latest_producer_id_block": "The last block of producer ids that a broker took.",
    r"/feature": "Features that every broker has agreed on.",
    r"/consumers": "Where consumers kept their offsets before 0.9; empty since.",
}


def purpose(path: str) -> str:
    """The meaning of a path for Kafka; "" if it is not Kafka's."""
    return next((words for it, words in PATHS.items() if re.fullmatch(it, path)), "")


def short(session: int) -> str:
    return f"0x…{session & 0xFFFF:04x}"


def whose(session: int, history: ZnodeHistory) -> str:
    """A session's owner."""
    broker = history.owners.get(session)
    return "somebody else" if broker is None else f"broker {broker}"


def one_line(data: str) -> str:
    """A JSON object without its quotes and outer braces, what matters most first; anything else as
    it is."""
    told = sorted(fields(data), key=lambda it: EARLY.index(it[0]) if it[0] in EARLY else len(EARLY))
    return ", ".join(f"{name}: {_plain(value)}" if name else value for name, value in told)


def _plain(value: str) -> str:
    return value.replace('"', "")


def fields(data: str) -> list[tuple[str, str]]:
    """The fields of a JSON object; of anything else one field without a name."""
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return [("", line) for line in data.splitlines()] or [("", "no data")]
    return [(name, json.dumps(it, ensure_ascii=False)) for name, it in value.items()]


def stat(path: str, znode: ZnodeState, history: ZnodeHistory) -> list[tuple[str, str]]:
    """Each number of a stat, with an explanation."""
    epoch = ", the broker's epoch" if re.fullmatch(rf"{BROKER_IDS}/\d+", path) else ""
    times = {0: "not written", 1: "written once"}.get(
        znode.version, f"written {znode.version:,} times"
    )
    owner = (
        f"session 0x{znode.owner:x} of {whose(znode.owner, history)}: gone when that ends"
        if znode.owner
        else "0: it stays until somebody deletes it"
    )
    return [
        ("czxid", f"{znode.czxid}: the transaction that created it{epoch}, {clock(znode.ctime)}"),
        ("mzxid", f"{znode.mzxid}: that which wrote its data last, {clock(znode.mtime)}"),
        ("version", f"{znode.version}: {times} since its creation"),
        ("owner", owner),
    ]


def clock(at: int) -> str:
    return f"{moment(at)[11:]} UTC" if at else "at the beginning"


def told(change: ZnodeChange, history: ZnodeHistory) -> str:
    """A change as text."""
    if change.kind is ChangeKind.ENDED:
        who = whose(change.session, history)
        return f"session {short(change.session)} of {who} ended"
    words = f"{change.path} {change.kind.value}"
    if change.znode is None and change.kind is ChangeKind.CREATED:
        words += ", and gone before it could be read"
    if change.notified:
        names = sorted(whose(session, history) for session in change.notified)
        words += f" → told: {', '.join(names)}"
    return words


def brief(change: ZnodeChange) -> str:
    """A word or two for the timeline."""
    if change.kind is ChangeKind.ENDED:
        return "session ended"
    name = change.path.rpartition("/")[2] or "/"
    if name.isdigit() or name == "state":
        name = "/".join(change.path.split("/")[-2:])
    return f"{name} {change.kind.value}"
