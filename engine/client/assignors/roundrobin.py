"""Round robin: all partitions of all topics are dealt like cards.

    10 partitions, 3 members     0 . . 3 . . 6 . . 9      first
                                 . 1 . . 4 . . 7 . .      second
                                 . . 2 . . 5 . . 8 .      third

As even as can be while all want the same topics. Whoever does not want a topic is passed over and
does not get the card back later: that is when it gets uneven, and what sticky does better. When a
member leaves, nearly every card changes hands.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import cycle

from engine.client.assignors.member import (
    Counts,
    Member,
    Shares,
    in_order,
    partitions_of,
    shares_of,
    subscribers,
)
from engine.model import TopicPartition


def assign(members: Sequence[Member], counts: Counts) -> Shares:
    wanted = {topic: set(ids) for topic, ids in subscribers(members, counts).items()}
    turn = cycle([member.id for member in in_order(members)])
    held: defaultdict[str, list[TopicPartition]] = defaultdict(list)
    for partition in partitions_of(wanted, counts):
        held[next(it for it in turn if it in wanted[partition.topic])].append(partition)
    return shares_of(members, held)
