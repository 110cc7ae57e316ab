"""A broker that observes the quorum: it copies the metadata log, and neither votes nor counts.

DIR/meta.properties            written by `storage format`: without it there is no start
DIR/__cluster_metadata-0/      the copy of the log, snapshots, the quorum state

DIR is metadata.log.dir, or the first log directory. The log goes on where the last run has left it.
"""

import os
from contextlib import AsyncExitStack
from pathlib import Path

from engine.broker.kraft.quorum_node import QuorumNode
from engine.broker.kraft.raft_manager import RaftEnvironment, RaftManager
from engine.config.kraft import KRaftBrokerConfig
from engine.metadata.meta_properties import claim
from engine.model import Callbacks
from engine.raft.log import QuorumStateStore, RaftLog
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.model import QuorumIdentity
from engine.storage.directory import lock_directory
from engine.storage.log import Emit


def open_observer(
    config: KRaftBrokerConfig, emit: Emit, environment: RaftEnvironment, stack: AsyncExitStack
) -> QuorumNode:
    directory = Path(config.metadata_log_dir or config.log_dirs[0])
    cluster_id = claim(directory, config.node_id).cluster_id
    if str(directory) not in config.log_dirs:  # the others are locked already
        stack.callback(os.close, lock_directory(directory))
    now = environment.now
    metadata = MetadataDirectory(directory, config.voters, now(), emit)
    stack.callback(lambda: metadata.close(now()))
    return observe(config, cluster_id, metadata.log, metadata.quorum_state, environment, stack)


def observe(
    config: KRaftBrokerConfig,
    cluster_id: str,
    log: RaftLog,
    quorum_state: QuorumStateStore,
    environment: RaftEnvironment,
    stack: AsyncExitStack,
) -> QuorumNode:
    """With a log that is open."""
    voters = config.voters
    loader, image_changed = MetadataLoader(log), Callbacks[[]]()

    def committed(offset: int) -> None:
        loader.committed(offset)
        image_changed()

    raft = RaftManager(
        QuorumIdentity(config.node_id, cluster_id, frozenset(voters)),
        *(voters, config, log, quorum_state, committed, environment),
    )
    stack.push_async_callback(raft.close)
    raft.start()
    return QuorumNode(cluster_id, raft, loader, image_changed, voters, environment.connect)
