"""Answers that come, come late, or never: a broker that is played by the test."""

import json
import socket
import threading
import time
from pathlib import Path

import pytest

from engine.cluster.debug_client import DebugClient, receive


class Broker:
    """The other end. Nothing it says is said before the test has it say it."""

    def __init__(self, directory: Path, token: str = "first") -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        port = self._server.getsockname()[1]
        (directory / "broker.control").write_text(f"{port} {token}\n")
        self._talk: socket.socket | None = None

    def hear(self) -> list[str]:
        """The lines that have been said so far, to a broker that is awake again."""
        if self._talk is None:
            self._talk, _ = self._server.accept()
        return self._talk.recv(10_000).decode().splitlines()

    def say(self, *answers: object) -> None:
        assert self._talk is not None
        self._talk.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in answers))

    def say_raw(self, data: bytes) -> None:
        assert self._talk is not None
        self._talk.sendall(data)

    def die(self) -> None:
        for each in (self._talk, self._server):
            if each is not None:
                each.close()


@pytest.fixture
def broker(tmp_path):
    broker = Broker(tmp_path)
    yield broker
    broker.die()


@pytest.fixture
def client(tmp_path, broker):
    client = DebugClient(1, tmp_path / "broker.control")
    yield client
    client.close()


def test_the_token_comes_first_and_answers_in_order(client, broker):
    got = []
    assert client.send({"ask": "one"}, got.append)
    assert client.send({"ask": "two"}, got.append)
    assert broker.hear() == ["first", '{"ask": "one"}', '{"ask": "two"}']
    broker.say(1, 2)
    receive([client], 5)
    assert got == [1, 2]
    assert not client.pending


def test_an_answer_in_pieces(client, broker):
    got = []
    client.send({}, got.append)
    broker.hear()
    for piece in (b'{"a": "', b"x" * 300_000, b'"}', b"\n"):
        broker.say_raw(piece)
        if piece != b"\n":
            receive([client], 0.01)
            assert got == []
    receive([client], 5)
    assert got == [{"a": "x" * 300_000}]


def test_a_silent_broker_is_waited_for_once(client, broker):
    got = []
    client.send({}, got.append)
    began = time.monotonic()
    receive([client], 0.2)
    assert time.monotonic() - began >= 0.2
    for _ in range(1000):
        receive([client], 0.2)
    assert client.pending
    broker.hear()
    broker.say("late, but not lost")
    while not got:
        receive([client], 0.2)
    assert got == ["late, but not lost"]


def test_who_was_too_late_for_a_picture_is_waited_for_by_one_who_needs_the_answer(client, broker):
    got = []
    client.send({}, got.append)
    broker.hear()
    receive([client], 0.01)
    answers = threading.Timer(0.3, broker.say, ["late"])
    answers.start()
    receive([client], 60)
    answers.join()
    assert got == ["late"]


def test_one_that_is_silent_does_not_keep_the_others_from_being_heard(client, broker, tmp_path):
    (tmp_path / "2").mkdir()
    other = Broker(tmp_path / "2")
    second, got = DebugClient(2, tmp_path / "2" / "broker.control"), []
    client.send({}, got.append)
    receive([client], 0.5)  # it is older than that now
    second.send({}, got.append)
    other.hear()
    threading.Timer(0.05, other.say, ["here"]).start()
    receive([client, second], 0.5)
    assert got == ["here"]
    second.close()
    other.die()


def test_nobody_is_there(tmp_path, client, broker):
    broker.die()
    assert not client.send({}, print)
    (tmp_path / "broker.control").write_text("")  # not yet written
    assert not client.send({}, print)
    (tmp_path / "broker.control").unlink()
    assert not client.send({}, print)


def test_a_broker_that_dies_and_comes_back_is_another_start(tmp_path, client, broker):
    got = []
    client.send({}, got.append)
    broker.hear()
    broker.die()
    receive([client], 5)
    assert not client.pending
    again = Broker(tmp_path, "second")
    assert client.send({}, got.append)
    assert (client.starts, client.connects) == (2, 2)
    again.hear()
    again.say("again")
    receive([client], 5)
    assert got == ["again"]
    again.die()


def test_a_broker_that_hung_up_while_nobody_asked_is_asked_anew(tmp_path, client, broker):
    """Of the same process: what was sent before is not counted twice."""
    got = []
    client.send({}, got.append)
    broker.hear()
    broker.say(1)
    receive([client], 5)
    broker.die()
    again = Broker(tmp_path)
    assert client.send({}, got.append)
    assert (client.starts, client.connects) == (1, 2)
    again.hear()
    again.say(2)
    receive([client], 5)
    assert got == [1, 2]
    again.die()


def test_one_that_never_answers_is_not_asked_for_ever(client, broker):
    asked = 0
    while client.send({}, print):
        asked += 1
    assert 1 < asked < 1000
