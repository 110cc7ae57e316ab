"""A connection that comes in to a listener: TLS first, then SASL, then the requests.

    socket ──> TlsAcceptor: handshake ──> asyncio's TLS transport ──> Connection ──> authenticate
                                                                                └──> dispatch

The kernel cannot encrypt: records from a log file are read, encrypted and written, where a plain
connection uses sendfile. The listener counts their bytes, so that a lab can show what TLS costs.

A handshake that fails closes the connection: a client without TLS, a certificate that has expired
or that nobody here trusts, none where one is required. One that stops in the middle is closed after
a while. Nobody else waits for it.

After a failed authentication the broker waits for `connection.failed.authentication.delay.ms`, then
it sends the answer and closes the connection. So nobody can try many passwords quickly.
"""

import asyncio
import os
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from engine.broker.secure_listeners import SecureListener
from engine.broker.server import Connection, Handle, Pieces
from engine.security.mechanism import AuthenticationFailed
from engine.security.sasl_server import AuthenticationRefused, SaslServerAuthenticator
from engine.security.tls import HANDSHAKE_TIMEOUT_S
from engine.wire.errors import Malformed
from engine.wire.frame import Frame

CHUNK = 256 * 1024  # bytes of a file that are read at once


def secured(
    listener: SecureListener,
    authenticator: Callable[[SecureListener], SaslServerAuthenticator],
    connection: Connection,
) -> asyncio.BaseProtocol:
    """What the listener's protocol asks for, in front of a new connection."""
    connection.listener = listener.name
    if listener.listener.sasl:
        most = connection.frames.max_bytes
        connection.handle = partial(
            authenticate, listener, authenticator(listener), most, connection.handle
        )
        connection.frames.max_bytes = listener.max_receive
    return TlsAcceptor(listener, connection) if listener.listener.tls else connection


class TlsAcceptor(asyncio.Protocol):
    """Owns a connection until the end of the handshake.

    A client may send its first request with the last bytes of the handshake: `_early` has them
    until the connection can take them.
    """

    def __init__(self, listener: SecureListener, connection: Connection) -> None:
        self._listener = listener
        self._connection = connection
        self._early = bytearray()
        self._task: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        plain = cast(asyncio.Transport, transport)
        plain.pause_reading()  # the bytes are for the handshake, which begins in a moment
        self._connection.server.shaking_hands.add(plain)
        self._task = asyncio.get_running_loop().create_task(self._accept(plain))

    async def _accept(self, plain: asyncio.Transport) -> None:
        connection, listener = self._connection, self._listener
        try:
            assert listener.context is not None
            transport = await asyncio.get_running_loop().start_tls(
                plain,
                self,
                listener.context,
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_TIMEOUT_S,
            )
            if transport is None:
                return  # it was closed meanwhile
            principal = listener.principals.principal(transport.get_extra_info("peercert"))
        except (OSError, ssl.CertificateError, AuthenticationFailed) as error:
            if (address := plain.get_extra_info("peername")) is not None:
                listener.failed("{}:{}".format(*address), f"SSL handshake failed: {error}")
            plain.abort()
            return
        finally:
            connection.server.shaking_hands.discard(plain)
        connection.principal = principal
        connection.send_file = partial(copy_file, listener, connection)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        while self._early:
            buffer = connection.get_buffer(-1)
            taken = min(len(self._early), len(buffer))
            buffer[:taken] = self._early[:taken]
            del self._early[:taken]
            connection.buffer_updated(taken)


async def copy_file(
    listener: SecureListener,
    connection: Connection,
    transport: asyncio.Transport,
    file: Any,
    position: int,
    size: int,
) -> int:
    """In place of `loop.sendfile`: returns how many bytes were sent."""
    sent = 0
    while sent < size:
        chunk = os.pread(file.fileno(), min(CHUNK, size - sent), position + sent)
        if not chunk:
            break
        transport.write(chunk)
        sent += len(chunk)
        listener.tls_copied += len(chunk)
        await connection.writable()
    return sent


async def authenticate(
    listener: SecureListener,
    authenticator: SaslServerAuthenticator,
    max_bytes: int,
    handle: Handle,
    connection: Connection,
    frame: Frame,
) -> Pieces | None:
    """Answer a request that is a part of an authentication; `handle` any other, if the client has
    authenticated. `max_bytes` is the largest request of a client that has."""
    now = asyncio.get_running_loop().time()
    if not authenticator.takes(int.from_bytes(frame[:2], "big"), now):
        if authenticator.has_expired(now):
            raise Malformed("the session has expired, and was not authenticated again")
        return await handle(connection, frame)
    try:
        answer = authenticator.receive(frame, now)
    except AuthenticationRefused as refused:
        listener.failed(connection.peer, str(refused))
        await asyncio.sleep(listener.failure_delay)
        await connection.send(refused.answer)
        raise Malformed("the authentication failed") from None
    if authenticator.complete and authenticator.principal is not None:
        connection.principal = authenticator.principal
        connection.frames.max_bytes = max_bytes
    return answer
