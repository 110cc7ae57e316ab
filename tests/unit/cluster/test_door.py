"""Answers that come, come late, or never: a broker whose door the test itself opens."""

import json
import socket
import time
from pathlib import Path

import pytest

from engine.cluster.door import Door, converse


class Broker:
    """The other end. Nothing it says is said before the test has it say it."""

    def __init__(self, directory: Path, token: str = "first") -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        port = self._door.getsockname()[1]
        (directory / "broker.control").write_text(f"{port} {token}\n")
        self._talk: socket.socket | None = None

    def hear(self) -> list[str]:
        """The lines that have been said so far, to a broker that is awake again."""
        if self._talk is None:
            self._talk, _ = self._door.accept()
        return self._talk.recv(10_000).decode().splitlines()

    def say(self, *answers: object) -> None:
        assert self._talk is not None
        self._talk.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in answers))

    def say_raw(self, data: bytes) -> None:
        assert self._talk is not None
        self._talk.sendall(data)

    def die(self) -> None:
        for each in (self._talk, self._door):
            if each is not None:
                each.close()


@pytest.fixture
def broker(tmp_path):
    broker = Broker(tmp_path)
    yield broker
    broker.die()


@pytest.fixture
def door(tmp_path, broker):
    door = Door(1, tmp_path)
    yield door
    door.close()


def test_the_token_comes_first_and_answers_in_order(door, broker):
    got = []
    assert door.ask({"ask": "one"}, got.append)
    assert door.ask({"ask": "two"}, got.append)
    assert broker.hear() == ["first", '{"ask": "one"}', '{"ask": "two"}']
    broker.say(1, 2)
    converse([door], 5)
    assert got == [1, 2]
    assert not door.waits


def test_an_answer_in_pieces(door, broker):
    got = []
    door.ask({}, got.append)
    broker.hear()
    for piece in (b'{"a": "', b"x" * 300_000, b'"}', b"\n"):
        broker.say_raw(piece)
        if piece != b"\n":
            converse([door], 0.01)
            assert got == []
            door.late = False
    converse([door], 5)
    assert got == [{"a": "x" * 300_000}]


def test_who_is_silent_is_waited_for_once(door, broker):
    got = []
    door.ask({}, got.append)
    began = time.monotonic()
    converse([door], 0.2)
    assert time.monotonic() - began >= 0.2
    assert door.late and door.waits
    for _ in range(50):
        converse([door], 60)
    broker.hear()
    broker.say("late, but not lost")
    while not got:
        converse([door], 60)
    assert got == ["late, but not lost"]
    assert not door.late


def test_one_that_is_silent_does_not_keep_the_others_from_being_heard(door, broker, tmp_path):
    (tmp_path / "2").mkdir()
    other = Broker(tmp_path / "2")
    second, got = Door(2, tmp_path / "2"), []
    door.ask({}, got.append)
    converse([door], 0.01)
    second.ask({}, got.append)
    other.hear()
    other.say("here")
    converse([door, second], 60)
    assert got == ["here"]
    second.close()
    other.die()


def test_nobody_is_there(tmp_path, door, broker):
    broker.die()
    assert not door.ask({}, print)
    (tmp_path / "broker.control").write_text("")  # not yet written
    assert not door.ask({}, print)
    (tmp_path / "broker.control").unlink()
    assert not door.ask({}, print)


def test_a_broker_that_dies_and_comes_back_is_another_life(tmp_path, door, broker):
    got = []
    door.ask({}, got.append)
    broker.hear()
    broker.die()
    converse([door], 5)
    assert not door.waits
    again = Broker(tmp_path, "second")
    assert door.ask({}, got.append)
    assert (door.lives, door.conversations) == (2, 2)
    again.hear()
    again.say("again")
    converse([door], 5)
    assert got == ["again"]
    again.die()


def test_a_broker_that_hung_up_while_nobody_asked_is_asked_anew(tmp_path, door, broker):
    """In the same life: what was asked before is not counted twice."""
    got = []
    door.ask({}, got.append)
    broker.hear()
    broker.say(1)
    converse([door], 5)
    broker.die()
    again = Broker(tmp_path)
    assert door.ask({}, got.append)
    assert (door.lives, door.conversations) == (1, 2)
    again.hear()
    again.say(2)
    converse([door], 5)
    assert got == [1, 2]
    again.die()


def test_one_that_never_answers_is_not_asked_for_ever(door, broker):
    asked = 0
    while door.ask({}, print):
        asked += 1
    assert 1 < asked < 1000
