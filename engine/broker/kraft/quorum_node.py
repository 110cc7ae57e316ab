"""What a broker has of the quorum of controllers: the Raft of its node, and the metadata.

a broker alone          an observer: it copies the log of the quorum (observer.py)
broker and controller   one Raft in one process: the broker reads what the controller has
                        (engine/quorum_server/combined_node.py)
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from random import Random
from typing import Any, NamedTuple

from engine.broker.events import Ring
from engine.broker.kraft.raft_manager import RaftManager
from engine.broker.metadata_source import SourceContext
from engine.broker.peer import Connect
from engine.config.quorum import VoterAddress
from engine.links import Links
from engine.metadata.image import ImageChanges, MetadataImage
from engine.model import NO_BROKER, Callbacks
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.own_deadline import own_deadline
from engine.raft.raft_client import RaftClient

EPOCHS = 8  # of the log that are told: the last ones


class NodeContext(NamedTuple):
    """What a broker gives to the quorum's part of its node."""

    source: SourceContext
    links: Links
    events: Ring
    random: Random


class NodeQuorum(NamedTuple):
    cluster_id: str
    raft: RaftManager
    loader: MetadataLoader
    image_changed: Callbacks[[MetadataImage, ImageChanges]]  # by records that are committed
    voters: Mapping[int, VoterAddress]
    connect: Connect  # to the listener of a controller

    def facts(self) -> Mapping[str, Any]:
        return quorum_facts(self.raft.client, self.loader.image)


# Until the stack is unwound.
OpenQuorum = Callable[[NodeContext, AsyncExitStack], Awaitable[NodeQuorum]]


def quorum_facts(client: RaftClient, image: MetadataImage) -> dict[str, Any]:
    """What a node knows of the quorum, and of the brokers."""
    election = client.quorum.election
    return {
        "registered": sorted(image.brokers),
        "fenced": sorted(id for id, broker in image.brokers.items() if broker.fenced),
        "role": client.state.value,
        "epoch": client.epoch,
        "leader": NO_BROKER if election.leader is None else election.leader,  # -1: it knows none
        "voted": NO_BROKER if election.voted is None else election.voted,
        "due": own_deadline(client) or 0,
        "epochs": client.log.epochs[-EPOCHS:],
        "log_start": client.log.start_offset,
        "log_end": client.log.end.offset,
        "high_watermark": client.high_watermark,
        "voters": sorted(client.identity.voters),
    }


def metadata_facts(image: MetadataImage, topic: str | None) -> dict[str, Any]:
    """What is known of topics and brokers, and of the partitions of one topic: leader, ISR."""
    found = image.topics.get(topic) if topic is not None else None
    return {
        "offset": image.offset,
        "topics": list(image.topics),
        "unfenced": sorted(id for id, broker in image.brokers.items() if not broker.fenced),
        "partitions": {
            number: (partition.leader, partition.isr)
            for number, partition in (found.partitions.items() if found else ())
        },
    }
