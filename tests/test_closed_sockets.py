"""A client of kafka-python that comes to nothing leaves no socket for the tests behind it."""

import gc
import socket

import kafka
import pytest
from kafka.errors import KafkaError
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport

from engine.cluster.ports import HOST, free_port


def test_a_socket_that_was_refused_is_closed() -> None:
    with pytest.raises(KafkaError):
        kafka.KafkaAdminClient(bootstrap_servers=f"{HOST}:{free_port()}", bootstrap_timeout_ms=500)
    gc.collect()  # a socket that is open would be a warning now, and those are errors here


def test_a_loop_that_stops_closes_a_socket_whose_handshake_is_not_answered() -> None:
    with socket.create_server((HOST, 0)) as silent:
        loop, plain = NetworkSelector(), socket.create_connection(silent.getsockname())
        plain.setblocking(False)
        transport = KafkaSSLTransport(loop, plain, host=HOST)
        loop.call_soon(transport.handshake())
        loop.start()
        hello, _ = silent.accept()
        with hello:
            assert hello.recv(1)
            loop.stop()
        del loop, transport
        gc.collect()
