"""A node that is broker and controller: one process, one Raft, one log of the metadata.

    process.roles=broker,controller
    listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
    controller.listener.names=CONTROLLER

The controller serves its own listener. The broker reads the image that the controller's loader
makes of the committed records, and sends its requests to the active controller over the network,
also if that is its own process.
"""

from contextlib import AsyncExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path

from engine.broker.kraft.controller_peer import connect_to_controller, controller_security
from engine.broker.kraft.quorum_node import NodeContext, NodeQuorum
from engine.broker.kraft.raft_manager import RaftEnvironment
from engine.broker.peer import Connect
from engine.broker.server import Server
from engine.config.kraft import KRaftBrokerConfig
from engine.config.quorum import ControllerConfig
from engine.metadata.meta_properties import claim
from engine.quorum_server.build import (
    ControllerNode,
    ControllerStore,
    ControllerWorld,
    build_controller,
)
from engine.quorum_server.controller_listener import bind_controller
from engine.quorum_server.controller_server import IDLE_MS, MAX_CONNECTIONS
from engine.raft.bootstrap import BOOTSTRAP, read_bootstrap
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import QuorumIdentity

CLOSE_IDLE_MS = 10_000  # between two looks for idle connections


async def open_combined(
    config: KRaftBrokerConfig, node: NodeContext, stack: AsyncExitStack
) -> NodeQuorum:
    """The broker has locked the log directories."""
    source, voters = node.source, config.voters
    directory = Path(config.metadata_log_dir or config.log_dirs[0])
    cluster_id = claim(directory, config.node_id).cluster_id
    metadata = MetadataDirectory(directory, voters, source.now(), source.emit)
    stack.callback(lambda: metadata.close(source.now()))
    connect = partial(connect_to_controller, node.links, controller_security(config))
    raft = RaftEnvironment(source.now, node.random.randrange, connect, source.report)
    settings = controller_config(config)
    controller = build_controller(
        QuorumIdentity(config.node_id, cluster_id, frozenset(voters)),
        *(voters, settings),
        ControllerStore(
            *(metadata.log, metadata.quorum_state), partial(read_bootstrap, directory / BOOTSTRAP)
        ),
        ControllerWorld(raft, source.new_uuid, node.random, node.events, source.report),
    )
    await _serve(config, controller, node, stack)
    return combined(config, controller, cluster_id, connect, stack)


def combined(
    config: KRaftBrokerConfig,
    controller: ControllerNode,
    cluster_id: str,
    connect: Connect,
    stack: AsyncExitStack,
) -> NodeQuorum:
    """Start the Raft of a controller that serves; a broker in the same process reads its image."""
    raft, service = controller.raft, controller.service
    stack.push_async_callback(raft.close)
    stack.callback(service.close)
    stack.push_async_callback(raft.resign, config.controller_quorum_election_timeout_ms / 1000)
    raft.start()
    return NodeQuorum(
        *(cluster_id, raft, service.loader, service.image_changed, config.voters, connect)
    )


def controller_config(config: KRaftBrokerConfig) -> ControllerConfig:
    """The controller's keys, which a broker has, too."""
    names = [field.name for field in fields(ControllerConfig)]
    return ControllerConfig(**{name: getattr(config, name) for name in names})


async def _serve(
    config: KRaftBrokerConfig, controller: ControllerNode, node: NodeContext, stack: AsyncExitStack
) -> None:
    server = Server(
        controller.handlers.handle,
        max_request_bytes=config.socket_request_max_bytes,
        max_connections=lambda: MAX_CONNECTIONS,
        idle_ms=IDLE_MS,
        links=node.links,
    )
    stack.push_async_callback(server.close)
    own = config.controller_listener
    await bind_controller(server, own.host, own.port, config, node.source.report)
    await server.serve()
    node.source.every(CLOSE_IDLE_MS, server.close_idle)
