"""Values of the quorum: places in its log, its members, what a node must remember, its times."""

from typing import NamedTuple


class OffsetAndEpoch(NamedTuple):
    """The end of a log or of a snapshot, and the epoch of the last record before it."""

    offset: int
    epoch: int

    def is_at_least(self, other: "OffsetAndEpoch") -> bool:
        """Whether this log end is not behind another: the epoch counts first."""
        return (self.epoch, self.offset) >= (other.epoch, other.offset)


class ElectionState(NamedTuple):
    """What a node knows of the newest epoch. It is on the disk before a message tells of it."""

    epoch: int = 0
    leader: int | None = None  # None: not known
    voted: int | None = None  # for whom, while the leader is not known


class QuorumIdentity(NamedTuple):
    """Who this node is, and who votes."""

    node_id: int
    cluster_id: str
    voters: frozenset[int]

    @property
    def is_voter(self) -> bool:
        return self.node_id in self.voters

    @property
    def others(self) -> list[int]:
        """The other voters."""
        return sorted(self.voters - {self.node_id})

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1


class QuorumConfig(NamedTuple):
    """Times in ms, with the defaults of the keys `controller.quorum.*`, and sizes in bytes."""

    election_timeout_ms: int = 1000  # the shortest; the longest is twice that
    fetch_timeout_ms: int = 2000  # a follower without an answer from the leader stands for election
    election_backoff_max_ms: int = 1000  # between two elections of one candidate
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20  # after a request that failed
    fetch_max_wait_ms: int = 500  # how long a leader keeps a Fetch when there is nothing new
    fetch_max_bytes: int = 8 * 2**20
    snapshot_max_bytes: int = 8 * 2**20  # of one chunk
    pre_vote: bool = False  # ask for votes before the epoch grows (KIP-996, Kafka 4)
    prompt_mark: bool = False  # a new high watermark answers Fetches that wait (Kafka 4.1)


class TruncatedBelowHighWatermark(Exception):
    """A leader lacks records that are committed. The node stops: going on would lose them."""
