"""What a broker has of the quorum of controllers: the Raft of its node, and the metadata.

a broker alone          an observer: it copies the log of the quorum (observer.py)
broker and controller   one Raft in one process: the broker reads what the controller has
"""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import NamedTuple

from engine.broker.kraft.raft_manager import RaftManager
from engine.broker.peer import Connect
from engine.config.quorum import VoterAddress
from engine.model import Callbacks
from engine.raft.metadata_loader import MetadataLoader


class QuorumNode(NamedTuple):
    cluster_id: str
    raft: RaftManager
    loader: MetadataLoader
    image_changed: Callbacks[[]]  # records were committed, and are in the loader's image
    voters: Mapping[int, VoterAddress]
    connect: Connect  # to the listener of a controller


OpenQuorum = Callable[[AsyncExitStack], QuorumNode]  # until the stack is unwound
