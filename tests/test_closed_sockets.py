"""A client of kafka-python that is refused leaves no socket for the tests behind it."""

import gc

import kafka
import pytest
from kafka.errors import KafkaError

from engine.cluster.ports import HOST, free_port


def test_a_socket_that_was_refused_is_closed() -> None:
    with pytest.raises(KafkaError):
        kafka.KafkaAdminClient(bootstrap_servers=f"{HOST}:{free_port()}", bootstrap_timeout_ms=500)
    gc.collect()  # a socket that is open would be a warning now, and those are errors here
