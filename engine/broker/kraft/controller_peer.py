"""A connection to the listener of a controller, which has a table of APIs of its own."""

from engine.broker.peer import Peer
from engine.links import Links
from engine.wire.controller_apis import CONTROLLER_APIS


def connect_to_controller(
    links: Links, host: str, port: int, peer_id: int, client_id: str, timeout_s: float
) -> Peer:
    """With the links of its node, a `Connect` where there is no TLS and no SASL."""
    return Peer(host, port, peer_id, links, client_id, timeout_s, _apis=CONTROLLER_APIS)
