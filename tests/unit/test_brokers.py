"""What measures other brokers: settings, crashes and pauses, without any of the brokers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.brokers import crash, jars, speed, systems
from bench.brokers.node import Node
from bench.brokers.system import System
from engine.cluster.ports import free_port


class Scripted:
    """A driver whose answers are given."""

    def __init__(self, answers: dict[str, Iterator[str]]) -> None:
        self.answers, self.asked = answers, list[tuple[object, ...]]()

    def do(self, *words: object) -> list[str]:
        self.asked.append(words)
        return next(self.answers[str(words[0])]).split()

    def number(self, *words: object) -> float:
        return float(self.do(*words)[0])


def forever(answer: str) -> Iterator[str]:
    while True:
        yield answer


def test_the_first_rounds_warm_up_and_a_rate_is_in_messages_a_second() -> None:
    answers = {
        "batched": iter([*("9",) * speed.WARM, "2"]),
        "read": forever("4"),
        "single": forever("5"),
        "latency": forever("0.5 8"),
    }
    driver: Any = Scripted(answers)
    (found,) = speed.measure({"ours": driver}, speed.SpeedOptions(1000, 50, 1), print)
    assert found["batched"]["ours"] == [500] and found["read"]["ours"] == [250]
    assert found["single"]["ours"] == [10]
    assert (found["p50"]["ours"], found["p99"]["ours"]) == ([0.5], [8])


def test_a_service_is_back_with_the_first_message_that_can_only_be_new() -> None:
    """One may have been confirmed just before the kill."""
    slow: Any = Scripted({"sofar": iter(("100", "100", "101", "125"))})
    assert crash._await_more(slow, 20, 5.0) is not None
    gone: Any = Scripted({"sofar": forever("100")})
    assert crash._await_more(gone, 20, 0.1) is None


class TwoNodes(System):
    """The second one takes over when the first is gone."""

    name, kind = "two", "none"

    @classmethod
    def version(cls) -> str:
        return "1"

    def start(self) -> None:
        for number in range(2):
            port = free_port()
            serve = (
                f"import socket; s = socket.create_server(('127.0.0.1', {port})); input = s.accept"
            )
            command = ["python3", "-c", f"{serve}\nwhile True: input()"]
            self.nodes.append(Node(command, self.home / str(number), port))
            self.nodes[-1].start()

    @property
    def address(self) -> str:
        return ",".join(str(node.port) for node in self.nodes)


def test_a_killed_node_is_not_the_active_one_and_comes_back(tmp_path: Path) -> None:
    system = TwoNodes(tmp_path, 2)
    try:
        system.start()
        assert system.active("orders") == 0
        system.kill(0)
        assert system.active("orders") == 1
        system.restart_all([0])
        assert system.active("orders") == 0
    finally:
        system.stop()


def test_a_node_that_does_not_start_says_why(tmp_path: Path) -> None:
    node = Node(["sh", "-c", "echo no room; exit 3"], tmp_path, 1, None, lambda node: False)
    node.launch()
    node.child.wait(10)
    with pytest.raises(RuntimeError, match="no room"):
        node.await_ready()


def test_settings_have_names_of_their_own() -> None:
    for settings in (systems.SPEED, systems.CRASH, systems.FAILOVER):
        names = [each.name for each in settings]
        assert len(set(names)) == len(names)
    assert set(systems.MANY) <= {each.name for each in systems.SPEED}


def test_each_jar_has_a_checksum_and_every_client_is_among_them() -> None:
    names = " ".join(jars.expected())
    for each in ("kafka-clients-2.8.2", "amqp-client", "jnats", "jedis", "artemis-server"):
        assert each in names
    assert "rocketmq-broker" in names and "rocketmq-namesrv" in names
