"""Texts for the meaning of a path, a change and a stat."""

import json
import re

from engine.cluster.znode_changes import ChangeKind, ZnodeChange, ZnodeState
from engine.zookeeper.znodes import BROKER_IDS
from widgets.log.timestamps import moment
from widgets.story import CURE, EXPIRY, FAULT, Sort
from widgets.tables import rows_of
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
PATHS = rows_of(__file__, "paths.tsv")  # patterns of whole paths, the first that fits


def purpose(path: str) -> str:
    """The meaning of a path for Kafka; "" if it is not Kafka's."""
    return next((words for it, words in PATHS if re.fullmatch(it, path)), "")


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
