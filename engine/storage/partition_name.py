"""The name of a partition's directory, and what no partition may be called.

orders-0                  partition 0 of the topic orders
of-2-orders-12            partition 12 of the topic of-2-orders: the last hyphen parts them
orders-007                no partition: a number has one form
__cluster_metadata-0      the log of the quorum: no partition of a broker
"""

import re

from engine.model import TopicPartition

METADATA = "__cluster_metadata-0"

_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9][0-9]{0,9})")


def parse_name(name: str) -> TopicPartition | None:
    """The partition of a directory's name; None if it is not a partition's."""
    match = _PARTITION.fullmatch(name)
    return TopicPartition(match[1], int(match[2])) if match and name != METADATA else None
