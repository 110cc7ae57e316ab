"""A connection to the listener of a controller, which has APIs and a security of its own."""

from engine.broker.peer import Peer
from engine.broker.secure_listeners import PeerSecurity
from engine.config.quorum import QuorumKeys
from engine.links import Links
from engine.wire.controller_apis import ASKED_CONTROLLER_APIS


def controller_security(config: QuorumKeys) -> PeerSecurity:
    """TLS and SASL of the controllers' listener, as a node that connects to it has them."""
    mechanism = config.sasl_mechanism_controller_protocol
    return PeerSecurity(config, config.controller_listener_name, mechanism)


def connect_to_controller(
    links: Links,
    security: PeerSecurity | None,
    host: str,
    port: int,
    peer_id: int,
    client_id: str,
    timeout_s: float,
) -> Peer:
    """A connection to a controller. `security`: None without TLS and SASL."""
    return Peer(host, port, peer_id, links, client_id, timeout_s, security, ASKED_CONTROLLER_APIS)
