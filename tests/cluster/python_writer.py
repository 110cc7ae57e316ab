"""kafka-python's producer at the same work as confluent-kafka's (proof.chaos.workload)."""

from collections.abc import Mapping
from typing import Any

import kafka
from kafka.errors import KafkaError

from proof.chaos.history import Sent
from proof.chaos.workload import TURN, ChaosWriter


class PythonWriter(ChaosWriter):
    refusals = (KafkaError,)

    def _open(self, bootstrap: str, settings: Mapping[str, Any]) -> None:
        fixed = {
            "bootstrap_servers": bootstrap.split(","),
            "acks": "all",
            "enable_idempotence": True,
            "linger_ms": 5,
            "request_timeout_ms": 3000,
            "reconnect_backoff_max_ms": 200,
            "metadata_max_age_ms": 1000,
            "delivery_timeout_ms": 120_000,
        }
        self._producer = kafka.KafkaProducer(**(fixed | settings))

    def _send(self, sent: Sent, value: bytes) -> None:
        future = self._producer.send(self._history.topic, value, partition=sent.partition)
        future.add_callback(lambda answer: self._note(sent, answer.offset, ""))
        future.add_errback(lambda error: self._note(sent, -1, repr(error)))

    def _turn(self) -> None:
        self._over.wait(TURN)

    def _close(self, patience: float) -> None:
        self._producer.close(timeout=patience)
