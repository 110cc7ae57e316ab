"""The end of a controller, in the real cluster: by a kill, in order, and without knowing it.

/controller        goes with its owner's session: then another broker creates it
/controller_epoch  grows by one with each; brokers obey no order of an older one
"""

from typing import NamedTuple

from lab import until
from table import Table

from engine import Cluster
from engine.controller import znodes
from engine.errors import ErrorCode
from replication import asking, real


class Failover(NamedTuple):
    dead: int
    next: int
    held: bool  # the node stayed as long as the session of the dead lasted
    epochs: tuple[int, int]
    orderly: bool  # a controller that says goodbye leaves the node at once

    def __repr__(self) -> str:
        rows = [
            ("the node stays while the session of the dead lasts", self.held),
            ("then another broker has it", self.next != self.dead),
            ("and the epoch is one more", self.epochs[1] == self.epochs[0] + 1),
            ("asked to stop, a controller leaves it at once", self.orderly),
        ]
        return repr(Table("what is seen, so", rows))


def failover(cluster: Cluster) -> Failover:
    """The controller is killed; then the next one is asked to stop."""
    dead, before = real.controller(cluster), epoch(cluster)
    with real.keeper(cluster) as client:
        node = client.get(znodes.CONTROLLER)[1]
        cluster.kill(dead)
        still = client.get(znodes.CONTROLLER)[1]
    held = node.ephemeralOwner == still.ephemeralOwner != 0
    following = until("another controller", lambda: _other(cluster, dead))
    after = epoch(cluster)
    cluster.stop_broker(following)
    owner = real.controller(cluster)
    real.mend(cluster)
    return Failover(dead, following, held, (before, after), owner != following)


def _other(cluster: Cluster, than: int) -> int:
    found = real.controller(cluster)
    return 0 if found in (-1, than) else found


def epoch(cluster: Cluster) -> int:
    return znodes.decode_epoch(real.must(cluster, znodes.CONTROLLER_EPOCH))


class Zombie(NamedTuple):
    asleep: int
    awake: int  # the controller when it wakes up
    epochs: tuple[int, int]
    refused: ErrorCode  # what a broker says to an order in the old epoch
    resigned: bool
    controllers: int  # how many brokers believe to be it in the end

    def __repr__(self) -> str:
        rows = [
            ("another broker took over while it slept", self.awake != self.asleep),
            ("an order in its old epoch", self.refused.name),
            ("it resigned when it woke up", self.resigned),
            ("controllers in the end", self.controllers),
        ]
        return repr(Table("what is seen, so", rows))


def zombie(cluster: Cluster) -> Zombie:
    """The controller sleeps for longer than its session; then an order of its time is given."""
    asleep, old = real.controller(cluster), epoch(cluster)
    cluster.pause(asleep)
    awake = until("another controller", lambda: _other(cluster, asleep))
    new = epoch(cluster)
    listener = next(it for it in cluster.brokers if it not in (asleep, awake))

    def heard() -> int:
        return cluster.state().brokers[listener].controller_epoch

    until("a broker that heard of it", lambda: heard() == new)
    refused = asking.order(cluster, listener, asleep, old)
    before = real.tail(cluster)
    cluster.resume(asleep)
    until("a controller that steps down", lambda: not cluster.state().brokers[asleep].active)
    real.mend(cluster)
    told = [it for it in cluster.events(before) if it.kind == "controller.resigned"]
    believers = sum(it.active for it in cluster.state().brokers.values())
    return Zombie(asleep, awake, (old, new), refused, bool(told), believers)
