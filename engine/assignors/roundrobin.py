"""Round robin: each partition of all topics goes to the next member.

    10 partitions, 3 members     0 . . 3 . . 6 . . 9      first
                                 . 1 . . 4 . . 7 . .      second
                                 . . 2 . . 5 . . 8 .      third

It is as even as possible if all members subscribe to the same topics. A member that does not
subscribe to a topic is skipped and gets no other partition instead: then it is uneven, and sticky
is better. When a member leaves, nearly every partition moves.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import cycle

from engine.assignors.member import (
    Counts,
    Shares,
    Subscriber,
    in_order,
    partitions_of,
    shares_of,
    subscribers,
)
from engine.model import TopicPartition


def assign(members: Sequence[Subscriber], counts: Counts) -> Shares:
    wanted = {topic: set(ids) for topic, ids in subscribers(members, counts).items()}
    turn = cycle([member.id for member in in_order(members)])
    held: defaultdict[str, list[TopicPartition]] = defaultdict(list)
    for partition in partitions_of(wanted, counts):
        held[next(it for it in turn if it in wanted[partition.topic])].append(partition)
    return shares_of(members, held)
