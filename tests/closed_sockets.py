"""kafka-python forgets sockets; Python warns when it finds one, in the time of some later test.

    connect    refused, or not answered in time
    TLS        a handshake that failed
    the loop   stops: its own sockets, and those with a handshake or bytes to send under way

In a run of tests they are closed at once: see conftest.py.
"""

from typing import Any
from weakref import WeakKeyDictionary, WeakSet


def close_what_it_forgets() -> None:
    """Let kafka-python close the sockets of connections that fail, and those of a loop that has
    stopped. A test has imported it."""
    from kafka.net.inet import KafkaNetSocket  # noqa: PLC0415
    from kafka.net.selector import NetworkSelector  # noqa: PLC0415
    from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport  # noqa: PLC0415

    sockets = WeakKeyDictionary[Any, WeakSet[Any]]()  # of each loop
    connect, shake = KafkaNetSocket.sock_connect, KafkaSSLTransport.handshake
    stop, close, made = NetworkSelector.stop, NetworkSelector.close, KafkaTCPTransport.__init__

    async def connected(self: Any, net: Any, sock: Any, *words: Any, **more: Any) -> Any:
        sockets.setdefault(net, WeakSet()).add(sock)
        try:
            return await connect(self, net, sock, *words, **more)
        except BaseException:  # also that of a coroutine that is closed
            sock.close()
            raise

    def transport(self: Any, net: Any, sock: Any, *words: Any, **more: Any) -> None:
        sockets.setdefault(net, WeakSet()).add(sock)  # of TLS another one than that which connected
        made(self, net, sock, *words, **more)

    async def shaken(self: Any) -> None:
        try:
            await shake(self)
        except BaseException:
            self._sock.close()
            raise

    def let_go(self: Any) -> None:
        for each in (*sockets.pop(self, ()), self._wakeup_r, self._wakeup_w):
            each.close()

    def stopped(self: Any, *words: Any, **more: Any) -> None:
        stop(self, *words, **more)
        if not self._closed:  # or it is a part of `close`, which goes on
            let_go(self)

    def closed(self: Any) -> None:
        close(self)
        let_go(self)

    KafkaNetSocket.sock_connect, KafkaSSLTransport.handshake = connected, shaken
    KafkaTCPTransport.__init__ = transport
    NetworkSelector.stop, NetworkSelector.close = stopped, closed
