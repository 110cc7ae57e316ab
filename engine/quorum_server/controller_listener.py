"""The listener of a controller: what its protocol puts before each connection.

    PLAINTEXT        nothing
    SSL              TLS: a node shows a certificate, by which it is known
    SASL_PLAINTEXT   a login by PLAIN: the users are in the JAAS line of the listener
    SASL_SSL         both

SCRAM is no mechanism here: its credentials would be in the metadata, which controllers need to log
in to get, and level 7 has none.
"""

from collections.abc import Callable
from functools import partial

from engine.broker.handlers import versions
from engine.broker.secure_connection import secured
from engine.broker.secure_listeners import SecureListener
from engine.broker.server import Secure, Server
from engine.config.listeners import Listener
from engine.config.quorum import QuorumKeys
from engine.errors import invalid_config
from engine.security.sasl_server import SaslServerAuthenticator
from engine.wire.controller_apis import CONTROLLER_APIS

Report = Callable[..., None]  # an event: its kind, then the facts by name


async def bind_controller(
    server: Server, host: str, port: int, config: QuorumKeys, report: Report
) -> int:
    """Listen for other nodes and administrators, secured as configured. Returns the port."""
    try:
        return await server.bind(host, port, _secure(host, port, config, report))
    except OSError as error:
        raise invalid_config(
            f"Socket server failed to bind to {host}:{port}: {error.strerror}. "
            "Is another controller running there?"
        ) from error


def _secure(host: str, port: int, config: QuorumKeys, report: Report) -> Secure:
    name = config.controller_listener_name
    listener = Listener(name, host, port, config.protocol_of(name))
    return partial(
        secured, SecureListener(listener, config, lambda user: {}, report), _authenticator
    )


def _authenticator(listener: SecureListener) -> SaslServerAuthenticator:
    respond = partial(versions.respond, CONTROLLER_APIS.values())
    return SaslServerAuthenticator(listener.mechanisms, respond, versions.unsupported)
