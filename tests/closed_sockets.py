"""kafka-python forgets sockets; Python warns when it finds one, in the time of some later test.

    connect    refused, or not answered in time
    TLS        a handshake that failed, or was under way when the client was closed

In a run of tests they are closed at once: see conftest.py.
"""

from typing import Any


def close_what_fails() -> None:
    """Let kafka-python close the sockets of connections that fail. A test has imported it."""
    from kafka.net.inet import KafkaNetSocket  # noqa: PLC0415
    from kafka.net.transport import KafkaSSLTransport  # noqa: PLC0415

    connect, shake = KafkaNetSocket.sock_connect, KafkaSSLTransport.handshake

    async def connected(self: Any, net: Any, sock: Any, *words: Any, **more: Any) -> Any:
        try:
            return await connect(self, net, sock, *words, **more)
        except BaseException:  # also that of a coroutine that is closed
            sock.close()
            raise

    async def shaken(self: Any) -> None:
        try:
            await shake(self)
        except BaseException:
            self._sock.close()
            raise

    KafkaNetSocket.sock_connect, KafkaSSLTransport.handshake = connected, shaken
