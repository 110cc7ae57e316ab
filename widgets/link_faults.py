"""What follows from a link that is cut, and when: in words.

    cut ───────────── replica.lag.time.max.ms ────────────> the leader takes the follower out of
     └─ caught up last                                       the ISR, at its next check
    cut ─────── zookeeper.session.timeout.ms, at most ────> the session ends: the broker leads
                                                             nothing any more

All figures are the brokers' own: their limits, and when the leader saw a follower caught up. An old
recording has no limits; then no figure is given. Once it has happened, the events say when.
"""

from math import ceil

from engine.cluster.state import FollowerState
from engine.links import ZOOKEEPER
from engine.model import TopicPartition
from widgets.moment import ViewMoment

NAMED = 2  # partitions; more are counted


def sentences(moment: ViewMoment) -> list[str]:
    """One or two for each link that is cut."""
    pairs = sorted({tuple(sorted((it.source, it.target))) for it in moment.state.links if it.cut})
    return [words for one, other in pairs for words in follows(moment, one, other)]


def follows(moment: ViewMoment, one: str, other: str) -> list[str]:
    """What follows from the cut between two: brokers' numbers, or "zookeeper"."""
    if any(end.startswith(f"{ZOOKEEPER}-") for end in (one, other)):
        return _server(moment, *sorted((one, other)))
    since = _cut_at(moment, one, other)
    if not {one, other} - {ZOOKEEPER} <= {str(broker) for broker in moment.state.brokers}:
        return []  # a simulated client's
    if ZOOKEEPER in (one, other):
        return [_session(moment, int(other if one == ZOOKEEPER else one), since)]
    ends = int(one), int(other)
    found = [_replicas(moment, *pair, since) for pair in (ends, ends[::-1])]
    return [words for words in found if words]


def _cut_at(moment: ViewMoment, one: str, other: str) -> int:
    ends = {end.replace(ZOOKEEPER, "ZooKeeper") for end in (one, other)}
    for line in reversed(moment.story.until(moment.at)):
        if line.kind == "link.cut" and any(set(part.split(" – ")) == ends for part in line.parts):
            return line.at
    return moment.run_source.start  # it was cut before the recording


# -- a session ----------------------------------------------------------------------------------


def _session(moment: ViewMoment, broker: int, since: int) -> str:
    state = moment.broker(broker)
    ended = [
        line.at
        for line in moment.story.until(moment.at)
        if line.kind == "broker.down" and line.at >= since and str(broker) in line.parts
    ]
    if ended:
        took = (ended[-1] - since) / 1000
        return f"The session of broker {broker} ended {took:.1f} s after the cut."
    if not state.session_ms:
        return f"The session of broker {broker} will end."
    left = ceil((since + state.session_ms - moment.at) / 1000)
    if left > 0:
        return f"The session of broker {broker} ends in at most {left} s."
    return f"The session of broker {broker} is over: ZooKeeper is about to tell."


def _server(moment: ViewMoment, broker: str, server: str) -> list[str]:
    """A broker and one server of an ensemble; of two servers, their cards say it."""
    if not broker.isdigit():
        return []
    used = [name for name, it in moment.state.zookeepers.items() if int(broker) in it.brokers]
    if [f"{ZOOKEEPER}-{name}" for name in used] != [server]:
        return []  # it uses another one already
    limit = moment.broker(int(broker)).session_ms * 2 // 3
    after = f" after {limit / 1000:g} s without an answer" if limit else ""
    return [f"Broker {broker} goes to another server{after}, and keeps its session."]


# -- replicas -----------------------------------------------------------------------------------


def _replicas(moment: ViewMoment, leader: int, follower: int, since: int) -> str:
    """Of the partitions that one leads and the other follows."""
    led = {it: each for it, each in moment.partitions.items() if each.leader == leader}
    both = {it: each for it, each in led.items() if follower in each.assignment}
    inside = {
        it: each.followers.get(follower, FollowerState(0, -1))
        for it, each in both.items()
        if follower in each.isr
    }
    behind = {it: known.behind_since for it, known in inside.items() if known.behind_since > 0}
    limit, who = moment.broker(leader).max_lag_ms, f"Broker {follower}"
    if behind and not limit:
        return f"{who} leaves the ISR of {_named(behind)} when it has lagged for too long."
    if behind:
        left = ceil((min(behind.values()) + limit - moment.at) / 1000)
        when = f"in {left} s or a little later" if left > 0 else f"when broker {leader} checks next"
        return f"{who} leaves the ISR of {_named(behind)} {when}."
    gone = {
        it: at
        for it in both
        if it not in inside
        if (at := moment.story.left_isr(it, follower, since, moment.at)) is not None
    }
    if gone:
        took = (min(gone.values()) - since) / 1000
        return f"{who} left the ISR of {_named(gone)} {took:.1f} s after the cut."
    if inside:
        after = f"{limit / 1000:g} s" if limit else "some time"
        which = _named(inside)
        return f"{who} has all records of {which}. It leaves the ISR {after} after the next one."
    return ""


def _named(partitions: "dict[TopicPartition, FollowerState] | dict[TopicPartition, int]") -> str:
    names = [str(partition) for partition in sorted(partitions)]
    return ", ".join(names) if len(names) <= NAMED else f"{len(names)} partitions"
