"""Range, the default: each topic by itself is cut into as many runs as it has subscribers.

    10 partitions, 3 members     0 1 2 3 | 4 5 6 | 7 8 9

What does not divide goes to the first ones, one partition each. That happens topic by topic, so
that the first members of a group with many small topics carry the most. In return, partition 3 of
one topic and partition 3 of another have the same member, where both have equally many: whoever
joins two topics by key wants exactly that.
"""

from collections import defaultdict
from collections.abc import Sequence

from engine.client.assignors.member import Counts, Member, Shares, shares_of, subscribers
from engine.model import TopicPartition


def assign(members: Sequence[Member], counts: Counts) -> Shares:
    held: defaultdict[str, list[TopicPartition]] = defaultdict(list)
    for topic, wanting in subscribers(members, counts).items():
        size, longer = divmod(counts[topic], len(wanting))
        start = 0
        for position, member in enumerate(wanting):
            end = start + size + (position < longer)
            held[member] += [TopicPartition(topic, number) for number in range(start, end)]
            start = end
    return shares_of(members, held)
