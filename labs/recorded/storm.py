"""A group whose members come, go, freeze and die: each time all of them stop reading.

    two consumers share six partitions
    a third comes, and then a fourth        a rebalance each
    the first leaves in good order          one more, at once
    the second is frozen                    nobody reads its share until its session runs out
    it wakes up                             and joins again
    the third is killed                     as with the frozen one
    two new ones come together              which is one rebalance, or two

The strategy is `range`, which is eager: everybody gives up everything before it is shared anew.
The consumers are a GroupView's, and what is done to them is a track of the recording.
"""

from pathlib import Path

from lab import until

from recorded.stand import Stand
from widgets import GroupView
from widgets.group.group_run import DEEDS

GROUP, TOPIC, PARTITIONS = "billing", "orders", 6
CONFIG = {"session.timeout.ms": "4000", "heartbeat.interval.ms": "500"}


def play(path: Path) -> None:
    deeds: list[GroupView] = []
    told = {DEEDS: lambda: deeds[0].news() if deeds else None}
    with Stand(path, tracks=told) as stand:
        first, second, third = stand.cluster.brokers
        stand.topic(TOPIC, [[it] for it in (first, second, third, first, second, third)])
        stand.write(8, partitions=PARTITIONS)
        view = GroupView(stand.cluster, GROUP, TOPIC, CONFIG)
        deeds.append(view)
        try:
            _storm(stand, view)
        finally:
            view.close()


def _storm(stand: Stand, view: GroupView) -> None:
    def stable(count: int) -> None:
        """All of them have a share."""
        until(f"a group of {count} to share", lambda: _stable(stand, count))

    view.add()
    view.add()
    stable(2)
    stand.beat(2.5)
    for count in (3, 4):
        view.add()
        stable(count)
        stand.beat(1.5)
    view.stop("c1")
    stable(3)
    stand.beat(2.5)
    view.freeze("c2")
    stable(2)
    stand.beat(2)
    view.thaw("c2")
    stable(3)
    stand.beat(2.5)
    view.kill("c3")
    stable(2)
    stand.beat(2)
    view.add()
    view.add()
    stable(4)
    stand.beat(3)
    stand.end()


def _stable(stand: Stand, count: int) -> bool:
    group = stand.states().groups.get(GROUP)
    if group is None or group.state != "Stable" or len(group.members) != count:
        return False
    return all(it.share and not it.waits for it in group.members.values())
