"""The classes that decide in a node of the quorum. Others may be put in their place.

    RaftRules()                    Kafka's rules: every node has them by default
    RaftRules(leader=MyLeader)     a node that leads by another class

The simulator's planted defects are subclasses of these.
"""

from typing import NamedTuple

from engine.raft.follower import RaftFollower
from engine.raft.leader import RaftLeader
from engine.raft.quorum_state import QuorumState


class RaftRules(NamedTuple):
    quorum: type[QuorumState] = QuorumState
    leader: type[RaftLeader] = RaftLeader
    follower: type[RaftFollower] = RaftFollower


KAFKAS_RAFT = RaftRules()
