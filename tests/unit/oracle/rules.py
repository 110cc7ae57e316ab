"""What each kind of question should come to, by Kafka's rules alone: nothing is run here.

A question's answer comes from a run. These functions say from the drawn numbers what that answer,
and so the sentence that explains it, has to be.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from oracle.kinds.delivery import Heard
from oracle.kinds.replication import NOBODY

ALL = {"all", "-1"}


def survivors(it: Any) -> Hashable:
    few, all_ = it.stored, it.stored + it.late
    if it.case == "both are out":
        return few - 1 if it.unclean else NOBODY
    return few if it.case in ("nobody has", "second has") else all_


def next_leader(it: Any) -> Hashable:
    live = [broker for broker in it.order if broker not in it.killed]
    if it.leader in live:
        return it.leader
    clean = [broker for broker in live if broker not in it.out]
    return (clean or (live if it.unclean else []) or [NOBODY])[0]


def readable(it: Any) -> Hashable:
    copied = {"both lag": 0, "one lags": 0, "one has one": 1, "one has one, one is out": 1}
    return it.stored + copied.get(it.case, it.late)


def truncated(it: Any) -> Hashable:
    return it.late - it.copied


def in_sync(it: Any) -> Hashable:
    gone = {
        "paused for 10": {it.broker},
        "killed 10 ago": {it.broker},
        "stopped 2 ago": {it.broker},
        "cut off for 10, and lags": {it.broker},
        "both paused for 10": set(it.followers),
        "leader killed 10 ago": {it.leader},
    }
    return frozenset(it.order) - gone.get(it.case, set())


def epoch_after(it: Any) -> Hashable:
    """One for an election, one for a dead replica that leaves the ISR."""
    grown = {"leader": 1, "follower": 1, "returns": 1, "leader and controller": 2}
    return grown.get(it.case, 0)


def old_leader(it: Any) -> Hashable:
    if it.seconds == 1:
        return "kept", True
    if it.heals:
        return "refused", False
    return ("lost", False) if it.acks == "1" else ("silent", False)


def record_kept(it: Any) -> Hashable:
    if it.case == "both die":
        return frozenset((it.leader, it.follower))
    return frozenset((1, 2, 3) if it.case in ("alone, returns", "one copy") else ())


def next_active(it: Any) -> Hashable:
    leads = {"leader dies": it.follower, "leader returns": it.leader, "follower dies": it.leader}
    return leads.get(it.case, NOBODY)


def more_deaths(it: Any) -> Hashable:
    return it.voters - it.dead - (it.voters // 2 + 1)


def heard(it: Any) -> Hashable:
    isr = 3 - it.out
    if str(it.acks) not in ALL:
        return Heard.SOON
    if isr < it.least:
        return "not_enough_replicas"
    if not it.cut:
        return Heard.SOON
    return Heard.LATE if isr - it.cut >= it.least else "not_enough_replicas_after_append"


def copies(it: Any) -> Hashable:
    if it.acks == "0":
        return int(it.lost == "answer")
    return 2 if it.lost == "answer" and not it.idempotent else 1


def after_crash(it: Any) -> Hashable:
    return it.count if it.crash == "kill" else it.count // it.flush * it.flush


def torn_log(it: Any) -> Hashable:
    return it.at if it.damage in ("cut", "flip") else it.count


def index_lookup(it: Any) -> Hashable:
    return max([0, *(offset for offset, _ in it._entries if offset <= it.wanted)])


def compacted(it: Any) -> Hashable:
    return len({text[0] for text in it.closed}) + len(it.active)


def committed_reader(it: Any) -> Hashable:
    if it.reads_all or it.end == "commit":
        return "a B C d"
    return "a d" if it.end in ("abort", "replaced") else "a"


def two_producers(it: Any) -> Hashable:
    if it.case == "other id":
        return "committed", "a b"
    if it.case == "second starts":
        return "refused", "b" if it.sends else ""
    return ("refused", "") if it.case == "timeout" else ("committed", "a")


RULES: Mapping[str, Callable[[Any], Hashable]] = {
    rule.__name__.replace("_", "-"): rule
    for rule in (
        *(survivors, next_leader, readable, truncated, in_sync, epoch_after, old_leader, heard),
        *(record_kept, next_active, more_deaths),
        *(copies, after_crash, torn_log, index_lookup, compacted, committed_reader, two_producers),
    )
}
