"""Range, the default: each topic by itself is cut into as many runs as it has subscribers.

    10 partitions, 3 members     0 1 2 3 | 4 5 6 | 7 8 9

The remainder goes to the first members, one partition each. This is done topic by topic, so in a
group with many small topics the first members have the most partitions. In return, partition 3 of
one topic and partition 3 of another have the same member, if both topics have equally many
partitions: an application that joins two topics by key needs that.
"""

from collections import defaultdict
from collections.abc import Sequence

from engine.assignors.member import Counts, Shares, Subscriber, shares_of, subscribers
from engine.model import TopicPartition


def assign(members: Sequence[Subscriber], counts: Counts) -> Shares:
    held: defaultdict[str, list[TopicPartition]] = defaultdict(list)
    for topic, wanting in subscribers(members, counts).items():
        size, longer = divmod(counts[topic], len(wanting))
        start = 0
        for position, member in enumerate(wanting):
            end = start + size + (position < longer)
            held[member] += [TopicPartition(topic, number) for number in range(start, end)]
            start = end
    return shares_of(members, held)
