"""Collects state and events from all brokers and controllers, through their debug servers.

`state` and `events` ask all of them at once, and do not wait for one that does not answer. For its
events they wait longer: they are to explain what a state has shown. Both may be called from several
threads: from a recorder's and from the notebook's. A broker of Apache Kafka has no debug server: a
reporter asks for its state, and it has no events.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.cluster.broker_process import BrokerProcess
from engine.cluster.debug_client import Callback, DebugClient, receive
from engine.cluster.event_stream import ClusterEvent, EventStream
from engine.cluster.kafka_reporter import KafkaReporter
from engine.cluster.state import ClusterState, LinkState, Status, now
from engine.cluster.state_merger import ProcessState, StateMerger
from engine.errors import ApiException, ErrorCode, invalid_request

STATE_WAIT_S = 0.25  # to wait for a node's state,
EVENTS_WAIT_S = 1.0  # and for its events
REQUEST_WAIT_S = 5.0  # for a broker to do what was requested
BATCH = 2000  # events requested at a time,
ROUNDS = 10  # so many times in a row
RETRY_S = 0.01  # between two attempts


class Observer:
    def __init__(
        self,
        control_file: Callable[[int], Path],
        members: Callable[[], Mapping[int, ProcessState]],
        controllers: Callable[[], Mapping[int, ProcessState]] = dict,
    ) -> None:
        """The file of a debug server by the id of its node; and the processes."""
        self._control_file = control_file
        self._members, self._controllers = members, controllers
        self._clients: dict[int, DebugClient] = {}
        self._reporters: dict[int, KafkaReporter] = {}
        self._merger = StateMerger()
        self._stream = EventStream()
        self._full: set[int] = set()  # brokers that have more events than fit in a response
        self._lock = threading.RLock()

    def report(self, broker: int, reporter: KafkaReporter | None) -> None:
        """From now on this is a broker of Apache Kafka; or, without a reporter, one of ours."""
        with self._lock:
            if (old := self._reporters.pop(broker, None)) is not None:
                old.close()
            if reporter is not None:
                self._reporters[broker] = reporter

    def state(self, links: Iterable[LinkState]) -> ClusterState:
        with self._lock:
            members, controllers = self._members(), self._controllers()
            up = _up(members)
            quorum = [self._client(node) for node in _up(controllers)]
            clients = [self._client(broker) for broker in up if broker not in self._reporters]
            for broker in self._reporters.keys() & up:
                self._reporters[broker].ask()
            for client in [*clients, *quorum]:
                if not client.pending and client.open():
                    client.send({"ask": "state"}, self._merge_state(client))
            receive([*clients, *quorum], STATE_WAIT_S)
            until = time.monotonic() + STATE_WAIT_S
            for broker in self._reporters.keys() & up:
                left = max(until - time.monotonic(), 0)
                if (answer := self._reporters[broker].take(left)) is not None:
                    self._merger.update(broker, 1, answer)
            return self._merger.snapshot(now(), members, links, controllers)

    def events(self, after: int) -> list[ClusterEvent]:
        with self._lock:
            self.collect(_up(self._members()) + _up(self._controllers()))
            return self._stream.after(after)

    def collect(self, brokers: Collection[int]) -> None:
        """Fetch the events of these nodes; before one is killed, for instance."""
        with self._lock:
            clients = [self._client(each) for each in brokers if each not in self._reporters]
            receive(clients, EVENTS_WAIT_S)  # what was asked before
            for _ in range(ROUNDS):
                for client in clients:
                    if not client.pending and client.open():
                        self._request_events(client)
                receive(clients, EVENTS_WAIT_S)
                if not any(client.number in self._full for client in clients):
                    break
            self._stream.merge()

    def note(self, kind: str, **data: Any) -> None:
        """Add an event: something that was done to the cluster."""
        self.note_at(kind, now(), data)

    def note_at(self, kind: str, at: int, data: dict[str, Any]) -> None:
        """Add an event: something that happened at a time."""
        with self._lock:
            self._stream.note(ClusterEvent(kind, at, None, data))

    def request(self, broker: int, request: dict[str, Any], *, wait: bool = True) -> dict[str, Any]:
        """Have a broker do something. A paused one does it later: don't wait for it."""
        if broker in self._reporters:
            raise invalid_request(
                f"broker {broker} is one of Apache Kafka: it cannot be traced, change its answers, "
                "or hold back its messages; choose a broker of ours"
            )
        answers: list[dict[str, Any]] = []
        deadline = time.monotonic() + REQUEST_WAIT_S
        with self._lock:
            client = self._client(broker)
            while not client.send(request, answers.append) and time.monotonic() < deadline:
                time.sleep(RETRY_S)  # it is just starting
            while wait and not answers and client.pending and time.monotonic() < deadline:
                receive([client], deadline - client.waits_since)
        if wait and not answers:
            raise ApiException(ErrorCode.request_timed_out, f"broker {broker} does not answer")
        if wait and "error" in answers[0]:
            raise invalid_request(str(answers[0]["error"]))
        return answers[0] if answers else {}

    def request_running(self, node: BrokerProcess, request: dict[str, Any]) -> dict[str, Any]:
        """Have a broker do something, unless it is down, or one of Apache Kafka."""
        if node.status is Status.DOWN or node.is_kafka:
            return {}
        return self.request(node.number, request, wait=node.status is Status.UP)

    def ask_all(self, nodes: Collection[int], request: dict[str, Any]) -> list[dict[str, Any]]:
        """The answers of those that answer soon."""
        answers: list[dict[str, Any]] = []
        with self._lock:
            clients = [self._client(node) for node in nodes]
            for client in clients:
                if client.open():
                    client.send(request, answers.append)
            receive(clients, STATE_WAIT_S)
        if refused := [answer["error"] for answer in answers if "error" in answer]:
            raise invalid_request(str(refused[0]))
        return answers

    def stop_reporting(self) -> None:
        """Before the cluster's own connection to ZooKeeper is closed."""
        with self._lock:
            for reporter in self._reporters.values():
                reporter.close()
            self._reporters.clear()

    def close(self) -> None:
        with self._lock:
            for client in self._clients.values():
                client.close()

    def _client(self, broker: int) -> DebugClient:
        if broker not in self._clients:
            self._clients[broker] = DebugClient(broker, self._control_file(broker))
        return self._clients[broker]

    def _merge_state(self, client: DebugClient) -> Callback:
        connection = client.connects

        def merge(answer: dict[str, Any]) -> None:
            if "error" in answer:
                return
            if "rows" in answer:
                self._merger.update(client.number, connection, answer)
            else:
                self._merger.update_controller(client.number, answer)

        return merge

    def _request_events(self, client: DebugClient) -> None:
        """After the last one that we have since this broker's start."""
        broker, start = client.number, client.starts

        def merge(answer: dict[str, Any]) -> None:
            if "error" not in answer:
                self._stream.update(broker, start, answer)
                (self._full.add if len(answer["events"]) == BATCH else self._full.discard)(broker)

        after = self._stream.last_of(broker, start)
        self._full.discard(broker)
        client.send({"ask": "events", "after": after, "most": BATCH}, merge)


def _up(members: Mapping[int, ProcessState]) -> list[int]:
    return [broker for broker, member in members.items() if member.status is Status.UP]
