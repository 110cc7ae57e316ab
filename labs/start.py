"""The question and the exercise of 00_start. Read it after you have made your guess.

A lab's questions stand beside it, for whoever sees the answer in a cell predicts nothing.
"""

from collections.abc import Sequence

from engine import Cluster
from engine.cluster.state import ClusterState
from engine.cluster.stream import Happened
from engine.model import TopicPartition
from widgets import Check, Predict

LOST, WAITS, SURVIVES = "It is lost", "It waits until the broker is back", "It survives"


def question() -> Predict:
    return Predict(
        "The leader is killed. What becomes of the record?",
        {
            LOST: "The leader's copy is out of reach, but with acks=all both followers had one "
            "before the producer heard “stored”.",
            WAITS: "With one replica it would. Here a follower in sync is alive, and can lead.",
            SURVIVES: "A follower in sync has every acknowledged record, and it leads now.",
        },
        hint="Who had the record by the time the producer heard that it was stored?",
    )


def exercise(cluster: Cluster) -> Check:
    return Check(
        "All three replicas of orders are in sync again",
        cluster,
        in_sync,
        hint="Click the broker that is down, in the picture above.",
    )


def in_sync(state: ClusterState, events: Sequence[Happened]) -> str:
    """What is missing."""
    for number, broker in state.brokers.items():
        if not broker.answers:
            return f"broker {number} does not answer"
    isr = sorted(state.partitions[TopicPartition("orders", 0)].isr)
    return "" if len(isr) == 3 else f"in sync is only {' and '.join(f'broker {it}' for it in isr)}"
