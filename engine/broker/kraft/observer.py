"""A broker that observes the quorum: it copies the metadata log, and neither votes nor counts.

DIR/meta.properties            written by `storage format`: without it there is no start
DIR/__cluster_metadata-0/      the copy of the log, snapshots, the quorum state

DIR is metadata.log.dir, or the first log directory. The log goes on where the last run has left it.
Each node makes snapshots of its own, from its own image.
"""

import os
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from engine.broker.kraft.controller_peer import connect_to_controller, controller_security
from engine.broker.kraft.quorum_node import NodeContext, NodeQuorum
from engine.broker.kraft.raft_manager import RaftEnvironment, RaftManager
from engine.broker.kraft.snapshot_generator import SnapshotGenerator
from engine.config.kraft import KRaftBrokerConfig
from engine.metadata.image import ImageChanges, MetadataImage
from engine.metadata.meta_properties import claim
from engine.model import Callbacks
from engine.raft.log import QuorumStateStore, RaftLog
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.model import QuorumIdentity
from engine.storage.directory import lock_directory


async def open_observer(
    config: KRaftBrokerConfig, node: NodeContext, stack: AsyncExitStack
) -> NodeQuorum:
    source = node.source
    directory = Path(config.metadata_log_dir or config.log_dirs[0])
    cluster_id = claim(directory, config.node_id).cluster_id
    if str(directory) not in config.log_dirs:  # the others are locked already
        stack.callback(os.close, lock_directory(directory))
    voters, now = config.voters, source.now
    metadata = MetadataDirectory(directory, voters, now(), source.emit)
    stack.callback(lambda: metadata.close(now()))
    connect = partial(connect_to_controller, node.links, controller_security(config))
    environment = RaftEnvironment(now, node.random.randrange, connect, source.report)
    return observe(config, cluster_id, metadata.log, metadata.quorum_state, environment, stack)


def observe(
    config: KRaftBrokerConfig,
    cluster_id: str,
    log: RaftLog,
    quorum_state: QuorumStateStore,
    environment: RaftEnvironment,
    stack: AsyncExitStack,
) -> NodeQuorum:
    """The node's part of the quorum, on a log that is open."""
    voters = config.voters
    loader, image_changed = MetadataLoader(log), Callbacks[[MetadataImage, ImageChanges]]()

    def committed(offset: int) -> None:
        loader.committed(offset)
        image_changed(loader.image, loader.image.take_changes())
        snapshots.generate(raft.now())

    raft = RaftManager(
        QuorumIdentity(config.node_id, cluster_id, frozenset(voters)),
        *(voters, config, log, quorum_state, committed, environment),
    )
    snapshots = SnapshotGenerator(config, raft, loader)
    stack.push_async_callback(raft.close)
    raft.start()
    return NodeQuorum(cluster_id, raft, loader, image_changed, voters, environment.connect)
