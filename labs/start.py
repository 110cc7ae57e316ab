"""The questions and the exercise of 00_start. Read it after you have made your guess.

They stand beside the lab: a learner who sees the answer in a cell predicts nothing.
"""

from collections.abc import Sequence

from engine import Cluster
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from engine.model import TopicPartition
from widgets import Check, Estimate, Predict
from widgets.estimate.number_line import NumberLine
from widgets.story import Outage, Story

ORDERS = TopicPartition("orders", 0)
REPLICAS = 3
CHANGES_ISR = ("isr.changed", "leader.elected")

LOST, WAITS, SURVIVES = "It is lost", "It waits until the broker is back", "It survives"
GONE, KEPT = "Only the two teas", "The two teas and the coffee"


def question() -> Predict:
    return Predict(
        "The leader is killed. What happens to the record?",
        {
            LOST: "The leader's copy is out of reach, but with acks=all both followers had one "
            "before the producer got its answer.",
            WAITS: "With one replica it would. Here a follower in sync is alive, and can lead.",
            SURVIVES: "A follower in sync has every acknowledged record, and it leads now.",
        },
        hint="Who had the record when the producer got its answer?",
    )


def without_leader() -> Estimate:
    return Estimate(
        "For how many seconds will orders have no leader?",
        NumberLine(0.1, 100, "s", within=1.3),
        "Nearly all of it is the session of the dead broker, four seconds. The election takes "
        "milliseconds.",
        holds=(2, 9),
        less="A connection that breaks is no proof of a death: nobody is elected before the "
        "session is over.",
        more="The controller elects as soon as the session is over, and nothing is copied.",
        hint="After how many seconds is a broker taken for dead?",
    )


def promise() -> Predict:
    return Predict(
        "The leader alone has acknowledged the coffee. What is read after its death?",
        {
            GONE: "The followers could not copy the coffee, and one of them leads now.",
            KEPT: "With acks=all the producer would have waited for copies. With acks=1 the only "
            "copy is on the dead broker.",
        },
        hint="Which brokers had the coffee when the leader died?",
    )


def exercise(cluster: Cluster) -> Check:
    events = cluster.events()
    shown = events[-1].number if events else 0
    return Check(
        "All three replicas of orders were in sync, and then the broker that leads was killed",
        cluster,
        lambda state, events: missing(state, events, shown),
        hint="Click the broker that is down, in the picture. Then click the one with the L.",
    )


def missing(state: ClusterState, events: Sequence[ClusterEvent], shown: int) -> str:
    """What is still to be done, of the two steps that begin after the exercise was shown."""
    story, whole, outages = Story(), False, list[Outage]()
    for event in events:
        known = len(story.outages)
        story.add([event])
        if event.kind == "broker.killed" and event.number > shown and whole:
            outages += [it for it in story.outages[known:] if ORDERS in it.partitions]
        if event.kind in CHANGES_ISR and event.data["topic"] == ORDERS.topic:
            whole = len(event.data["isr"]) == REPLICAS
    if any(each.ended is not None for each in outages):
        return ""
    if outages:
        return "orders has no leader yet"
    return not_in_sync(state) or f"kill broker {state.partitions[ORDERS].leader}, which leads now"


def not_in_sync(state: ClusterState) -> str:
    for number, broker in state.brokers.items():
        if not broker.answers:
            return f"broker {number} does not answer"
    isr = sorted(state.partitions[ORDERS].isr)
    if len(isr) == REPLICAS:
        return ""
    return f"in sync is only {' and '.join(f'broker {it}' for it in isr)}"
