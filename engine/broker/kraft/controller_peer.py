"""A connection to the listener of a controller, which has a table of APIs of its own."""

from engine.broker.peer import Peer
from engine.links import Links
from engine.wire.controller_apis import CONTROLLER_APIS


def connect_to_controller(
    host: str, port: int, peer_id: int, client_id: str, timeout_s: float
) -> Peer:
    """A `Connect`, for a node that has no TLS and no SASL there."""
    links = Links.from_environment()
    return Peer(host, port, peer_id, links, client_id, timeout_s, _apis=CONTROLLER_APIS)
